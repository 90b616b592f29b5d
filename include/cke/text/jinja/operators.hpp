// SPDX-License-Identifier: MIT
// operators.hpp: Python's + - * / // % ** on values, and slices.
#pragma once

#include "format.hpp"
#include "python.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

inline i64 checked(bool overflow, const i64& result) {
  if (overflow) raise({"an integer of 64 bits expected, found a larger one"}, errc::unsupported);
  return result;
}

// markupsafe.escape: escapes text for HTML.
inline text escape(const text& s, budget& cost) {
  if (s.markup) return s;
  cost.make(s.size());
  text out;
  for (std::size_t at = 0; at < s.size(); ++at) {
    switch (s.view()[at]) {
      case '&': out.append_as("&amp;", s, at); break;
      case '<': out.append_as("&lt;", s, at); break;
      case '>': out.append_as("&gt;", s, at); break;
      case '\'': out.append_as("&#39;", s, at); break;
      case '"': out.append_as("&#34;", s, at); break;
      default: out.append(s, at, 1);
    }
  }
  out.markup = true;
  return out;
}

inline text joined(const text& a, const text& b, budget& cost) {
  cost.make(a.size() + b.size());
  text out = a;
  if (a.markup == b.markup) {
    out.append(b);
  } else if (a.markup) {
    out.append(escape(b, cost));
  } else {
    out = escape(a, cost);
    out.append(b);
  }
  return out;
}

inline value repeated(const value& v, i64 times, budget& cost) {
  const auto count = static_cast<u64>(std::max<i64>(times, 0));
  if (v.is_string()) {
    const text& s = v.as_text();
    u64 bytes = 0;
    if (!checked_mul(s.size(), count, bytes)) bytes = ~u64{0};
    cost.make(bytes);
    text out;
    out.markup = s.markup;
    for (u64 i = 0; i < count && !s.empty(); ++i) out.append(s);
    return out;
  }
  const sequence& s = *v.as_sequence();
  u64 items = 0;
  if (!checked_mul(s.items.size(), count, items)) items = ~u64{0} / 2;
  cost.spend(items);
  values out;
  for (u64 i = 0; i < count && !s.items.empty(); ++i) out.insert(out.end(), s.items.begin(), s.items.end());
  return {s.as, std::move(out)};
}

