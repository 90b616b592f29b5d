// SPDX-License-Identifier: MIT
// strings.hpp: Python's str methods for splitting, searching and changing case.
#pragma once

#include <span>

#include "case_tables.hpp"
#include "operators.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

enum class side : u8 { left = 1, right = 2, both = 3 };

// str.strip(): strips white space, or the characters in `set`.
inline text stripped(const text& s, side from, const text* set = nullptr) {
  const auto dropped = [&](std::size_t at, u32 size) {
    if (!set) return is_python_space(code_point_at(s.view(), at).value);
    const std::string_view c = s.view().substr(at, size);
    for (std::size_t i = 0; i < set->size(); i += code_point_at(set->view(), i).size)
      if (set->view().substr(i, code_point_at(set->view(), i).size) == c) return true;
    return false;
  };
  std::size_t begin = 0, end = s.size();
  if (static_cast<u8>(from) & static_cast<u8>(side::left))
    while (begin < end && dropped(begin, code_point_at(s.view(), begin).size))
      begin += code_point_at(s.view(), begin).size;
  if (static_cast<u8>(from) & static_cast<u8>(side::right))
    while (end > begin) {
      const u32 size = code_point_before(s.view(), end).size;
      if (!dropped(end - size, size)) break;
      end -= size;
    }
  return s.substr(begin, end - begin);
}

// str.split() at white space, at most `most` times; most < 0: everywhere.
inline values split_at_space(const text& s, i64 most, bool from_right, budget& cost) {
  cost.make(s.size());
  const std::string_view all = s.view();
  std::size_t begin = 0, end = all.size();  // of what is not split yet
  const auto first = [&](std::size_t at) { return code_point_at(all, at); };
  const auto last = [&](std::size_t at) { return code_point_before(all, at); };
  const auto skip_space = [&] {
    if (from_right)
      while (begin < end && is_python_space(last(end).value)) end -= last(end).size;
    else
      while (begin < end && is_python_space(first(begin).value)) begin += first(begin).size;
  };
  values parts;
  for (skip_space(); begin < end && most != 0; --most, skip_space()) {
    cost.spend(1);
    std::size_t at = from_right ? end : begin;
    if (from_right) {
      while (at > begin && !is_python_space(last(at).value)) at -= last(at).size;
      parts.push_back(s.substr(at, end - at)), end = at;
    } else {
      while (at < end && !is_python_space(first(at).value)) at += first(at).size;
      parts.push_back(s.substr(begin, at - begin)), begin = at;
    }
  }
  if (begin < end) parts.push_back(s.substr(begin, end - begin));
  if (from_right) std::ranges::reverse(parts);
  return parts;
}

// str.split(separator)
inline values split_at(const text& s, std::string_view separator, i64 most, bool from_right, budget& cost) {
  if (separator.empty()) raise({"an empty separator"});
  cost.make(s.size());
  values parts;
  std::size_t begin = 0, end = s.size();
  while (most-- != 0) {
    cost.spend(1);
    const std::string_view rest = s.view().substr(begin, end - begin);
    const std::size_t at = from_right ? rest.rfind(separator) : rest.find(separator);
    if (at == rest.npos) break;
    if (from_right) {
      parts.push_back(s.substr(begin + at + separator.size(), end - begin - at - separator.size()));
      end = begin + at;
    } else {
      parts.push_back(s.substr(begin, at));
      begin += at + separator.size();
    }
  }
  parts.push_back(s.substr(begin, end - begin));
  if (from_right) std::ranges::reverse(parts);
  return parts;
}

inline values split_lines(const text& s, bool keep_ends, budget& cost) {
  cost.make(s.size());
  values lines;
  for (std::size_t begin = 0, at = 0; at < s.size();) {
    const code_point c = code_point_at(s.view(), at);
    std::size_t next = at + c.size;
    if (is_line_end(c.value)) {
      if (c.value == '\r' && next < s.size() && s.view()[next] == '\n') ++next;
      cost.spend(1);
      lines.push_back(s.substr(begin, (keep_ends ? next : at) - begin));
      begin = next;
    } else if (next == s.size()) {
      lines.push_back(s.substr(begin));
    }
    at = next;
  }
  return lines;
}

// str.replace(); most < 0: everywhere. The replacement keeps its origin.
inline text replaced(const text& s, const text& from, const text& with, i64 most, budget& cost) {
  cost.make(s.size());
  const text to = s.markup ? escape(with, cost) : with;
  text out;
  out.markup = s.markup;
  std::size_t at = 0;
  while (most-- != 0) {
    if (from.empty()) {
      if (at > s.size()) break;
      cost.make(to.size());
      out.append(to);
      if (at == s.size()) break;
      const u32 size = code_point_at(s.view(), at).size;
      out.append(s, at, size);
      at += size;
      continue;
    }
    const std::size_t hit = s.view().find(from.view(), at);
    if (hit == std::string_view::npos) break;
    cost.make(to.size());
    cost.fit(out.size() + to.size());
    out.append(s, at, hit - at);
    out.append(to);
    at = hit + from.size();
  }
  if (at < s.size()) out.append(s, at, std::string::npos);
  return out;
}

