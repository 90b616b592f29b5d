// SPDX-License-Identifier: MIT
// text_file.hpp: a small file as one text.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <cke/core/error.hpp>

#include "rooms.hpp"

namespace cke::tool {

// Empty where there is no such file.
inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Throws Error{file}.
inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size())).flush();
  if (!out) throw Error(errc::file, path.string(), {}, "a file that can be written", std::strerror(errno));
}

}  // namespace cke::tool
