// SPDX-License-Identifier: MIT
// own_file.hpp: the file that this code runs from, which says what is installed beside it.
#pragma once

#include <filesystem>

#include "rooms.hpp"

namespace cke::tool {

// The command, or libcke.so.
std::filesystem::path own_file();

}  // namespace cke::tool
