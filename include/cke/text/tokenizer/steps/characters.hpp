// SPDX-License-Identifier: MIT
// characters.hpp: character classes, lower case and normalisation forms, for the steps.
#pragma once

#include "../../jinja/case_tables.hpp"
#include "../nfc.hpp"
#include "recipe.hpp"
#include "script_table.hpp"
#include "step_unicode_tables.hpp"

namespace cke::text::detail {

enum class char_kind : u8 { other, control, nonspacing, punctuation };

inline char_kind kind_of(u32 code) {
  using unicode_data::kind_runs;
  if (code >= stray_byte) return char_kind::other;
  const u32* after = std::upper_bound(std::begin(kind_runs), std::end(kind_runs), code << 2 | 3);
  return static_cast<char_kind>(after[-1] & 3);
}

// The number of a character's script; 0: none.
inline u32 script_of(u32 code) {
  using unicode_data::script_runs;
  if (code >= stray_byte) return 0;
  return std::upper_bound(std::begin(script_runs), std::end(script_runs), code << 8 | 0xFF)[-1] & 0xFF;
}

inline bool in_set(cutting::char_set set, u32 code) {
  switch (set) {
    case cutting::char_set::space: return is_space(class_of(code));
    case cutting::char_set::number: return is_number(class_of(code));
    case cutting::char_set::punctuation: return kind_of(code) == char_kind::punctuation;
  }
  return false;
}

// Context-free: a final sigma gets no special form.
inline void append_lower(std::string& out, u32 code) {
  if (code == 0x130) return void(out += "i\u0307");  // the only letter whose lower case has two code points
  const auto* after = std::ranges::upper_bound(jinja::to_lower, code, {}, &jinja::case_run::first);
  if (after != std::begin(jinja::to_lower)) {
    const jinja::case_run& run = after[-1];
    if (code <= run.last && (code - run.first) % run.step == 0)
      code = static_cast<u32>(static_cast<i32>(code) + run.shift);
  }
  append_utf8(out, code);
}

inline bool is_chinese(u32 c) {  // BERT's definition, which excludes kana and Hangul
  const auto within = [c](u32 first, u32 last) { return c >= first && c <= last; };
  return within(0x4E00, 0x9FFF) || within(0x3400, 0x4DBF) || within(0x20000, 0x2A6DF) || within(0x2A700, 0x2B73F) ||
      within(0x2B740, 0x2B81F) || within(0x2B920, 0x2CEAF) || within(0xF900, 0xFAFF) || within(0x2F800, 0x2FA1F);
}

inline bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<u8>(c) < 0x80; });
}

// Calls use(code point) for each character.
template <class Use> void each_character(std::string_view text, Use&& use) {
  for (std::size_t at = 0; at < text.size();) {
    const code_point c = code_point_at(text, at);
    use(c.value);
    at += c.size;
  }
}

// Appends the full NFKD of a code point, if it differs from NFD.
inline void decompose_compatible(plain_list<u32>& out, u32 code) {
  using namespace unicode_data;
  std::size_t low = 0, high = std::size(compatible_rows) / 2 - 1;  // row numbers; the last row is a sentinel
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    compatible_rows[2 * middle] < code ? low = middle + 1 : high = middle;
  }
  if (compatible_rows[2 * low] != code || code >= stray_byte) return decompose(out, code);
  for (u32 i = compatible_rows[2 * low + 1]; i < compatible_rows[2 * low + 3]; ++i) out.push_back(compatible_forms[i]);
}

// A text in form C, D, KC or KD. ASCII is unchanged by all of them, and never composes with the character before it.
inline std::string in_form(std::string_view text, normalizing::form form) {
  if (form.composed && !form.compatible) return nfc(text);
  const auto beyond = [](char c) { return static_cast<u8>(c) >= 0x80; };
  std::string out;
  out.reserve(text.size());
  plain_list<u32> codes;
  for (std::size_t done = 0;;) {
    std::size_t end = static_cast<std::size_t>(
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(done), text.end(), beyond) - text.begin());
    if (end == text.size()) return out.append(text, done);
    const std::size_t start = end > done ? end - 1 : end;  // start with the character that a mark may compose with
    out.append(text, done, start - done);
    while (end < text.size() && beyond(text[end])) ++end;
    codes.clear();
    each_character(text.substr(start, end - start), [&](u32 code) {
      code < 0x80           ? codes.push_back(code)
          : form.compatible ? decompose_compatible(codes, code)
                            : decompose(codes, code);
    });
    order_marks(codes);
    if (form.composed) compose_all(codes);
    for (const u32 code : codes) append_utf8(out, code);
    done = end;
  }
}

}  // namespace cke::text::detail
