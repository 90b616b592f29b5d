// SPDX-License-Identifier: MIT
// byte_reader.hpp: bounded reads from the bytes of an image file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "../core/concat.hpp"
#include "../core/error.hpp"

namespace cke::image::detail {

using bytes = std::span<const std::byte>;

// Numbers of 1, 2 or 4 bytes, of either order, at an offset that the caller has checked.
inline u32 byte_at(bytes b, u64 at) { return std::to_integer<u32>(b[at]); }
inline u32 big16(bytes b, u64 at) { return byte_at(b, at) << 8 | byte_at(b, at + 1); }
inline u32 big32(bytes b, u64 at) { return big16(b, at) << 16 | big16(b, at + 2); }
inline u32 little16(bytes b, u64 at) { return byte_at(b, at) | byte_at(b, at + 1) << 8; }
inline u32 little32(bytes b, u64 at) { return little16(b, at) | little16(b, at + 2) << 16; }

inline bool starts_with(bytes b, std::string_view text, u64 at = 0) {
  if (!fits(at, text.size(), b.size())) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (b[at + i] != static_cast<std::byte>(text[i])) return false;
  return true;
}

[[noreturn, gnu::cold]] inline void malformed(const std::string& name, std::string_view about,
                                              std::string_view expected, std::string_view found = {}) {
  throw Error(errc::malformed, name, about, expected, found);
}
[[noreturn, gnu::cold]] inline void unsupported(const std::string& name, std::string_view about,
                                                std::string_view expected, std::string_view found = {}) {
  throw Error(errc::unsupported, name, about, expected, found);
}

// A part of the file, or an error that says how many bytes are missing.
inline bytes part(bytes b, u64 at, u64 size, const std::string& name, std::string_view about) {
  if (!fits(at, size, b.size()))
    malformed(name, about, concat({size, " bytes from byte ", at, " on"}), concat({"a file of ", b.size(), " bytes"}));
  return b.subspan(at, size);
}

}  // namespace cke::image::detail
