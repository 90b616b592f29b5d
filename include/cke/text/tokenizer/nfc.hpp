// SPDX-License-Identifier: MIT
// nfc.hpp: Unicode normalisation form C.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "../../core/plain_list.hpp"
#include "../../core/sorted_order.hpp"
#include "unicode.hpp"

CKE_COLD_BEGIN
namespace cke::text {

namespace detail {

struct hangul {  // computed, not stored: (lead * vowels + vowel) * tails + tail
  static constexpr u32 syllable = 0xAC00, lead = 0x1100, vowel = 0x1161, tail = 0x11A7;
  static constexpr u32 leads = 19, vowels = 21, tails = 28, syllables = leads * vowels * tails;
};

CKE_OUT_OF_LINE constexpr u32 combining_class(u32 code) {
  if (code < 0x300 || code >= stray_byte) return 0;
  using unicode_data::combining_runs;
  const u32* after = std::upper_bound(std::begin(combining_runs), std::end(combining_runs), code << 8 | 0xFF);
  return after[-1] & 0xFF;
}

// Row i of the table holds (code, first, second or 0).
constexpr std::array<u32, 3> decomposition(std::size_t row) {
  const u32* r = unicode_data::decompositions + 3 * row;
  return {r[0], r[1], r[2]};
}

inline void decompose(plain_list<u32>& out, u32 code) {
  if (const u32 s = code - hangul::syllable; s < hangul::syllables) {
    out.push_back(hangul::lead + s / (hangul::vowels * hangul::tails));
    out.push_back(hangul::vowel + s / hangul::tails % hangul::vowels);
    if (s % hangul::tails != 0) out.push_back(hangul::tail + s % hangul::tails);
    return;
  }
  std::size_t low = 0, high = std::size(unicode_data::decompositions) / 3;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const auto [key, first, second] = decomposition(middle);
    if (key == code) {
      decompose(out, first);
      if (second != 0) out.push_back(second);  // the second part never decomposes further
      return;
    }
    key < code ? low = middle + 1 : high = middle;
  }
  out.push_back(code);
}

// Canonical order: each run of marks sorted by combining class; marks of one class stay in order.
inline void order_marks(plain_list<u32>& codes) {
  for (std::size_t begin = 0; begin < codes.size(); ++begin) {
    std::size_t end = begin;
    while (end < codes.size() && combining_class(codes[end]) != 0) ++end;
    if (end - begin > 1) {
      plain_list<u32> run(end - begin);
      std::copy_n(codes.data() + begin, run.size(), run.data());
      const plain_list<u32> order = sorted_order(run.size(), [&](u32 a, u32 b) {
        return std::pair(combining_class(run[a]), a) < std::pair(combining_class(run[b]), b);
      });
      for (std::size_t i = 0; i < run.size(); ++i) codes[begin + i] = run[order[i]];
    }
    begin = end;
  }
}

// The code point that the pair composes to, or 0.
constexpr u32 compose(u32 first, u32 second) {
  if (const u32 l = first - hangul::lead, v = second - hangul::vowel; l < hangul::leads && v < hangul::vowels)
    return hangul::syllable + (l * hangul::vowels + v) * hangul::tails;
  const u32 s = first - hangul::syllable, t = second - hangul::tail;
  if (s < hangul::syllables && s % hangul::tails == 0 && t != 0 && t < hangul::tails) return first + t;

  const auto pair_of = [](u16 row) {
    const auto [code, a, b] = decomposition(row);
    return u64{a} << 32 | b;
  };
  const u64 pair = u64{first} << 32 | second;
  const u16* const end = std::end(unicode_data::compositions);
  const u16* const at = std::lower_bound(std::begin(unicode_data::compositions), end, pair,
                                         [&](u16 row, u64 wanted) { return pair_of(row) < wanted; });
  return at != end && pair_of(*at) == pair ? decomposition(*at)[0] : 0;
}

// Composes in place: each code point with the last starter, unless a mark between them blocks it.
inline void compose_all(plain_list<u32>& codes) {
  std::size_t kept = 0, starter = codes.size();
  u32 last_class = 0;
  for (const u32 code : codes) {
    const u32 its_class = combining_class(code);
    const bool adjacent = starter + 1 == kept;
    if (starter < kept && (adjacent || last_class < its_class)) {
      if (const u32 composed = compose(codes[starter], code); composed != 0) {
        codes[starter] = composed;
        continue;
      }
    }
    if (its_class == 0) starter = kept;
    last_class = its_class;
    codes[kept++] = code;
  }
  codes.resize(kept);
}

// Appends `text` in form C; `codes` is scratch.
inline void append_nfc(std::string& out, std::string_view text, plain_list<u32>& codes) {
  codes.clear();
  for (std::size_t at = 0; at < text.size();) {
    const code_point c = code_point_at(text, at);
    c.value < 0xC0 ? codes.push_back(c.value) : decompose(codes, c.value);
    at += c.size;
  }
  order_marks(codes);
  compose_all(codes);
  for (const u32 code : codes) append_utf8(out, code);
}

}  // namespace detail

// Invalid bytes are kept in place.
inline std::string nfc(std::string_view text) {
  // Code points below U+0300 are in form C, and only those above compose with the one before them. So only runs from
  // U+0300 up, with the code point before each, can change.
  const auto above = [](char c) { return static_cast<u8>(c) >= 0xCC; };
  std::string out;
  out.reserve(text.size());
  plain_list<u32> codes;
  for (std::size_t done = 0;;) {
    const auto first = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(done), text.end(), above);
    if (first == text.end()) return out.append(text, done);
    const auto at = static_cast<std::size_t>(first - text.begin());
    const std::size_t start = at > done ? at - code_point_before(text, at).size : at;
    out.append(text, done, start - done);
    std::size_t end = at;
    while (end < text.size() && above(text[end])) end += code_point_at(text, end).size;
    detail::append_nfc(out, text.substr(start, end - start), codes);
    done = end;
  }
}

}  // namespace cke::text
CKE_COLD_END
