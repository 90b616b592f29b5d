// SPDX-License-Identifier: MIT
// format.hpp: Python's "%s" % x and "{}".format(x) for text and numbers.
#pragma once

#include <charconv>

#include "python.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

inline bool one_of(char c, std::string_view set) { return set.find(c) != set.npos; }

// A format specification: fill, align, sign, width, precision, type.
struct format_spec {
  std::string fill = " ";
  char align = 0;  // one of < > ^ =; 0: the default of the type
  char sign = '-';
  bool comma = false;
  i64 width = 0, precision = -1;
  char type = 0;
};

inline void append_padded(text& out, const text& shown, const format_spec& spec, bool number, budget& cost) {
  const auto size = static_cast<i64>(code_points(shown.view()));
  const u64 missing = static_cast<u64>(std::max<i64>(spec.width - size, 0));
  cost.make(shown.size() + missing * spec.fill.size());
  const char align = spec.align ? spec.align : number ? '>' : '<';
  u64 left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  const bool sign = align == '=' && !shown.empty() && (shown.view()[0] == '-' || shown.view()[0] == '+');
  if (sign) out.append(shown, 0, 1);
  for (u64 i = 0; i < left; ++i) out.append(spec.fill, origin::author);
  out.append(shown, sign ? 1 : 0, std::string::npos);
  for (u64 i = left; i < missing; ++i) out.append(spec.fill, origin::author);
}

