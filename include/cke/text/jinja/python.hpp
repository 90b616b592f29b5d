// SPDX-License-Identifier: MIT
// python.hpp: Python's str, repr, bool, len, ==, < and in on values.
#pragma once

#include <charconv>
#include <cmath>

#include "budget.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

// repr(float): the shortest digits that parse back to x.
inline std::string float_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific).ptr;
  std::string_view s(buffer, static_cast<std::size_t>(end - buffer));
  std::string out;
  if (s[0] == '-') out += '-', s.remove_prefix(1);
  const std::size_t e = s.find('e');
  int exponent = 0;
  const std::size_t sign = s[e + 1] == '+' ? 1 : 0;
  std::from_chars(s.data() + e + 1 + sign, s.data() + s.size(), exponent);
  std::string digits(1, s[0]);
  if (e > 2) digits += s.substr(2, e - 2);
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) (out += '.').append(digits, 1);
    const std::string power = std::to_string(std::abs(exponent));
    return out.append(exponent < 0 ? "e-" : "e+").append(power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0) return out.append("0.").append(static_cast<u32>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) return out.append(digits).append(static_cast<u32>(exponent + 1 - count), '0') + ".0";
  const auto whole = static_cast<u32>(exponent + 1);
  return out.append(digits, 0, whole).append(".").append(digits, whole);
}

inline u64 length_of(const value& v) {
  if (v.is_string()) return code_points(v.view());
  if (const dict* d = v.as_dict()) return d->entries.size();
  if (const sequence* s = v.as_sequence(); s && s->as != form::one_shot) return s->items.size();
  if (v.is_undefined()) return 0;
  if (v.as_object())
    if (const auto n = v.as_object()->attribute("length"); n && v.as_object()->type() == "LoopContext")
      return static_cast<u64>(n->as_int());
  raise({"object of type '", type_name(v), "' has no len()"});
}

inline bool truth(const value& v) {
  if (v.is_none() || v.is_undefined()) return false;
  if (v.is_integral()) return v.as_int() != 0;
  if (v.is_real()) return v.as_real() != 0;
  if (v.is_string()) return !v.as_text().empty();
  if (const dict* d = v.as_dict()) return !d->entries.empty();
  if (const sequence* s = v.as_sequence()) return s->as == form::one_shot || !s->items.empty();
  return true;
}

// repr(str), with Python's choice of quotes. Origins are kept.
inline void append_repr(text& out, const text& s, budget& cost) {
  cost.make(s.size() + 2);
  const bool has_single = s.view().find('\'') != std::string_view::npos;
  const char quote = has_single && s.view().find('"') == std::string_view::npos ? '"' : '\'';
  const std::string_view mark(&quote, 1);
  out.append(mark, origin::author);
  for (std::size_t at = 0; at < s.size();) {
    const code_point c = code_point_at(s.view(), at);
    const char byte = s.view()[at];
    std::string escaped;
    if (byte == '\n') escaped = "\\n";
    else if (byte == '\r') escaped = "\\r";
    else if (byte == '\t') escaped = "\\t";
    else if (byte == '\\' || byte == quote) (escaped = '\\') += byte;
    else if (c.value < 32 || (c.value >= 0x7f && c.value < 0xa1) || c.value == 0xad) {
      (escaped = "\\x") += "0123456789abcdef"[c.value >> 4 & 15];
      escaped += "0123456789abcdef"[c.value & 15];
    } else if (c.value > 0xff && c.value < 0x10000 && is_python_space(c.value)) {
      escaped = "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) escaped += "0123456789abcdef"[c.value >> shift & 15];
    }
    if (escaped.empty()) out.append(s, at, c.size);
    else out.append_as(escaped, s, at);
    at += c.size;
  }
  out.append(mark, origin::author);
}

inline void append_str(text& out, const value& v, budget& cost);

inline void append_repr(text& out, const value& v, budget& cost) {
  const auto put = [&](std::string_view s) { out.append(s, origin::author); };
  const auto level = cost.enter();
  cost.spend(1);
  if (v.is_string()) {
    if (v.as_text().markup) put("Markup(");
    append_repr(out, v.as_text(), cost);
    if (v.as_text().markup) put(")");
  } else if (v.is_undefined()) {
    put("Undefined");
  } else if (const dict* d = v.as_dict()) {
    put("{");
    for (bool first = true; const auto& [key, item] : d->entries) {
      if (!std::exchange(first, false)) put(", ");
      append_repr(out, key, cost);
      put(": ");
      append_repr(out, item, cost);
    }
    put("}");
  } else if (const sequence* s = v.as_sequence()) {
    if (!s->printed.empty()) return put(s->printed);
    if (s->as == form::one_shot || s->as == form::range)
      raise({"a ", type_name(v), " is printed; |list makes a list of it"}, errc::unsupported);
    const bool tuple = s->as == form::tuple, view = s->as >= form::key_view;
    if (view) put(type_name(v)), put("(");
    put(tuple ? "(" : "[");
    for (bool first = true; const value& item : s->items) {
      if (!std::exchange(first, false)) put(", ");
      append_repr(out, item, cost);
    }
    put(tuple ? s->items.size() == 1 ? ",)" : ")" : "]");
    if (view) put(")");
  } else {
    append_str(out, v, cost);
  }
}

