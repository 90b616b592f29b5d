// SPDX-License-Identifier: MIT
// utf8_ranges.hpp: converts ranges of code points to sequences of UTF-8 byte ranges.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "../tokenizer/unicode.hpp"

CKE_COLD_BEGIN
namespace cke::text {

struct code_range {
  u32 first, last;  // both inclusive
  bool operator==(const code_range&) const = default;
};
struct byte_range {
  u8 first, last;
  bool operator==(const byte_range&) const = default;
};

// Sorted and without overlaps; with `complement`, all other code points. Surrogates are not code points.
inline std::vector<code_range> sorted_ranges(std::vector<code_range> ranges, bool complement = false) {
  std::ranges::sort(ranges, {}, &code_range::first);
  std::vector<code_range> all, gaps;
  u32 next = 0;  // first code point after the ranges so far
  for (const code_range r : ranges) {
    if (r.first > next || all.empty()) {
      if (r.first > next) gaps.push_back({next, r.first - 1});
      all.push_back(r);
    } else {
      all.back().last = std::max(all.back().last, r.last);
    }
    next = std::max(next, r.last + 1);
  }
  if (next <= 0x10FFFF) gaps.push_back({next, 0x10FFFF});
  return complement ? gaps : all;
}

namespace detail {

// Splits [first, last] where the encoded length changes, or a byte before the last.
inline void utf8_split(u32 first, u32 last, std::vector<std::vector<byte_range>>& out) {
  if (first > last) return;
  for (const u32 end : {0x7Fu, 0x7FFu, 0xD7FFu, 0xFFFFu})
    if (first <= end && last > end) {
      utf8_split(first, end, out);
      return utf8_split(end == 0xD7FF ? 0xE000 : end + 1, last, out);
    }
  if (first >= 0xD800 && first <= 0xDFFF) return utf8_split(0xE000, last, out);
  for (const u32 shift : {6u, 12u, 18u}) {
    if (first < 0x80) break;
    const u32 low = (1u << shift) - 1;
    if ((first & ~low) == (last & ~low)) continue;
    if (first & low) {
      utf8_split(first, first | low, out);
      return utf8_split((first | low) + 1, last, out);
    }
    if ((last & low) != low) {
      utf8_split(first, (last & ~low) - 1, out);
      return utf8_split(last & ~low, last, out);
    }
  }
  std::string from, to;
  append_utf8(from, first), append_utf8(to, last);
  auto& bytes = out.emplace_back();
  for (std::size_t i = 0; i < from.size(); ++i) bytes.push_back({static_cast<u8>(from[i]), static_cast<u8>(to[i])});
}

}  // namespace detail

// Sequences of byte ranges: a code point is in `ranges` exactly if one of them matches its UTF-8.
inline std::vector<std::vector<byte_range>> utf8_ranges(const std::vector<code_range>& ranges) {
  std::vector<std::vector<byte_range>> out;
  for (const auto [first, last] : ranges) detail::utf8_split(first, last, out);
  return out;
}

}  // namespace cke::text
CKE_COLD_END
