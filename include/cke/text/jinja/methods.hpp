// SPDX-License-Identifier: MIT
// methods.hpp: the non-mutating methods of Python's str, list and dict.
#pragma once

#include "render.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

namespace methods {

inline i64 integer(const value& v, std::string_view what) {
  if (v.is_undefined()) raise({*v.as_undefined().why});
  if (!v.is_integral()) raise({what, ": an integer expected, found '", type_name(v), "'"});
  return v.as_int();
}
inline const text& string(const value& v, std::string_view what) {
  if (v.is_undefined()) raise({*v.as_undefined().why});
  if (!v.is_string()) raise({what, ": a string expected, found '", type_name(v), "'"});
  return v.as_text();
}

template <side From> value strip(interpreter& in, const value& self, arguments& args) {
  const value set = args.get(0, "chars", {});
  args.done(1);
  in.cost().make(self.as_text().size());
  return stripped(self.as_text(), From, set.is_none() ? nullptr : &string(set, "strip"));
}
template <bool FromRight> value split(interpreter& in, const value& self, arguments& args) {
  const value separator = args.get(0, "sep", {});
  const i64 most = integer(args.get(1, "maxsplit", -1), "split");
  args.done(2);
  return {form::list,
          separator.is_none()
              ? split_at_space(self.as_text(), most, FromRight, in.cost())
              : split_at(self.as_text(), string(separator, "split").view(), most, FromRight, in.cost())};
}
template <bool FromRight> value partition(interpreter& in, const value& self, arguments& args) {
  text separator = string(args.need(0, "sep"), "partition");
  args.done(1);
  values parts = split_at(self.as_text(), separator.view(), 1, FromRight, in.cost());
  separator.markup = self.as_text().markup;
  if (parts.size() == 2) parts.insert(parts.begin() + 1, separator);
  else parts.insert(FromRight ? parts.begin() : parts.end(), 2, author_text(""));
  return {form::tuple, std::move(parts)};
}
inline value splitlines(interpreter& in, const value& self, arguments& args) {
  const bool keep = truth(args.get(0, "keepends", false));
  args.done(1);
  return {form::list, split_lines(self.as_text(), keep, in.cost())};
}

// The part of a string between two indexes; null if the first is past its end.
inline std::optional<std::string_view> window(const value& self, arguments& args, std::size_t first) {
  const value start = args.get(first, "start", {}), stop = args.get(first + 1, "end", {});
  args.done(first + 2);
  const auto size = static_cast<i64>(code_points(self.view()));
  const slice_range r = slice_of(start, stop, {}, size);
  if (!start.is_none() && start.as_int() > size) return {};
  const std::size_t begin = offset_of(self.view(), static_cast<u64>(r.start));
  const std::size_t end = offset_of(self.view(), static_cast<u64>(std::max(r.start, r.stop)));
  return self.view().substr(begin, end - begin);
}
template <bool End> value affix(interpreter&, const value& self, arguments& args) {
  const value wanted = args.need(0, "prefix");
  const auto part = window(self, args, 1);
  const auto fits = [&](const value& w) {
    const std::string_view s = string(w, End ? "endswith" : "startswith").view();
    return part && (End ? part->ends_with(s) : part->starts_with(s));
  };
  if (!wanted.is_sequence(form::tuple)) return fits(wanted);
  for (const value& w : wanted.as_sequence()->items)
    if (fits(w)) return true;
  return false;
}
template <bool FromRight, bool MustBeThere> value find(interpreter& in, const value& self, arguments& args) {
  const value wanted = args.need(0, "sub");
  const auto part = window(self, args, 1);
  const std::string_view s = string(wanted, "find").view();
  in.cost().spend(self.view().size() / 8);
  const std::size_t at = !part ? s.npos : FromRight ? part->rfind(s) : part->find(s);
  if (at == s.npos) {
    if (MustBeThere) raise({"substring not found"});
    return -1;
  }
  return code_points(self.view().substr(0, static_cast<std::size_t>(part->data() - self.view().data()) + at));
}
inline value count(interpreter& in, const value& self, arguments& args) {
  const value wanted = args.need(0, "sub");
  const auto part = window(self, args, 1);
  const std::string_view s = string(wanted, "count").view();
  in.cost().spend(self.view().size() / 8);
  if (!part) return 0;
  if (s.empty()) return code_points(*part) + 1;
  i64 n = 0;
  for (std::size_t at = part->find(s); at != part->npos; at = part->find(s, at + s.size())) ++n;
  return n;
}
inline value replace(interpreter& in, const value& self, arguments& args) {
  const value from = args.need(0, "old"), to = args.need(1, "new");
  const i64 most = integer(args.get(2, "count", -1), "replace");
  args.done(3);
  return replaced(self.as_text(), string(from, "replace"), string(to, "replace"), most, in.cost());
}
template <bool Suffix> value remove_affix(interpreter& in, const value& self, arguments& args) {
  const value affix = args.need(0, "prefix");
  args.done(1);
  in.cost().make(self.view().size());
  const std::string_view a = string(affix, "removeprefix").view();
  if (!(Suffix ? self.view().ends_with(a) : self.view().starts_with(a))) return self;
  return self.as_text().substr(Suffix ? 0 : a.size(), self.view().size() - a.size());
}
template <letter_case To> value change_case(interpreter& in, const value& self, arguments& args) {
  args.done(0);
  return To == letter_case::title ? titled(self.as_text(), false, in.cost()) : in_case(self.as_text(), To, in.cost());
}
inline value capitalize(interpreter& in, const value& self, arguments& args) {
  args.done(0);
  return capitalized(self.as_text(), in.cost());
}
template <char Align> value justify(interpreter& in, const value& self, arguments& args) {
  const i64 width = integer(args.need(0, "width"), "width");
  const value fill = args.get(1, "fillchar", author_text(" "));
  args.done(2);
  if (code_points(string(fill, "fillchar").view()) != 1) raise({"one character to fill with expected"});
  const text& s = self.as_text();
  const auto size = static_cast<i64>(code_points(s.view()));
  if (width <= size) return self;
  const auto missing = static_cast<u64>(width - size);
  in.cost().make(s.size() + (missing < u64{1} << 40 ? missing * 4 : missing));
  // For an odd width, str.center() puts the extra space on the left.
  const u64 left = Align == '<' ? 0 : Align == '>' ? missing : missing / 2 + (missing & static_cast<u64>(width) & 1);
  text out;
  out.markup = s.markup;
  for (u64 i = 0; i < left; ++i) out.append(fill.as_text());
  out.append(s);
  for (u64 i = left; i < missing; ++i) out.append(fill.as_text());
  return out;
}
inline value zfill(interpreter& in, const value& self, arguments& args) {
  format_spec spec{.fill = "0", .align = '=', .width = integer(args.need(0, "width"), "zfill")};
  args.done(1);
  if (spec.width > 1 << 20) raise({"a width below 2^20 expected"}, errc::unsupported);
  text out;
  append_padded(out, self.as_text(), spec, true, in.cost());
  return out;
}
inline value join(interpreter& in, const value& self, arguments& args) {
  const values parts = in.items_of(args.need(0, "iterable"));
  args.done(1);
  return joined(self.as_text(), parts, in.cost());
}

// The string is not empty, and every character fits.
template <bool (*Fits)(u32)> value is_all(interpreter& in, const value& self, arguments& args) {
  args.done(0);
  const std::string_view s = self.view();
  in.cost().spend(s.size() / 8);
  for (std::size_t at = 0; at < s.size(); at += code_point_at(s, at).size)
    if (!Fits(code_point_at(s, at).value)) return false;
  return !s.empty();
}
inline bool is_alpha(u32 c) { return is_letter(class_of(c)); }
inline bool is_digit(u32 c) { return class_of(c) == char_class::digit; }
inline bool is_alnum(u32 c) { return is_alpha(c) || is_number(class_of(c)); }
// At least one cased character, and none of the other case.
inline bool all_in_case(std::string_view s, bool (*wanted)(u32), bool (*other)(u32)) {
  bool any = false;
  for (std::size_t at = 0; at < s.size(); at += code_point_at(s, at).size) {
    const u32 c = code_point_at(s, at).value;
    if (other(c)) return false;
    any |= wanted(c);
  }
  return any;
}
template <bool Upper> value is_in_case(interpreter& in, const value& self, arguments& args) {
  args.done(0);
  in.cost().spend(self.view().size());
  return all_in_case(self.view(), Upper ? is_upper : is_lower, Upper ? is_lower : is_upper);
}

// "{} and {name.field[0]:>8}".format(...)
inline value format(interpreter& in, const value& self, arguments& args) {
  const text& pattern = self.as_text();
  const std::string_view s = pattern.view();
  std::size_t next = 0;
  text out;
  out.markup = pattern.markup;
  in.cost().make(s.size());
  for (std::size_t at = 0; at < s.size(); ++at) {
    const bool brace = s[at] == '{' || s[at] == '}';
    const bool doubled = brace && at + 1 < s.size() && s[at + 1] == s[at];
    if (!brace || doubled) {
      out.append(pattern, at, 1);
      at += doubled;
      continue;
    }
    const std::size_t close = s.find_first_of("{}", at + 1);
    if (s[at] == '}' || close == s.npos || s[close] == '{') raise({"a format with simple fields expected"});
    std::string_view field = s.substr(at + 1, close - at - 1);
    at = close;
    const std::size_t colon = std::min(field.find(':'), field.size());
    const std::string_view wanted = field.substr(std::min(colon + 1, field.size()));
    const format_spec spec = parse_spec(wanted);
    field = field.substr(0, colon);
    const bool repr = field.ends_with("!r");
    if (repr || field.ends_with("!s")) field.remove_suffix(2);
    const std::size_t name_end = std::min(field.find_first_of(".["), field.size());
    const std::string_view name = field.substr(0, name_end);
    if (name_end < field.size()) raise({"a format with plain names expected"}, errc::unsupported);
    value v;
    if (name.empty() || (name[0] >= '0' && name[0] <= '9')) {
      std::size_t i = 0;
      const i64 index = name.empty() ? static_cast<i64>(next++) : read_count(name, i);
      if (static_cast<std::size_t>(index) >= args.positional.size()) raise({"a format needs more arguments"});
      v = args.positional[static_cast<std::size_t>(index)];
    } else {
      const auto found = std::ranges::find(args.named, name, [](const auto& a) -> std::string_view { return a.first; });
      if (found == args.named.end()) raise({"a format names ", name, ", which is not there"});
      v = found->second;
    }
    if (repr) {
      text shown;
      append_repr(shown, v, in.cost());
      v = std::move(shown);
    }
    if (wanted.empty()) {
      append_str(out, v, in.cost());
      continue;
    }
    if (!v.is_string() && !v.is_number()) raise({"a '", type_name(v), "' has no formats"});
    append_formatted(out, v, spec, in.cost());
  }
  return out;
}

template <form As> value view(interpreter& in, const value& self, arguments& args) {
  args.done(0);
  values items;
  in.cost().spend(self.as_dict()->entries.size());
  for (const auto& [key, v] : self.as_dict()->entries)
    items.push_back(As == form::key_view ? key : As == form::value_view ? v : value(form::tuple, {key, v}));
  return {As, std::move(items)};
}
inline value get(interpreter& in, const value& self, arguments& args) {
  const value key = args.need(0, "key"), otherwise = args.get(1, "default", {});
  args.done(2);
  const value* v = jinja::find(*self.as_dict(), key, in.cost());
  return v ? *v : otherwise;
}
inline value copy(interpreter&, const value& self, arguments& args) {
  args.done(0);
  return self;
}
template <bool Index> value search(interpreter& in, const value& self, arguments& args) {
  const value wanted = args.need(0, "value");
  args.done(1);
  i64 n = 0;
  const values& items = self.as_sequence()->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!equal(items[i], wanted, in.cost())) continue;
    if (Index) return i;
    ++n;
  }
  if (Index) raise({"the value is not in the list"});
  return n;
}
inline value refuse(interpreter&, const value& self, arguments&) {
  raise({"a '", type_name(self), "' object cannot be changed by a template"});
}

}  // namespace methods
}  // namespace cke::text::jinja
