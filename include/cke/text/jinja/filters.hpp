// SPDX-License-Identifier: MIT
// filters.hpp: the filters on a single value: text, numbers, defaults.
#pragma once

#include "methods.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja::filters {

using methods::integer;
using methods::string;

inline value trim(interpreter& in, const value& v, arguments& args) {
  const value set = args.get(0, "chars", {});
  args.done(1);
  return stripped(str(v, in.cost()), side::both, set.is_none() ? nullptr : &string(set, "trim"));
}
inline value length(interpreter&, const value& v, arguments& args) {
  args.done(0);
  return static_cast<std::size_t>(length_of(v));
}
inline value or_default(interpreter&, const value& v, arguments& args) {
  const value otherwise = args.get(0, "default_value", author_text(""));
  const bool falsy_too = truth(args.get(1, "boolean", false));
  args.done(2);
  return v.is_undefined() || (falsy_too && !truth(v)) ? otherwise : v;
}
// soft_str: leaves Markup as it is.
inline value to_string(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  return v.is_string() ? v : value(str(v, in.cost()));
}
inline value safe(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  text s = str(v, in.cost());
  s.markup = true;
  return s;
}
inline value escape_html(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  return escape(str(v, in.cost()), in.cost());
}
inline value force_escape(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  text s = str(v, in.cost());
  s.markup = false;
  return escape(s, in.cost());
}

template <letter_case To> value change_case(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  return in_case(str(v, in.cost()), To, in.cost());
}
inline value title(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  return titled(str(v, in.cost()), true, in.cost());
}
inline value capitalize(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  return capitalized(str(v, in.cost()), in.cost());
}
inline value replace(interpreter& in, const value& v, arguments& args) {
  const text from = str(args.need(0, "old"), in.cost()), to = str(args.need(1, "new"), in.cost());
  const value most = args.get(2, "count", {});
  args.done(3);
  text s = str(v, in.cost());
  s.markup = false;
  return replaced(s, from, to, most.is_none() ? -1 : integer(most, "replace"), in.cost());
}
inline value format(interpreter& in, const value& v, arguments& args) {
  if (!args.named.empty() && !args.positional.empty()) raise({"arguments of one kind expected"});
  if (args.named.empty()) return percent_format(str(v, in.cost()), value(form::tuple, args.positional), in.cost());
  auto d = std::make_shared<dict>();
  for (auto& [key, given] : args.named) insert(*d, author_text(key), std::move(given), in.cost());
  return percent_format(str(v, in.cost()), value::dict_ptr(std::move(d)), in.cost());
}
inline value center(interpreter& in, const value& v, arguments& args) {
  arguments width;
  width.positional.push_back(args.get(0, "width", 80));
  args.done(1);
  return methods::justify<'^'>(in, str(v, in.cost()), width);
}

// Indents every line except the first.
inline value indent(interpreter& in, const value& v, arguments& args) {
  const value width = args.get(0, "width", 4);
  const bool first = truth(args.get(1, "first", false)), blank = truth(args.get(2, "blank", false));
  args.done(3);
  if (!v.is_string()) raise({"a string to indent expected, found '", type_name(v), "'"});
  if (!width.is_string()) in.cost().make(static_cast<u64>(std::max<i64>(integer(width, "indent"), 0)));
  text gap = width.is_string()
      ? width.as_text()
      : text(std::string(static_cast<u64>(std::max<i64>(width.as_int(), 0)), ' '), origin::author);
  const text newline("\n", origin::author);
  gap.markup = v.as_text().markup;
  text all = v.as_text();
  all.append(newline);
  const values lines = split_lines(all, false, in.cost());
  text out;
  out.markup = all.markup;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const text& line = lines[i].as_text();
    in.cost().make(gap.size() + line.size() + 1);
    in.cost().fit(out.size());
    if (i > 0) out.append(newline);
    if (i > 0 ? blank || !line.empty() : first) out.append(gap);
    out.append(line);
  }
  return out;
}
inline value truncate(interpreter& in, const value& v, arguments& args) {
  const i64 most = integer(args.get(0, "length", 255), "truncate");
  const bool kill = truth(args.get(1, "killwords", false));
  const text end = string(args.get(2, "end", author_text("...")), "truncate");
  const value leeway = args.get(3, "leeway", {});
  args.done(4);
  const text& s = string(v, "truncate");
  const auto tail = static_cast<i64>(code_points(end.view()));
  const i64 slack = leeway.is_none() ? 5 : integer(leeway, "truncate");
  if (most < tail || slack < 0) raise({"a length that has room for the end expected"});
  if (static_cast<i64>(code_points(s.view())) <= most + slack) return v;
  const text head = s.substr(0, offset_of(s.view(), static_cast<u64>(most - tail)));
  if (kill) return joined(head, end, in.cost());
  return joined(split_at(head, " ", 1, true, in.cost())[0].as_text(), end, in.cost());
}
inline value wordcount(interpreter& in, const value& v, arguments& args) {
  args.done(0);
  const text s = str(v, in.cost());
  i64 words = 0;
  for (std::size_t at = 0, inside = 0; at < s.size();) {
    const code_point c = code_point_at(s.view(), at);
    const auto kind = class_of(c.value);
    const bool word = (is_word(kind) && kind != char_class::mark) || is_number(kind);
    words += word && !inside;
    inside = word;
    at += c.size;
  }
  return words;
}

