// SPDX-License-Identifier: MIT
// expressions.hpp: evaluates each kind of expression.
#pragma once

#include "interpreter.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

inline arguments interpreter::eval_arguments(const expr& e) {
  arguments args;
  const auto name = [&](std::string key, value v) {
    for (const auto& [k, old] : args.named)
      if (k == key) raise({"two values for the argument ", key});
    args.named.emplace_back(std::move(key), std::move(v));
  };
  for (const argument& a : e.args) {
    value v = eval(*a.what);
    switch (a.kind) {
      case argument::positional: args.positional.push_back(std::move(v)); break;
      case argument::named: name(a.name, std::move(v)); break;
      case argument::spread:
        for (value& one : items_of(v)) args.positional.push_back(std::move(one));
        break;
      case argument::spread_named:
        if (!v.as_dict()) raise({"a mapping expected behind **, found '", type_name(v), "'"});
        for (const auto& [key, one] : v.as_dict()->entries) name(std::string(str(key, cost_).view()), one);
    }
  }
  return args;
}

inline value interpreter::eval_call(const expr& e) {
  const expr& callee = *e.kids[0];
  if (callee.kind == expr_kind::attribute) {  // calls a method without creating an object for it
    const value self = eval(*callee.kids[0]);
    if (const method_function f = self.is_undefined() ? nullptr : find_method(self, callee.name)) {
      arguments args = eval_arguments(e);
      line_ = e.line;
      return f(*this, self, args);
    }
    const value what = attribute(self, callee.name);
    arguments args = eval_arguments(e);
    line_ = e.line;
    return call(what, args);
  }
  const value what = eval(callee);
  arguments args = eval_arguments(e);
  line_ = e.line;
  return call(what, args);
}

// Applies a chain of filters; the innermost operand may be the text of a block.
inline value interpreter::eval_filter(const expr& e, const value* block_text) {
  const auto level = cost_.enter();
  const expr* inner = e.kids[0].get();
  const value input = !inner             ? *block_text
      : inner->kind == expr_kind::filter ? eval_filter(*inner, block_text)
                                         : eval(*inner);
  arguments args = eval_arguments(e);
  cost_.spend(1);
  line_ = e.line;
  return filter(e.name, input, args);
}

inline bool interpreter::compare(std::string_view op, const value& a, const value& b) {
  if (op == "==") return equal(a, b, cost_);
  if (op == "!=") return !equal(a, b, cost_);
  if (op == "<") return less(a, b, cost_);
  if (op == ">") return less(b, a, cost_);
  const bool in = op == "in";
  if (in || op == "not in") {
    arguments args;
    args.positional.push_back(b);
    return test("in", a, args) == in;
  }
  // Not the negation of <: with a NaN both are false.
  return (op == "<=" ? less(a, b, cost_) : less(b, a, cost_)) || equal(a, b, cost_);
}

inline value interpreter::eval(const expr& e) {
  const auto level = cost_.enter();
  cost_.spend(1);
  line_ = e.line;
  const auto kid = [&](std::size_t i) { return e.kids[i] ? eval(*e.kids[i]) : value(); };
  switch (e.kind) {
    case expr_kind::constant: return e.constant;
    case expr_kind::name: return eval_name(e.name);
    case expr_kind::tuple:
    case expr_kind::list: {
      values items;
      for (const expr_ptr& k : e.kids) items.push_back(eval(*k));
      return {e.kind == expr_kind::list ? form::list : form::tuple, std::move(items)};
    }
    case expr_kind::dict: {
      auto d = std::make_shared<dict>();
      for (std::size_t i = 0; i < e.kids.size(); i += 2) {
        value key = kid(i);
        insert(*d, std::move(key), kid(i + 1), cost_);
      }
      return value::dict_ptr(std::move(d));
    }
    case expr_kind::field:
    case expr_kind::attribute: return attribute(kid(0), e.name);
    case expr_kind::item: {
      const value of = kid(0);
      return item(of, kid(1));
    }
    case expr_kind::slice: {
      const value of = kid(0), start = kid(1), stop = kid(2), step = kid(3);
      return slice(of, start, stop, step, cost_);
    }
    case expr_kind::call: return eval_call(e);
    case expr_kind::filter: return eval_filter(e, nullptr);
    case expr_kind::test: {
      const value input = kid(0);
      arguments args = eval_arguments(e);
      return test(e.name, input, args);
    }
    case expr_kind::negate: return !truth(kid(0));
    case expr_kind::minus:
    case expr_kind::plus: {
      const value v = kid(0);
      if (v.is_undefined()) raise({*v.as_undefined().why});
      if (!v.is_number()) raise({"bad operand type for a sign: '", type_name(v), "'"});
      if (e.kind == expr_kind::plus) return v.is_bool() ? value(v.as_int()) : v;
      if (v.is_real()) return -v.as_real();
      i64 out = 0;
      return checked(__builtin_sub_overflow(i64{0}, v.as_int(), &out), out);
    }
    case expr_kind::binary: {
      const value left = kid(0);
      return binary(e.name, left, kid(1), cost_);
    }
    case expr_kind::concat: {
      text all;
      for (const expr_ptr& k : e.kids) {
        append_str(all, eval(*k), cost_);
        cost_.fit(all.size());
      }
      return all;
    }
    case expr_kind::compare: {
      value left = kid(0);
      for (std::size_t i = 0; i < e.operators.size(); ++i) {
        value right = kid(i + 1);
        if (!compare(e.operators[i], left, right)) return false;
        left = std::move(right);
      }
      return true;
    }
    case expr_kind::all: {
      value left = kid(0);
      return truth(left) ? kid(1) : left;
    }
    case expr_kind::any: {
      value left = kid(0);
      return truth(left) ? left : kid(1);
    }
    case expr_kind::choice:
      if (truth(kid(1))) return kid(0);
      if (e.kids[2]) return kid(2);
      return make_undefined("the inline if-expression was false and has no else");
  }
  return {};
}

}  // namespace cke::text::jinja
