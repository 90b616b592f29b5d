// SPDX-License-Identifier: MIT
// mmproj.hpp: which mmproj file has the vision tower of a GGUF model.
#pragma once

#include <optional>
#include <string>

#include "rooms.hpp"

namespace cke::tool {

// Whether MODEL is a .gguf file, not a directory.
bool is_gguf_file(const std::string& model);

// Throws Error if the architecture of a MODEL is that of mmproj files.
void check_is_text(const std::string& model, std::string_view architecture);

// The mmproj file that `given` names, or the only mmproj*.gguf in the folder of MODEL, a .gguf file, that fits it.
// Throws Error if `given` does not fit, and if none or several do.
std::string mmproj_of(const std::string& model, const std::optional<std::string>& given);

// Whether there is one, or more than one, for MODEL. Throws Error if `given` does not fit.
bool has_mmproj(const std::string& model, const std::optional<std::string>& given);

}  // namespace cke::tool