inline i64 floor_div(i64 a, i64 b) {
  if (a == INT64_MIN && b == -1) checked(true, 0);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline i64 floor_mod(i64 a, i64 b) {
  if (b == -1) return 0;
  const i64 r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
inline double floor_mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

inline value power(const value& a, const value& b, budget& cost) {
  if (a.is_integral() && b.is_integral() && b.as_int() >= 0) {
    const i64 base = a.as_int();
    if (base == 0 || base == 1) return b.as_int() == 0 ? i64{1} : base;
    if (base == -1) return b.as_int() % 2 == 0 ? i64{1} : i64{-1};
    i64 out = 1;
    for (i64 n = b.as_int(); n > 0; --n) {
      cost.spend(1);
      out = checked(__builtin_mul_overflow(out, base, &out), out);
    }
    return out;
  }
  if (a.as_real() == 0 && b.as_real() < 0) raise({"zero to a negative power"});
  const double out = std::pow(a.as_real(), b.as_real());
  if (std::isnan(out) && !std::isnan(a.as_real()) && !std::isnan(b.as_real()))
    raise({"a real number expected, found a complex one"}, errc::unsupported);
  if (std::isinf(out) && !std::isinf(a.as_real()) && !std::isinf(b.as_real())) raise({"a power too large"});
  return out;
}

inline value arithmetic(std::string_view op, const value& a, const value& b, budget& cost) {
  if (op == "**") return power(a, b, cost);
  const bool zero = b.as_real() == 0;
  if (zero && (op == "/" || op == "//" || op == "%")) raise({"division by zero"});
  if (op == "/") return a.as_real() / b.as_real();
  if (a.is_integral() && b.is_integral()) {
    const i64 x = a.as_int(), y = b.as_int();
    i64 out = 0;
    if (op == "+") return checked(__builtin_add_overflow(x, y, &out), out);
    if (op == "-") return checked(__builtin_sub_overflow(x, y, &out), out);
    if (op == "*") return checked(__builtin_mul_overflow(x, y, &out), out);
    return op == "//" ? floor_div(x, y) : floor_mod(x, y);
  }
  const double x = a.as_real(), y = b.as_real();
  if (op == "+") return x + y;
  if (op == "-") return x - y;
  if (op == "*") return x * y;
  return op == "//" ? std::floor((x - floor_mod(x, y)) / y + 0.5) : floor_mod(x, y);
}

inline value binary(std::string_view op, const value& a, const value& b, budget& cost) {
  for (const value* v : {&a, &b})
    if (v->is_undefined() && !(op == "%" && a.is_string())) raise({*v->as_undefined().why});
  if (op == "%" && a.is_string()) return percent_format(a.as_text(), b, cost);
  if (a.is_number() && b.is_number()) return arithmetic(op, a, b, cost);
  if (op == "+") {
    if (a.is_string() && b.is_string()) return joined(a.as_text(), b.as_text(), cost);
    for (const form f : {form::list, form::tuple}) {
      if (!a.is_sequence(f) || !b.is_sequence(f)) continue;
      values all = a.as_sequence()->items;
      const values& more = b.as_sequence()->items;
      cost.spend(all.size() + more.size());
      all.insert(all.end(), more.begin(), more.end());
      return {f, std::move(all)};
    }
  }
  if (op == "*") {
    const auto repeats = [](const value& v) {
      return v.is_string() || v.is_sequence(form::list) || v.is_sequence(form::tuple);
    };
    if (repeats(a) && b.is_integral()) return repeated(a, b.as_int(), cost);
    if (repeats(b) && a.is_integral()) return repeated(b, a.as_int(), cost);
  }
  raise({"unsupported operand types for ", op, ": '", type_name(a), "' and '", type_name(b), "'"});
}

// The indexes of a slice, as slice.indices() returns them.
struct slice_range {
  i64 start, stop, step;
  u64 count() const {
    if (step > 0) return start < stop ? static_cast<u64>((stop - start - 1) / step + 1) : 0;
    return start > stop ? static_cast<u64>((start - stop - 1) / -step + 1) : 0;
  }
};
inline slice_range slice_of(const value& start, const value& stop, const value& step, i64 size) {
  for (const value* v : {&start, &stop, &step})
    if (!v->is_none() && !v->is_integral()) raise({"slice indices of type '", type_name(*v), "'"});
  const i64 by = step.is_none() ? 1 : std::clamp<i64>(step.as_int(), -INT64_MAX / 2, INT64_MAX / 2);
  if (by == 0) raise({"slice step cannot be zero"});
  const i64 low = by > 0 ? 0 : -1, high = by > 0 ? size : size - 1;
  const auto bound = [&](const value& v, i64 otherwise) {
    if (v.is_none()) return otherwise;
    const i64 i = v.as_int();
    return i < 0 ? std::max(i + size, low) : std::min(i, high);
  };
  return {bound(start, by > 0 ? low : high), bound(stop, by > 0 ? high : low), by};
}

inline value slice(const value& of, const value& start, const value& stop, const value& step, budget& cost) {
  if (of.is_undefined()) raise({*of.as_undefined().why});
  const sequence* s = of.as_sequence();
  const bool list = s && (s->as == form::list || s->as == form::tuple || s->as == form::range);
  if (!of.is_string() && !list) raise({"a '", type_name(of), "' has no slices"});
  const i64 size = static_cast<i64>(length_of(of));
  const slice_range r = slice_of(start, stop, step, size);
  const u64 count = r.count();
  cost.spend(count);
  if (list) {
    values out;
    for (u64 i = 0; i < count; ++i) out.push_back(s->items[static_cast<u64>(r.start + static_cast<i64>(i) * r.step)]);
    return {s->as, std::move(out)};
  }
  const text& t = of.as_text();
  cost.make(t.size());
  if (r.step == 1) {
    const std::size_t begin = offset_of(t.view(), static_cast<u64>(r.start));
    return t.substr(begin, offset_of(t.view().substr(begin), count));
  }
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < t.size(); at += code_point_at(t.view(), at).size) begins.push_back(at);
  text out;
  out.markup = t.markup;
  for (u64 i = 0; i < count; ++i) {
    const std::size_t at = begins[static_cast<u64>(r.start + static_cast<i64>(i) * r.step)];
    out.append(t, at, code_point_at(t.view(), at).size);
  }
  return out;
}

}  // namespace cke::text::jinja
