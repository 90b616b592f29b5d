// SPDX-License-Identifier: MIT
// tests.hpp: the tests that follow `is`.
#pragma once

#include "interpreter.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja::tests {

inline bool defined(interpreter&, const value& v, arguments&) { return !v.is_undefined(); }
inline bool is_undefined(interpreter&, const value& v, arguments&) { return v.is_undefined(); }
inline bool is_none(interpreter&, const value& v, arguments&) { return v.is_none(); }
inline bool is_bool(interpreter&, const value& v, arguments&) { return v.is_bool(); }
inline bool is_true(interpreter&, const value& v, arguments&) { return v.is_bool() && v.as_bool(); }
inline bool is_false(interpreter&, const value& v, arguments&) { return v.is_bool() && !v.as_bool(); }
inline bool is_integer(interpreter&, const value& v, arguments&) { return v.is_int(); }
inline bool is_float(interpreter&, const value& v, arguments&) { return v.is_real(); }
inline bool is_number(interpreter&, const value& v, arguments&) { return v.is_number(); }
inline bool is_string(interpreter&, const value& v, arguments&) { return v.is_string(); }
inline bool is_mapping(interpreter&, const value& v, arguments&) { return v.as_dict() != nullptr; }
// Whether it has a length and can be indexed.
inline bool is_sequence(interpreter&, const value& v, arguments&) {
  const sequence* s = v.as_sequence();
  return v.is_string() || v.as_dict() || v.is_undefined() || (s && s->as <= form::range);
}
inline bool is_iterable(interpreter&, const value& v, arguments&) {
  return v.is_string() || v.as_dict() || v.is_undefined() || v.as_sequence();
}
inline bool is_callable(interpreter&, const value& v, arguments&) {
  return v.is_undefined() || (v.as_object() && v.as_object()->callable());
}
inline bool is_escaped(interpreter&, const value& v, arguments&) { return v.is_string() && v.as_text().markup; }
inline bool is_same(interpreter&, const value& v, arguments& args) { return v.same(args.need(0, "other")); }

inline bool is_in(interpreter& in, const value& v, arguments& args) {
  const value where = args.need(0, "seq");
  if (where.is_string()) {
    if (v.is_undefined()) raise({*v.as_undefined().why});
    if (!v.is_string()) raise({"a string expected on the left of in, found '", type_name(v), "'"});
    in.cost().spend(1 + where.view().size() / 8);
    return where.view().find(v.view()) != std::string_view::npos;
  }
  if (const dict* d = where.as_dict()) return find(*d, v, in.cost()) != nullptr;
  for (const value& one : in.items_of(where))
    if (equal(one, v, in.cost())) return true;
  return false;
}

inline bool leaves(interpreter& in, const value& v, const value& by, int rest) {
  return equal(binary("%", v, by, in.cost()), rest, in.cost());
}
inline bool is_odd(interpreter& in, const value& v, arguments&) { return leaves(in, v, 2, 1); }
inline bool is_even(interpreter& in, const value& v, arguments&) { return leaves(in, v, 2, 0); }
inline bool divisible(interpreter& in, const value& v, arguments& args) {
  return leaves(in, v, args.need(0, "num"), 0);
}
inline bool text_in_case(interpreter& in, const value& v, bool upper) {
  arguments none;
  const value s = str(v, in.cost());
  return truth(find_method(s, upper ? "isupper" : "islower")(in, s, none));
}
inline bool is_upper_text(interpreter& in, const value& v, arguments&) { return text_in_case(in, v, true); }
inline bool is_lower_text(interpreter& in, const value& v, arguments&) { return text_in_case(in, v, false); }
inline bool is_filter(interpreter&, const value& v, arguments&) { return v.is_string() && find_filter(v.view()); }
inline bool is_test(interpreter&, const value& v, arguments&) { return v.is_string() && find_test(v.view()); }

inline bool is_equal(interpreter& in, const value& v, arguments& args) {
  return equal(v, args.need(0, "other"), in.cost());
}
inline bool is_unequal(interpreter& in, const value& v, arguments& args) { return !is_equal(in, v, args); }
inline bool is_less(interpreter& in, const value& v, arguments& args) {
  return less(v, args.need(0, "other"), in.cost());
}
inline bool is_greater(interpreter& in, const value& v, arguments& args) {
  return less(args.need(0, "other"), v, in.cost());
}
inline bool is_at_most(interpreter& in, const value& v, arguments& args) {
  const value other = args.need(0, "other");
  return less(v, other, in.cost()) || equal(v, other, in.cost());
}
inline bool is_at_least(interpreter& in, const value& v, arguments& args) {
  const value other = args.need(0, "other");
  return less(other, v, in.cost()) || equal(v, other, in.cost());
}

}  // namespace cke::text::jinja::tests
