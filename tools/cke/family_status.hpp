// SPDX-License-Identifier: MIT
// family_status.hpp: what the tests of a build established about each family of models.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "rooms.hpp"

namespace cke::tool {

// In the order of a checkpoint's way through cke: its config, its two kinds of files, its text, its numbers, and out
// again.
inline constexpr std::string_view status_columns[] = {"config",   "load_hf", "load_gguf",  "tokenizer",
                                                      "template", "logits",  "generation", "export"};

struct family_status {
  std::set<std::string> commits;                         // that the tests ran at: one, unless some were run again later
  std::map<std::string, std::set<std::string>> columns;  // of a model_type
};

// The folder that test programs write into, a JSON file each, or one file that holds them all. Without `path`: that
// beside the command in its build folder, or the one that was installed with it; nullopt where there is none. Throws
// Error.
std::optional<family_status> read_family_status(const std::optional<std::string>& path);

}  // namespace cke::tool
