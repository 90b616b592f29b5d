// SPDX-License-Identifier: MIT
// utf8_ranges.cpp: ranges of code points against the encoding of every code point.
#include <doctest/doctest.h>

#include <cke/text/grammar/utf8_ranges.hpp>
#include <cke/text/sampling/random.hpp>

using namespace cke;
using namespace cke::text;

TEST_CASE("utf8_ranges: a code point is in them exactly when its UTF-8 is") {
  constexpr u32 edges[] = {0,      0x7F,   0x80,   0x7FF,  0x800,   0xFFF,   0x1000,  0xD7FF,
                           0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF};
  u64 drawn = 0;
  const auto pick = [&](u32 n) { return static_cast<u32>(uniform(3, drawn++) * n); };
  for (u32 round = 0; round < 40; ++round) {
    std::vector<code_range> ranges;
    for (u32 n = pick(5); n > 0; --n) {
      u32 a = pick(2) ? edges[pick(16)] : pick(0x110000), b = pick(2) ? edges[pick(16)] : pick(0x110000);
      if (a > b) std::swap(a, b);
      ranges.push_back({a, b});
    }
    const bool complement = pick(2);
    const auto spelled = utf8_ranges(sorted_ranges(ranges, complement));
    u32 wrong = 0;
    for (u32 code = 0; code <= 0x10FFFF; code += code < 0x1100 ? 1 : 1 + pick(7)) {
      if (code >= 0xD800 && code <= 0xDFFF) continue;
      const bool in = std::ranges::any_of(ranges, [&](code_range r) { return r.first <= code && code <= r.last; });
      std::string bytes;
      append_utf8(bytes, code);
      const auto times = std::ranges::count_if(spelled, [&](const auto& s) {
        return std::ranges::equal(s, bytes, [](byte_range r, char c) {
          return r.first <= static_cast<u8>(c) && static_cast<u8>(c) <= r.last;
        });
      });
      wrong += times != (in != complement);
    }
    CHECK(wrong == 0);
    for (const auto& s : spelled)  // no surrogates
      CHECK(!(s.size() == 3 && s[0].first <= 0xED && 0xED <= s[0].last && s[1].last > 0x9F));
  }
}
