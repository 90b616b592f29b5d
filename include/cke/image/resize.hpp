// SPDX-License-Identifier: MIT
// resize.hpp: Pillow's resize of 8-bit images (Resample.c), byte for byte, and torch's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "picture.hpp"

namespace cke::image {

// The numbers are those of PIL.Image.Resampling, which config files use.
enum class filter : u8 { lanczos = 1, bilinear = 2, bicubic = 3, box = 4, hamming = 5 };

// Whose resize it is, byte for byte. All of them resize one side, round to 8 bits, and resize the other; they differ by
// some levels, in noise by tens of them.
//   pillow     as Pillow 13: the width first, unless the height shrinks by more than twice as many pixels
//   pillow_12  as Pillow 12: the width first
//   torch      as torchvision with tensors of 8 bits and antialias: the width first, with weights of 15 bits at most
enum class resize_rule : u8 { pillow, pillow_12, torch };

namespace detail {

inline double sinc(double x) { return x == 0 ? 1 : std::sin(x * std::numbers::pi) / (x * std::numbers::pi); }

// A filter's weight at a distance of x pixels of the smaller image, and how far it reaches.
inline double weight(filter f, double x) {
  if (f == filter::box) return x > -0.5 && x <= 0.5 ? 1 : 0;
  if (f == filter::lanczos) return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0;
  x = std::fabs(x);
  switch (f) {
    case filter::bilinear: return x < 1 ? 1 - x : 0;
    case filter::hamming:
      if (x == 0) return 1;
      return x < 1 ? sinc(x) * (double{0.54f} + double{0.46f} * std::cos(x * std::numbers::pi)) : 0;
    default: {
      constexpr double a = -0.5;
      if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
      return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
    }
  }
}
constexpr double reach(filter f) {
  return f == filter::box ? 0.5 : f == filter::bicubic ? 2 : f == filter::lanczos ? 3 : 1;
}

// One side: output pixel i is the sum of `count[i]` inputs from `first[i]` on, with weights of `bits` fractional bits.
struct side_weights {
  u32 bits = 22;
  u32 taps = 0;  // room for each output's weights
  std::vector<u32> first, count;
  std::vector<i32> k;

  side_weights(u32 from, u32 to, filter f, resize_rule rule) : first(to), count(to) {
    const double scale = double{static_cast<float>(from)} / to, stretch = std::max(scale, 1.0);
    const double support = reach(f) * stretch, inverse = 1 / stretch;
    taps = static_cast<u32>(std::ceil(support)) * 2 + 1;
    k.resize(u64{to} * taps);
    std::vector<double> w(u64{to} * taps);
    for (u32 i = 0; i < to; ++i) {
      const double center = (i + 0.5) * scale;
      const u32 low = static_cast<u32>(std::max(center - support + 0.5, 0.0));
      const u32 high = static_cast<u32>(std::min(center + support + 0.5, static_cast<double>(from)));
      double* const of = &w[u64{i} * taps];
      double sum = 0;
      for (u32 x = 0; x < high - low; ++x) sum += of[x] = weight(f, (x + low - center + 0.5) * inverse);
      for (u32 x = 0; x < high - low; ++x) of[x] = sum != 0 ? of[x] / sum : of[x];
      first[i] = low, count[i] = high - low;
    }
    if (rule == resize_rule::torch) bits = bits_of(*std::ranges::max_element(w));
    for (u64 i = 0; i < w.size(); ++i) {
      const double scaled = w[i] * (1 << bits);
      k[i] = static_cast<i32>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    }
  }

 private:
  // As many fractional bits as leave the greatest weight in 16 bits with a sign.
  static u32 bits_of(double greatest) {
    u32 b = 0;
    while (b < 22 && static_cast<i32>(0.5 + greatest * (2 << b)) < 1 << 15) ++b;
    return b;
  }
};

// out[i] = the sum over taps t of in[t * stride + i] * k[t], rounded and clamped to 8 bits, for i < n.
inline void weigh(u8* __restrict out, const u8* __restrict in, u64 stride, const i32* k, u32 taps, u32 bits, u64 n) {
  constexpr u64 lanes = 32;
  const auto rounded = [bits](i32 sum) { return static_cast<u8>(std::clamp(sum >> bits, 0, 255)); };
  const i32 half = 1 << (bits - 1);
  u64 i = 0;
  for (; i + lanes <= n; i += lanes) {
    i32 sums[lanes];
    for (u64 l = 0; l < lanes; ++l) sums[l] = half;
    for (u32 t = 0; t < taps; ++t)
      for (u64 l = 0; l < lanes; ++l) sums[l] += in[t * stride + i + l] * k[t];
    for (u64 l = 0; l < lanes; ++l) out[i + l] = rounded(sums[l]);
  }
  for (; i < n; ++i) {
    i32 sum = half;
    for (u32 t = 0; t < taps; ++t) sum += in[t * stride + i] * k[t];
    out[i] = rounded(sum);
  }
}

inline picture resize_height(const picture& from, u32 height, filter f, resize_rule rule) {
  const side_weights w(from.height, height, f, rule);
  const u64 row = u64{from.width} * 3;
  picture to{from.width, height, {}};
  to.rgb.resize(row * height);
  for (u64 y = 0; y < height; ++y)
    weigh(&to.rgb[y * row], &from.rgb[w.first[y] * row], row, &w.k[y * w.taps], w.count[y], w.bits, row);
  return to;
}

// Blocks of rows are transposed, so that one weight meets many rows at once.
inline picture resize_width(const picture& from, u32 width, filter f, resize_rule rule) {
  constexpr u64 lanes = 32;
  const side_weights w(from.width, width, f, rule);
  const u64 in_row = u64{from.width} * 3, out_row = u64{width} * 3;
  picture to{width, from.height, {}};
  to.rgb.resize(out_row * from.height);
  std::vector<u8> columns(in_row * lanes);
  for (u64 y0 = 0; y0 < from.height; y0 += lanes) {
    const u64 rows = std::min<u64>(lanes, from.height - y0);
    for (u64 x0 = 0; x0 < in_row; x0 += 64)
      for (u64 r = 0; r < rows; ++r)
        for (u64 x = x0; x < std::min(x0 + 64, in_row); ++x) columns[x * lanes + r] = from.rgb[(y0 + r) * in_row + x];
    for (u64 x = 0; x < width; ++x)
      for (u64 c = 0; c < 3; ++c) {
        u8 column[lanes];
        weigh(column, &columns[(u64{w.first[x]} * 3 + c) * lanes], 3 * lanes, &w.k[x * w.taps], w.count[x], w.bits,
              lanes);
        for (u64 r = 0; r < rows; ++r) to.rgb[(y0 + r) * out_row + x * 3 + c] = column[r];
      }
  }
  return to;
}

}  // namespace detail

// An image of that size (at least 1 x 1), antialiased when it becomes smaller.
inline picture resize(const picture& from, u32 width, u32 height, filter f, resize_rule rule = resize_rule::pillow) {
  const i64 narrower = i64{from.width} - width, lower = i64{from.height} - height;
  const bool height_first = rule == resize_rule::pillow && lower > 0 && lower > 2 * narrower;
  picture now;
  const picture* at = &from;
  for (const bool of_height : {height_first, !height_first}) {
    if (of_height ? lower == 0 : narrower == 0) continue;
    now = of_height ? detail::resize_height(*at, height, f, rule) : detail::resize_width(*at, width, f, rule);
    at = &now;
  }
  return at == &from ? from : now;
}

}  // namespace cke::image