// Appends what `{{ v }}` prints.
inline void append_str(text& out, const value& v, budget& cost) {
  const auto put = [&](std::string_view s) { out.append(s, origin::author); };
  if (v.is_string()) cost.make(v.as_text().size()), out.append(v.as_text());
  else if (v.is_none()) put("None");
  else if (v.is_bool()) put(v.as_bool() ? "True" : "False");
  else if (v.is_int()) put(std::to_string(v.as_int()));
  else if (v.is_real()) put(float_text(v.as_real()));
  else if (v.is_undefined()) return;
  else if (v.as_object()) v.as_object()->print(out, cost);
  else append_repr(out, v, cost);
}
inline text str(const value& v, budget& cost) {
  text out;
  if (v.is_string()) {
    cost.spend(1);
    return v.as_text();
  }
  append_str(out, v, cost);
  return out;
}

inline bool equal(const value& a, const value& b, budget& cost) {
  cost.spend(1);
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.as_int() == b.as_int();
    return a.as_real() == b.as_real();
  }
  if (a.is_string() && b.is_string()) return a.view() == b.view();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  const auto level = cost.enter();
  if (const sequence *s = a.as_sequence(), *t = b.as_sequence(); s && t) {
    if (s == t) return true;
    if (s->as != t->as || s->as == form::one_shot || s->items.size() != t->items.size()) return false;
    for (std::size_t i = 0; i < s->items.size(); ++i)
      if (!equal(s->items[i], t->items[i], cost)) return false;
    return true;
  }
  if (const dict *d = a.as_dict(), *e = b.as_dict(); d && e) {
    if (d->entries.size() != e->entries.size()) return false;
    for (const auto& [key, item] : d->entries) {
      bool found = false;
      for (const auto& [k, other] : e->entries)
        if (equal(key, k, cost)) {
          found = equal(item, other, cost);
          break;
        }
      if (!found) return false;
    }
    return true;
  }
  return a.as_object() && a.as_object() == b.as_object();
}

// a < b. Strings compare bytewise, which for UTF-8 equals the order of code points.
inline bool less(const value& a, const value& b, budget& cost) {
  cost.spend(1);
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.as_int() < b.as_int();
    return a.as_real() < b.as_real();
  }
  if (a.is_string() && b.is_string()) return a.view() < b.view();
  const sequence *s = a.as_sequence(), *t = b.as_sequence();
  if (s && t && s->as == t->as && (s->as == form::list || s->as == form::tuple)) {
    const auto level = cost.enter();
    for (std::size_t i = 0; i < s->items.size() && i < t->items.size(); ++i)
      if (!equal(s->items[i], t->items[i], cost)) return less(s->items[i], t->items[i], cost);
    return s->items.size() < t->items.size();
  }
  for (const value* v : {&a, &b})
    if (v->is_undefined()) raise({*v->as_undefined().why});
  raise({"'<' between '", type_name(a), "' and '", type_name(b), "'"});
}

inline void require_hashable(const value& v) {
  const sequence* s = v.as_sequence();
  if (v.as_dict() || (s && s->as == form::list)) raise({"unhashable type: '", type_name(v), "'"});
}
inline const value* find(const dict& d, const value& key, budget& cost) {
  require_hashable(key);
  cost.spend(1 + d.entries.size() / 8);
  if (key.is_string()) return d.find(key.view());
  for (const auto& [k, v] : d.entries)
    if (equal(k, key, cost)) return &v;
  return nullptr;
}
inline void insert(dict& d, value key, value item, budget& cost) {
  if (const value* old = find(d, key, cost)) {
    const_cast<value&>(*old) = std::move(item);
  } else {
    d.depth = std::max(d.depth, nested(std::max(key.depth(), item.depth())));
    d.entries.emplace_back(std::move(key), std::move(item));
  }
}

}  // namespace cke::text::jinja
