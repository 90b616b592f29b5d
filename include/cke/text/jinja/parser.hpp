// SPDX-License-Identifier: MIT
// parser.hpp: parses expressions by jinja2's grammar, one function per rule, lowest precedence first.
#pragma once

#include "ast.hpp"
#include "budget.hpp"
#include "token.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

class expression_parser : protected token_stream {
 public:
  using token_stream::token_stream;

 protected:
  // Limits the nesting of expressions and blocks in the source, and the length of a chain a + b + c.
  static constexpr u32 max_depth = 200;

  // Enters a level of nesting; the destructor leaves it.
  struct level {
    explicit level(expression_parser& p) : of(p) {
      if (++p.depth_ > max_depth) p.fail({"nesting deeper than ", max_depth, " levels"}, errc::unsupported);
    }
    ~level() { --of.depth_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;
    expression_parser& of;
  };

  template <class... Kids> expr_ptr make(expr_kind kind, std::string name, Kids... kids) {
    auto e = std::make_unique<expr>(expr{.kind = kind, .line = now().line, .name = std::move(name)});
    (add(*e, std::move(kids)), ...);
    return e;
  }
  void add(expr& e, expr_ptr kid) {
    if (kid && (e.depth = std::max(e.depth, kid->depth + 1)) > max_depth)
      fail({"an expression deeper than ", max_depth, " levels"}, errc::unsupported);
    e.kids.push_back(std::move(kid));
  }
  expr_ptr constant(value v) {
    expr_ptr e = make(expr_kind::constant, {});
    e->constant = std::move(v);
    return e;
  }

  // a, b, c or a single expression. `end` is the token at which a tuple may stop after a comma.
  expr_ptr parse_tuple(bool conditional = true, std::string_view end = {}, bool parentheses = false) {
    const auto ends = [&] {
      return now().type == token_type::variable_end || now().type == token_type::block_end || now().is(")") ||
          (!end.empty() && now().is_name(end));
    };
    if (ends()) {
      if (!parentheses) unexpected("an expression");
      return make(expr_kind::tuple, {});
    }
    expr_ptr first = conditional ? parse_expression() : parse_or();
    if (!now().is(",")) return first;
    expr_ptr all = make(expr_kind::tuple, {}, std::move(first));
    while (skip(",") && !ends()) add(*all, conditional ? parse_expression() : parse_or());
    return all;
  }

  // a if b else c
  expr_ptr parse_expression() {
    const level guard(*this);
    expr_ptr e = parse_or();
    while (skip_name("if")) {
      expr_ptr condition = parse_or();
      expr_ptr otherwise = skip_name("else") ? parse_expression() : nullptr;
      e = make(expr_kind::choice, {}, std::move(e), std::move(condition), std::move(otherwise));
    }
    return e;
  }
  expr_ptr parse_or() {
    expr_ptr e = parse_and();
    while (skip_name("or")) e = make(expr_kind::any, {}, std::move(e), parse_and());
    return e;
  }
  expr_ptr parse_and() {
    expr_ptr e = parse_not();
    while (skip_name("and")) e = make(expr_kind::all, {}, std::move(e), parse_not());
    return e;
  }
  expr_ptr parse_not() {
    const level guard(*this);
    if (skip_name("not")) return make(expr_kind::negate, {}, parse_not());
    return parse_compare();
  }
  expr_ptr parse_compare() {
    expr_ptr first = parse_sum();
    expr_ptr all;
    for (;;) {
      std::string op;
      if (now().is_name("not") && ahead().is_name("in")) {
        take(), take();
        op = "not in";
      } else if (now().is_name("in") || now().is("==") || now().is("!=") || now().is("<") || now().is("<=") ||
                 now().is(">") || now().is(">=")) {
        op = take().text;
      } else {
        return all ? std::move(all) : std::move(first);
      }
      if (!all) all = make(expr_kind::compare, {}, std::move(first));
      all->operators.push_back(std::move(op));
      add(*all, parse_sum());
    }
  }
  expr_ptr parse_sum() {
    expr_ptr e = parse_concat();
    while (now().is("+") || now().is("-")) {
      std::string op = take().text;
      e = make(expr_kind::binary, std::move(op), std::move(e), parse_concat());
    }
    return e;
  }
  expr_ptr parse_concat() {
    expr_ptr first = parse_product();
    if (!now().is("~")) return first;
    expr_ptr all = make(expr_kind::concat, {}, std::move(first));
    while (skip("~")) add(*all, parse_product());
    return all;
  }
  expr_ptr parse_product() {
    expr_ptr e = parse_power();
    while (now().is("*") || now().is("/") || now().is("//") || now().is("%")) {
      std::string op = take().text;
      e = make(expr_kind::binary, std::move(op), std::move(e), parse_power());
    }
    return e;
  }
  expr_ptr parse_power() {
    expr_ptr e = parse_unary();
    while (skip("**")) e = make(expr_kind::binary, "**", std::move(e), parse_unary());
    return e;
  }
  expr_ptr parse_unary(bool with_filter = true) {
    const level guard(*this);
    expr_ptr e;
    if (skip("-")) e = make(expr_kind::minus, {}, parse_unary(false));
    else if (skip("+")) e = make(expr_kind::plus, {}, parse_unary(false));
    else e = parse_primary();
    e = parse_postfix(std::move(e));
    return with_filter ? parse_filters(std::move(e)) : std::move(e);
  }

