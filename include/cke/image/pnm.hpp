// SPDX-License-Identifier: MIT
// pnm.hpp: decodes PBM, PGM and PPM, plain (P1 to P3) and raw (P4 to P6).
#pragma once

#include <cmath>

#include "byte_reader.hpp"
#include "color.hpp"
#include "picture.hpp"

namespace cke::image::detail {

class pnm_reader {
 public:
  pnm_reader(bytes file, const std::string& name) : file_(file), name_(name) {}

  u64 at = 2;  // after the magic number

  // The next number in text, of at most 10 digits; spaces and comments before it are skipped.
  u64 number(std::string_view about) {
    skip_space();
    u64 v = 0;
    u32 digits = 0;
    for (; at < file_.size() && is_digit(file_[at]) && digits <= 10; ++at, ++digits) v = v * 10 + digit();
    if (digits == 0 || digits > 10) malformed(name_, about, "a number of at most 10 digits", found());
    if (at < file_.size() && !is_space(file_[at]) && file_[at] != std::byte{'#'})
      malformed(name_, about, "digits", found());
    return v;
  }
  // A pixel of a plain bitmap: 0 or 1, with or without a space between two.
  bool bit() {
    skip_space();
    if (at == file_.size() || (file_[at] != std::byte{'0'} && file_[at] != std::byte{'1'}))
      malformed(name_, "PBM", "0 or 1", found());
    return file_[at++] == std::byte{'1'};
  }
  void single_space() {
    if (at < file_.size() && is_space(file_[at])) ++at;
  }

 private:
  static bool is_digit(std::byte b) { return b >= std::byte{'0'} && b <= std::byte{'9'}; }
  static bool is_space(std::byte b) { return b == std::byte{' '} || (b >= std::byte{9} && b <= std::byte{13}); }
  u64 digit() const { return std::to_integer<u64>(file_[at]) - '0'; }
  void skip_space() {
    for (; at < file_.size(); ++at) {
      if (file_[at] == std::byte{'#'})
        while (at + 1 < file_.size() && file_[at] != std::byte{'\n'} && file_[at] != std::byte{'\r'}) ++at;
      else if (!is_space(file_[at])) return;
    }
  }
  std::string found() const {
    return at < file_.size() ? concat({"byte ", byte_at(file_, at), " at ", at}) : std::string("the end of the file");
  }

  bytes file_;
  const std::string& name_;
};

// v of `most` as one of `to_most`, with the roundings of Python's round(v / most * to_most).
inline u32 rescaled(u32 v, u32 most, u32 to_most) {
  return static_cast<u32>(std::nearbyint(static_cast<double>(v) / most * to_most));
}

inline picture decode_pnm(bytes file, const std::string& name, const decode_limits& limits) {
  const u32 kind = byte_at(file, 1) - '0';
  const bool plain = kind <= 3, bitmap = kind == 1 || kind == 4, color = kind == 3 || kind == 6;
  pnm_reader in(file, name);
  const u64 width = in.number("PNM width"), height = in.number("PNM height");
  check_size(width, height, limits, name);
  const u64 most = bitmap ? 1 : in.number("PNM greatest value");
  if (most == 0 || most > 65535) malformed(name, "PNM greatest value", "1 to 65535", concat({most}));
  if (!plain) in.single_space();

  const u32 size = most > 255 ? 2 : 1, values = color ? 3 : 1;
  const u64 row = bitmap ? (width + 7) / 8 : width * values * size;
  if (plain) part(file, in.at, width * height * values, name, "PNM pixels");  // a digit each, at least
  else part(file, in.at, row * height, name, "PNM pixels");

  const auto value = [&](u64 y, u64 i) {
    if (bitmap) {
      const bool black = plain ? in.bit() : byte_at(file, in.at + y * row + i / 8) >> (7 - i % 8) & 1;
      return u8{black ? u8{0} : u8{255}};
    }
    const u64 from = in.at + y * row + i * size;
    const u64 v = plain ? in.number("PNM value") : size == 2 ? big16(file, from) : byte_at(file, from);
    if (plain && v > most) malformed(name, "PNM value", concat({"at most ", most}), concat({v}));
    // Gray of 16 bits keeps its numbers, up to 255; colours are scaled.
    const u32 to_most = most > 255 && !color ? 65535 : 255;
    return saturated(std::min(rescaled(static_cast<u32>(v), static_cast<u32>(most), to_most), to_most));
  };
  picture out{static_cast<u32>(width), static_cast<u32>(height), {}};
  out.rgb.resize(width * height * 3);
  u8* to = out.rgb.data();
  for (u64 y = 0; y < height; ++y)
    for (u64 x = 0; x < width; ++x, to += 3) {
      if (color) {
        for (u64 k = 0; k < 3; ++k) to[k] = value(y, 3 * x + k);
      } else {
        const u8 v = value(y, x);
        put(to, v, v, v);
      }
    }
  return out;
}

}  // namespace cke::image::detail