inline std::string number_text(const value& v, const format_spec& spec) {
  const bool whole = v.is_integral() && !one_of(spec.type, "fFeEgG%");
  std::string digits;
  bool negative;
  if (whole || spec.type == 'd') {
    if (v.is_real() && !(std::abs(v.as_real()) < 0x1p63))
      raise({"an integer of 64 bits expected, found ", float_text(v.as_real())}, errc::unsupported);
    const i64 n = v.is_real() ? static_cast<i64>(v.as_real()) : v.as_int();
    negative = n < 0;
    u64 rest = negative ? 0 - static_cast<u64>(n) : static_cast<u64>(n);
    const u64 base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
    do digits.insert(0, 1, (spec.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[rest % base]);
    while (rest /= base);
  } else {
    const double x = std::abs(v.as_real()) * (spec.type == '%' ? 100 : 1);
    negative = std::signbit(v.as_real());
    if (spec.type == 0 && spec.precision < 0) {
      digits = float_text(x);
    } else {
      if (spec.precision > 100) raise({"a precision of at most 100 expected"}, errc::unsupported);
      // As printf, but in every locale with a point.
      const std::chars_format notation = one_of(spec.type, "fF%") ? std::chars_format::fixed
          : one_of(spec.type, "eE")                               ? std::chars_format::scientific
                                                                  : std::chars_format::general;
      const int asked = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
      const int precision = notation == std::chars_format::general ? std::max(asked, 1) : asked;
      char buffer[512];
      digits.assign(buffer, std::to_chars(buffer, buffer + sizeof buffer, x, notation, precision).ptr);
      if (one_of(spec.type, "FEG"))
        for (char& c : digits)
          if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    }
    if (spec.type == '%') digits += '%';
  }
  if (spec.comma) {
    const std::size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
    for (std::size_t at = end; at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  }
  if (negative) digits.insert(0, 1, '-');
  else if (spec.sign != '-') digits.insert(0, 1, spec.sign);
  return digits;
}

inline void append_formatted(text& out, const value& v, const format_spec& spec, budget& cost) {
  const bool number = v.is_number() && spec.type != 's';
  if (!number && spec.type != 0 && spec.type != 's')
    raise({"a number expected for the format ", std::string(1, spec.type), ", found '", type_name(v), "'"});
  if (number && v.is_real() && one_of(spec.type, "xXob")) raise({"an integer expected, found a float"});
  text shown;
  if (number) {
    shown.append(number_text(v, spec), origin::author);
  } else {
    shown = str(v, cost);
    if (spec.precision >= 0) shown = shown.substr(0, offset_of(shown.view(), static_cast<u64>(spec.precision)));
  }
  append_padded(out, shown, spec, number, cost);
}

// Reads the digits at `at` as a number below 2^20; -1 if there are none.
inline i64 read_count(std::string_view s, std::size_t& at) {
  i64 n = -1;
  for (; at < s.size() && s[at] >= '0' && s[at] <= '9'; ++at) {
    n = (n < 0 ? 0 : n * 10) + (s[at] - '0');
    if (n >= 1 << 20) raise({"a width below 2^20 expected"}, errc::unsupported);
  }
  return n;
}

// "%-5s of %02d" % (a, b), or % a single value, or % a dict.
inline text percent_format(const text& pattern, const value& with, budget& cost) {
  const std::string_view s = pattern.view();
  const sequence* many = with.is_sequence(form::tuple) ? with.as_sequence() : nullptr;
  std::size_t next = 0;
  bool by_name = false;
  text out;
  out.markup = pattern.markup;
  cost.make(s.size());
  for (std::size_t at = 0; at < s.size(); ++at) {
    if (s[at] != '%') {
      out.append(pattern, at, 1);
      continue;
    }
    if (++at == s.size()) raise({"an incomplete format"});
    if (s[at] == '%') {
      out.append(pattern, at, 1);
      continue;
    }
    value v;
    if (s[at] == '(') {
      const std::size_t close = s.find(')', at);
      const dict* d = with.as_dict();
      const value* named = close == s.npos || !d ? nullptr : d->find(s.substr(at + 1, close - at - 1));
      if (!named) raise({"a format names what is not there"});
      v = *named, by_name = true, at = close + 1;
    }
    format_spec spec;
    spec.align = '>';
    for (; at < s.size() && one_of(s[at], "-+ 0#"); ++at) {
      if (s[at] == '-') spec.align = '<';
      else if (s[at] == '0') spec.fill.assign(1, '0');  // avoids = "0": gcc 12 bug 105651
      else if (s[at] != '#') spec.sign = s[at];
    }
    spec.width = std::max<i64>(read_count(s, at), 0);
    if (at < s.size() && s[at] == '.') spec.precision = std::max<i64>(read_count(s, ++at), 0);
    if (at == s.size()) raise({"an incomplete format"});
    if (!by_name) {
      if (next >= (many ? many->items.size() : 1)) raise({"not enough arguments for the format"});
      v = many ? many->items[next] : with;
      ++next;
    }
    const char type = s[at];
    if (type == 's' || type == 'r') {
      text shown;
      if (type == 'r') append_repr(shown, v, cost);
      else shown = str(v, cost);
      spec.type = 's', spec.fill = " ";
      append_formatted(out, text(shown), spec, cost);
      continue;
    }
    if (!one_of(type, "diufFeEgGxXo")) raise({"unknown format character ", std::string(1, type)}, errc::unsupported);
    if (!v.is_number()) raise({"a number expected for the format, found '", type_name(v), "'"});
    spec.type = type == 'i' || type == 'u' ? 'd' : type;
    if (spec.fill == "0") {
      if (spec.align == '<') spec.fill = " ";
      else spec.align = '=';
    }
    append_formatted(out, v, spec, cost);
  }
  if (!by_name &&
      next < (many                                                              ? many->items.size()
                  : with.as_dict() || with.as_sequence() || with.is_undefined() ? next
                                                                                : 1))
    raise({"not all arguments of the format were used"});
  return out;
}

// Parses the part after the colon of "{:>8.2f}".
inline format_spec parse_spec(std::string_view s) {
  format_spec spec;
  std::size_t at = 0;
  if (!s.empty()) {
    const std::size_t first = code_point_at(s, 0).size;
    if (first < s.size() && one_of(s[first], "<>^=")) {
      spec.fill = s.substr(0, first), spec.align = s[first], at = first + 1;
    } else if (one_of(s[0], "<>^=")) {
      spec.align = s[0], at = 1;
    }
  }
  if (at < s.size() && one_of(s[at], "+- ")) spec.sign = s[at++];
  if (at < s.size() && s[at] == '0') {
    if (!spec.align) spec.fill = "0", spec.align = '=';
    ++at;
  }
  spec.width = std::max<i64>(read_count(s, at), 0);
  if (at < s.size() && s[at] == ',') spec.comma = true, ++at;
  if (at < s.size() && s[at] == '.' && (spec.precision = read_count(s, ++at)) < 0) raise({"a precision expected"});
  if (at < s.size()) spec.type = s[at++];
  if (at < s.size() || (spec.type && !one_of(spec.type, "sdfFeEgGxXob%")))
    raise({"a format that cke knows expected, found ", s}, errc::unsupported);
  return spec;
}

}  // namespace cke::text::jinja