  expr_ptr parse_primary() {
    const token t = now();
    switch (t.type) {
      case token_type::name: {
        take();
        if (t.text == "true" || t.text == "True") return constant(true);
        if (t.text == "false" || t.text == "False") return constant(false);
        if (t.text == "none" || t.text == "None") return constant({});
        mention(t.text);
        return make(expr_kind::name, t.text);
      }
      case token_type::string: {
        std::string all;
        while (now().type == token_type::string) all += take().text;
        return constant(author_text(all));
      }
      case token_type::integer: return take(), constant(t.integer);
      case token_type::real: return take(), constant(t.real);
      default: break;
    }
    if (skip("(")) {
      expr_ptr e = parse_tuple(true, {}, true);
      expect(")");
      return e;
    }
    if (now().is("[") || now().is("{")) return parse_collection(take().text == "{");
    unexpected("an expression");
  }
  expr_ptr parse_collection(bool dict) {
    const std::string_view close = dict ? "}" : "]";
    expr_ptr e = make(dict ? expr_kind::dict : expr_kind::list, {});
    while (!now().is(close)) {
      if (!e->kids.empty()) {
        expect(",");
        if (now().is(close)) break;
      }
      add(*e, parse_expression());
      if (!dict) continue;
      expect(":");
      add(*e, parse_expression());
    }
    expect(close);
    return e;
  }

  expr_ptr parse_postfix(expr_ptr e) {
    for (;;) {
      if (skip(".")) {
        if (now().type == token_type::integer) {
          e = make(expr_kind::item, {}, std::move(e), constant(now().integer));
          take();
        } else {
          e = make(expr_kind::attribute, expect_name("a name or a number"), std::move(e));
        }
      } else if (skip("[")) {
        e = parse_subscript(std::move(e));
      } else if (now().is("(")) {
        e = parse_call(std::move(e));
      } else {
        return e;
      }
    }
  }
  expr_ptr parse_call(expr_ptr callee) {
    expr_ptr e = make(expr_kind::call, {}, std::move(callee));
    parse_arguments(*e);
    return e;
  }
  expr_ptr parse_subscript(expr_ptr of) {
    const auto bound = [&]() -> expr_ptr {
      return now().is(":") || now().is("]") || now().is(",") ? nullptr : parse_expression();
    };
    expr_ptr first = bound();
    if (!now().is(":")) {
      if (!first) unexpected("an index");
      if (now().is(",")) {
        expr_ptr key = make(expr_kind::tuple, {}, std::move(first));
        while (skip(",")) add(*key, parse_expression());
        first = std::move(key);
      }
      expect("]");
      return make(expr_kind::item, {}, std::move(of), std::move(first));
    }
    take();
    expr_ptr stop = bound(), step = skip(":") ? bound() : nullptr;
    expect("]");
    return make(expr_kind::slice, {}, std::move(of), std::move(first), std::move(stop), std::move(step));
  }

  void parse_arguments(expr& to) {
    expect("(");
    const auto most = [&](int kind) {  // the kinds of arguments have a fixed order
      if (!to.args.empty() && to.args.back().kind > kind) fail({"arguments in another order expected"});
    };
    while (!now().is(")")) {
      if (!to.args.empty()) {
        expect(",");
        if (now().is(")")) break;
      }
      argument a{argument::positional, {}, nullptr};
      if (skip("*")) a.kind = argument::spread;
      else if (skip("**")) a.kind = argument::spread_named;
      else if (now().type == token_type::name && ahead().is("=")) {
        a.kind = argument::named, a.name = take().text;
        take();
      }
      most(a.kind);
      a.what = parse_expression();
      to.depth = std::max(to.depth, a.what->depth + 1);
      to.args.push_back(std::move(a));
    }
    expect(")");
  }

  // A sequence of x|filter(...) and x is test ...
  expr_ptr parse_filters(expr_ptr e) {
    for (;;) {
      if (skip("|")) e = parse_filter(std::move(e));
      else if (skip_name("is")) e = parse_test(std::move(e));
      else if (now().is("(")) e = parse_call(std::move(e));
      else return e;
    }
  }
  expr_ptr parse_filter(expr_ptr input) {
    expr_ptr e = make(expr_kind::filter, expect_name("a filter's name"), std::move(input));
    if (now().is("(")) parse_arguments(*e);
    return e;
  }
  expr_ptr parse_test(expr_ptr input) {
    const bool negated = skip_name("not");
    expr_ptr e = make(expr_kind::test, expect_name("a test's name"), std::move(input));
    const bool operand = now().type == token_type::name || now().type == token_type::string ||
        now().type == token_type::integer || now().type == token_type::real || now().is("[") || now().is("{");
    if (now().is("(")) {
      parse_arguments(*e);
    } else if (operand && !now().is_name("else") && !now().is_name("or") && !now().is_name("and")) {
      if (now().is_name("is")) fail({"one test expected, found a chain of them"});
      e->args.push_back({argument::positional, {}, parse_postfix(parse_primary())});
      e->depth = std::max(e->depth, e->args[0].what->depth + 1);
    }
    return negated ? make(expr_kind::negate, {}, std::move(e)) : std::move(e);
  }

  // Called for each name that is read: a macro must know whether its body mentions caller.
  virtual void mention(const std::string&) {}
  virtual ~expression_parser() = default;

 private:
  u32 depth_ = 0;
};

}  // namespace cke::text::jinja