// separator.join(parts); each part must be text.
inline text joined(const text& separator, const values& parts, budget& cost) {
  text out;
  out.markup = separator.markup;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].is_string()) raise({"sequence item ", i, ": expected str instance, ", type_name(parts[i]), " found"});
    cost.make(separator.size() + parts[i].as_text().size());
    cost.fit(out.size());
    if (i > 0) out.append(separator);
    if (separator.markup) out.append(escape(parts[i].as_text(), cost));
    else out.append(parts[i].as_text());
  }
  return out;
}

enum class letter_case : u8 { lower, upper, title };

inline const case_run* find_case_run(std::span<const case_run> runs, u32 c) {
  const auto after = std::ranges::upper_bound(runs, c, {}, &case_run::first);
  if (after == runs.begin()) return nullptr;
  const case_run& r = after[-1];
  return c <= r.last && (c - r.first) % r.step == 0 ? &r : nullptr;
}
inline bool is_upper(u32 c) { return find_case_run(to_lower, c) || c == 0x130; }
inline bool is_lower(u32 c) {
  return find_case_run(to_upper, c) || c == 0xaa || c == 0xba ||
      std::ranges::any_of(to_upper_words, [&](const case_word& w) { return w.code == c; });
}
inline bool is_cased(u32 c) { return is_upper(c) || is_lower(c); }

inline void append_case(text& out, const text& s, std::size_t at, letter_case to) {
  const code_point c = code_point_at(s.view(), at);
  if (c.value < 0x80) {
    const char byte = s.view()[at], other = static_cast<char>(byte ^ 0x20);
    const bool small = byte >= 'a' && byte <= 'z', large = byte >= 'A' && byte <= 'Z';
    const bool changes = to == letter_case::lower ? large : small;
    return out.append_as(std::string_view(changes ? &other : &byte, 1), s, at);
  }
  const auto words = to == letter_case::upper ? std::span<const case_word>(to_upper_words)
      : to == letter_case::lower              ? std::span<const case_word>(to_lower_words)
                                              : std::span<const case_word>(to_title_words);
  for (const case_word& w : words)
    if (w.code == c.value) return out.append_as(w.text, s, at);
  u32 code = c.value;
  const auto* run = to == letter_case::lower ? find_case_run(to_lower, code) : find_case_run(to_upper, code);
  if (run) code = static_cast<u32>(static_cast<i32>(code) + run->shift);
  // A sigma at the end of a word has its own lower case form.
  if (c.value == 0x3a3 && to == letter_case::lower) {
    const bool before = at > 0 && is_cased(code_point_before(s.view(), at).value);
    const bool after = at + c.size < s.size() && is_cased(code_point_at(s.view(), at + c.size).value);
    if (before && !after) code = 0x3c2;
  }
  std::string bytes;
  append_utf8(bytes, code);
  out.append_as(bytes, s, at);
}
inline text in_case(const text& s, letter_case to, budget& cost) {
  cost.make(3 * s.size());
  text out;
  out.markup = s.markup;
  for (std::size_t at = 0; at < s.size(); at += code_point_at(s.view(), at).size) append_case(out, s, at, to);
  return out;
}
// str.capitalize()
inline text capitalized(const text& s, budget& cost) {
  cost.make(3 * s.size());
  text out;
  out.markup = s.markup;
  for (std::size_t at = 0; at < s.size(); at += code_point_at(s.view(), at).size)
    append_case(out, s, at, at == 0 ? letter_case::title : letter_case::lower);
  return out;
}
// str.title(): a letter that follows a letter becomes lower case. The filter title starts words differently.
inline text titled(const text& s, bool filter, budget& cost) {
  cost.make(3 * s.size());
  text out;
  out.markup = s.markup && !filter;
  bool inside = false;
  for (std::size_t at = 0; at < s.size();) {
    const code_point c = code_point_at(s.view(), at);
    const bool border = one_of(s.view()[at], "-({[<") || is_python_space(c.value);
    const auto first = filter ? letter_case::upper : letter_case::title;
    append_case(out, s, at, inside ? letter_case::lower : first);
    inside = filter ? !border : is_cased(c.value);
    at += c.size;
  }
  return out;
}

}  // namespace cke::text::jinja
