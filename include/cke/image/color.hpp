// SPDX-License-Identifier: MIT
// color.hpp: pixels of other colour models as RGB, with the integer arithmetic of Pillow.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "../core/types.hpp"

namespace cke::image::detail {

// The nearest integer to v / 255, for v <= 255 * 255.
constexpr u32 divide_by_255(u32 v) { return (((v + 128) >> 8) + v + 128) >> 8; }

struct rgba {
  u8 r = 0, g = 0, b = 0, a = 255;
};

constexpr void put(u8* out, u8 r, u8 g, u8 b) { out[0] = r, out[1] = g, out[2] = b; }

// Over an opaque white background, as Image.alpha_composite does (AlphaComposite.c): weights have 7 further bits.
constexpr void put_over_white(u8* out, rgba c) {
  if (c.a == 0) return put(out, 255, 255, 255);
  const u32 of_color = u32{c.a} * 128, of_white = 255 * 128 - of_color;
  const auto mix = [&](u8 v) {
    const u32 sum = v * of_color + 255 * of_white + (0x80 << 7);
    return static_cast<u8>((((sum >> 8) + sum) >> 8) >> 7);
  };
  put(out, mix(c.r), mix(c.g), mix(c.b));
}

// CMYK in which 255 is full ink.
constexpr void put_cmyk(u8* out, u8 c, u8 m, u8 y, u8 k) {
  const u32 light = 255u - k;
  const auto channel = [&](u8 ink) { return static_cast<u8>(light - divide_by_255(ink * light)); };
  put(out, channel(c), channel(m), channel(y));
}

// 16-bit gray: Pillow keeps the number, up to 255. Only files whose values are small look like something.
constexpr u8 saturated(u32 v) { return static_cast<u8>(std::min<u32>(v, 255)); }

// Up to 256 colours; indices past the file's own are opaque black.
struct palette {
  std::array<rgba, 256> colors{};
  bool transparent = false;
  void put_index(u8* out, u8 i) const {
    const rgba c = colors[i];
    if (transparent) put_over_white(out, c);
    else put(out, c.r, c.g, c.b);
  }
};

// A colour that stands for full transparency (tRNS of PNG). Pillow compares the low 8 bits with converted pixels.
struct color_key {
  bool present = false;
  u8 r = 0, g = 0, b = 0;
  constexpr void put_unless(u8* out, u8 r_, u8 g_, u8 b_) const {
    if (present && r_ == r && g_ == g && b_ == b) put(out, 255, 255, 255);
    else put(out, r_, g_, b_);
  }
};

}  // namespace cke::image::detail