inline value absolute(interpreter&, const value& v, arguments& args) {
  args.done(0);
  if (v.is_undefined()) raise({*v.as_undefined().why});
  if (!v.is_number()) raise({"a number expected for abs, found '", type_name(v), "'"});
  if (v.is_real()) return std::abs(v.as_real());
  return checked(v.as_int() == INT64_MIN, v.as_int() < 0 ? -(v.as_int() + 1) + 1 : v.as_int());
}

// Text that Python's int() and float() accept as a number, without white space and underscores.
inline std::optional<std::string> number_word(std::string_view s) {
  const text trimmed = stripped(text(s, origin::data), side::both);
  std::string word;
  for (std::size_t i = 0; i < trimmed.size(); ++i) {
    const char c = trimmed.view()[i];
    const auto is_digit = [&](std::size_t at) {
      return at < trimmed.size() && one_of(trimmed.view()[at], "0123456789abcdefABCDEF");
    };
    if (c != '_') word += c;
    else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return {};
  }
  return word;
}
inline std::optional<double> read_float(std::string_view s) {
  auto word = number_word(s);
  if (!word || word->empty()) return {};
  const bool sign = (*word)[0] == '+' || (*word)[0] == '-';
  const std::string_view digits = std::string_view(*word).substr(sign);
  std::string low;
  for (const char c : digits) low += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 32 : c);
  double x = 0;
  if (low == "inf" || low == "infinity") {
    x = HUGE_VAL;
  } else if (low == "nan") {
    x = NAN;
  } else {
    if (digits.empty() || !(one_of(digits[0], ".0123456789"))) return {};
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), x);
    if (result.ptr != digits.data() + digits.size() || result.ec == std::errc::invalid_argument) return {};
    if (result.ec == std::errc::result_out_of_range) x = low.find("e-") != low.npos ? 0 : HUGE_VAL;
  }
  return (*word)[0] == '-' ? -x : x;
}
inline std::optional<i64> read_int(std::string_view s, i64 base) {
  auto word = number_word(s);
  if (!word || word->empty()) return {};
  const bool negative = (*word)[0] == '-';
  std::string digits = word->substr((*word)[0] == '+' || negative);
  if (digits.size() > 2 && digits[0] == '0') {
    const i64 said = (digits[1] | 32) == 'x' ? 16 : (digits[1] | 32) == 'o' ? 8 : (digits[1] | 32) == 'b' ? 2 : 0;
    if (said && (base == said || base == 0)) base = said, digits.erase(0, 2);
  }
  if (base == 0) base = 10;
  if (base < 2 || base > 36) raise({"a base of 2 to 36 expected"});
  i64 n = 0;
  if (negative) digits.insert(0, 1, '-');
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), n, static_cast<int>(base));
  if (result.ptr != digits.data() + digits.size() || result.ec == std::errc::invalid_argument) return {};
  return checked(result.ec != std::errc{}, n);
}
inline value whole(double x, const value& otherwise) {
  if (!std::isfinite(x)) return otherwise;
  return checked(std::abs(x) >= 9223372036854775808.0, std::abs(x) >= 9223372036854775808.0 ? 0 : static_cast<i64>(x));
}
inline value to_int(interpreter&, const value& v, arguments& args) {
  const value otherwise = args.get(0, "default", 0);
  const i64 base = integer(args.get(1, "base", 10), "int");
  args.done(2);
  if (v.is_undefined()) raise({*v.as_undefined().why});
  if (v.is_integral()) return v.as_int();
  if (v.is_real()) return whole(v.as_real(), otherwise);
  if (!v.is_string()) return otherwise;
  if (const auto n = read_int(v.view(), base)) return *n;
  const auto x = read_float(v.view());
  return x ? whole(*x, otherwise) : otherwise;
}
inline value to_float(interpreter&, const value& v, arguments& args) {
  const value otherwise = args.get(0, "default", 0.0);
  args.done(1);
  if (v.is_undefined()) raise({*v.as_undefined().why});
  if (v.is_number()) return v.as_real();
  const auto x = v.is_string() ? read_float(v.view()) : std::nullopt;
  return x ? value(*x) : otherwise;
}
inline value round(interpreter&, const value& v, arguments& args) {
  const i64 digits = integer(args.get(0, "precision", 0), "round");
  const text how = string(args.get(1, "method", author_text("common")), "round");
  args.done(2);
  if (v.is_undefined()) raise({*v.as_undefined().why});
  if (!v.is_number()) raise({"a number expected for round, found '", type_name(v), "'"});
  if (digits < -300 || digits > 300) raise({"a precision of 300 digits at most expected"}, errc::unsupported);
  if (how.view() == "common" && v.is_integral() && digits >= 0) return v.as_int();
  if (how.view() == "common" && digits >= 0) {  // correctly rounded, as by to_chars
    double x = v.as_real();
    char buffer[700];
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::fixed, static_cast<int>(digits)).ptr;
    std::from_chars(buffer, end, x);
    return x;
  }
  const double scale = std::pow(10.0, static_cast<double>(digits));
  if (how.view() == "ceil") return std::ceil(v.as_real() * scale) / scale;
  if (how.view() == "floor") return std::floor(v.as_real() * scale) / scale;
  if (how.view() != "common") raise({"common, ceil or floor expected, found ", how.view()});
  const double x = std::nearbyint(v.as_real() * scale) / scale;
  if (!v.is_integral()) return x;
  if (!(std::abs(x) < 0x1p63)) raise({"an integer of 64 bits expected, found ", float_text(x)}, errc::unsupported);
  return static_cast<i64>(x);
}

}  // namespace cke::text::jinja::filters
