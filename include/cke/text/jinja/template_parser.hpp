// SPDX-License-Identifier: MIT
// template_parser.hpp: parses tokens into the statements of a template.
#pragma once

#include <functional>

#include "lexer.hpp"
#include "parser.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

class template_parser final : expression_parser {
 public:
  explicit template_parser(std::string_view source) : expression_parser(lexer(source).read()) {}

  // Throws fault.
  statement_list parse() {
    statement_list all = parse_block({});
    if (now().type != token_type::end) unexpected("text or a tag");
    return all;
  }

 private:
  using words = std::initializer_list<std::string_view>;

  void mention(const std::string& name) override {
    for (macro_definition* m : open_macros_) {
      if (name == "caller") m->caller = true;
      if (name == "varargs") m->varargs = true;
      if (name == "kwargs") m->kwargs = true;
    }
  }

  // Parses up to a tag with one of these names, and stops after its {%.
  statement_list parse_block(words ends) {
    const level guard(*this);
    statement_list out;
    for (;;) {
      const u32 line = now().line;
      switch (now().type) {
        case token_type::data:
          out.push_back({.kind = statement_kind::data, .line = line, .constant = author_text(take().text)});
          break;
        case token_type::variable_begin: {
          take();
          statement& s = out.emplace_back(statement{.kind = statement_kind::output, .line = line});
          s.exprs.push_back(parse_tuple());
          expect(token_type::variable_end, "}}");
          break;
        }
        case token_type::block_begin:
          take();
          for (const std::string_view end : ends)
            if (now().is_name(end)) return out;
          out.push_back(parse_statement(line));
          expect(token_type::block_end, "%}");
          break;
        default:
          if (ends.size() > 0) unexpected(concat({"{% ", *(ends.end() - 1), " %}"}));
          return out;
      }
    }
  }
  // Parses the body of a tag, starting at the tag's end, and stops in its end tag.
  statement_list parse_body(words ends) {
    skip(":");
    expect(token_type::block_end, "%}");
    return parse_block(ends);
  }
  statement_list parse_whole_body(std::string_view end) {
    statement_list b = parse_body({end});
    take();
    return b;
  }

  statement parse_statement(u32 line) {
    const std::string tag = expect_name("a tag's name");
    statement s{.kind = statement_kind::scope, .line = line};
    if (tag == "set") parse_set(s);
    else if (tag == "if") parse_if(s);
    else if (tag == "for") parse_for(s);
    else if (tag == "macro") parse_macro(s);
    else if (tag == "call") parse_call_block(s);
    else if (tag == "with") parse_with(s);
    else if (tag == "print") {
      s.kind = statement_kind::output;
      do s.exprs.push_back(parse_expression());
      while (skip(","));
    } else if (tag == "filter") {
      s.kind = statement_kind::filter;
      s.exprs.push_back(parse_filter_chain(true));
      s.bodies.push_back(parse_whole_body("endfilter"));
    } else if (tag == "generation") {
      s.bodies.push_back(in_macro([&] { return parse_whole_body("endgeneration"); }));
    } else if (tag == "break" || tag == "continue") {
      if (loops_ == 0) fail({tag, " inside a loop expected, found one outside"});
      s.kind = tag == "break" ? statement_kind::leave : statement_kind::next;
    } else {
      fail({"a tag that chat templates use expected, found ", tag}, errc::unsupported);
    }
    return s;
  }

  // break and continue do not reach outside of a macro.
  statement_list in_macro(std::function<statement_list()> parse) {
    const u32 loops = std::exchange(loops_, 0);
    statement_list b = parse();
    loops_ = loops;
    return b;
  }

  // A chain filter|filter that applies to a block.
  expr_ptr parse_filter_chain(bool begun) {
    expr_ptr e;
    while (begun || skip("|")) {
      e = parse_filter(std::move(e));
      begun = false;
    }
    return e;
  }

  expr_ptr parse_target(std::string_view end = {}, bool fields = false) {
    const auto one = [&]() -> expr_ptr {
      if (skip("(")) {
        expr_ptr inner = parse_target({}, fields);
        expect(")");
        return inner;
      }
      std::string name = expect_name("a name to assign to");
      for (const char* word : {"true", "false", "none", "True", "False", "None"})
        if (name == word) fail({"a name to assign to expected, found ", name});
      if (!fields || !skip(".")) return make(expr_kind::name, std::move(name));
      mention(name);
      return make(expr_kind::field, expect_name("an attribute"), make(expr_kind::name, std::move(name)));
    };
    const level guard(*this);
    expr_ptr first = one();
    if (!now().is(",")) return first;
    expr_ptr all = make(expr_kind::tuple, {}, std::move(first));
    while (skip(",")) {
      if (now().type != token_type::name && !now().is("(")) break;
      if (!end.empty() && now().is_name(end)) break;
      add(*all, one());
    }
    return all;
  }

  void parse_set(statement& s) {
    s.exprs.push_back(parse_target({}, true));
    if (skip("=")) {
      s.kind = statement_kind::set;
      s.exprs.push_back(parse_tuple());
      return;
    }
    s.kind = statement_kind::set_block;
    s.exprs.push_back(parse_filter_chain(false));
    s.bodies.push_back(parse_whole_body("endset"));
  }

  void parse_if(statement& s) {
    s.kind = statement_kind::branch;
    for (std::string tag = "elif"; tag == "elif"; tag = take().text) {
      s.exprs.push_back(parse_tuple(false));
      s.bodies.push_back(parse_body({"elif", "else", "endif"}));
      if (now().is_name("else")) {
        take();
        s.bodies.push_back(parse_body({"endif"}));
      }
    }
  }

  void parse_for(statement& s) {
    s.kind = statement_kind::loop;
    s.exprs.push_back(parse_target("in"));
    if (s.exprs[0]->name == "loop") fail({"a name other than loop expected"});
    if (!skip_name("in")) unexpected("in");
    s.exprs.push_back(parse_tuple(false, "recursive"));
    s.exprs.push_back(skip_name("if") ? parse_expression() : nullptr);
    s.recursive = skip_name("recursive");
    ++loops_;
    s.bodies.push_back(parse_body({"else", "endfor"}));
    --loops_;
    const bool otherwise = take().text == "else";
    s.bodies.push_back(otherwise ? parse_whole_body("endfor") : statement_list{});
  }

  signature parse_signature() {
    signature takes;
    expect("(");
    while (!now().is(")")) {
      if (!takes.names.empty()) expect(",");
      takes.names.push_back(expect_name("a parameter"));
      if (skip("=")) takes.defaults.push_back(parse_expression());
      else if (!takes.defaults.empty()) fail({"a parameter with a default expected"});
    }
    expect(")");
    return takes;
  }
  void parse_definition(macro_definition& m, std::string_view end) {
    open_macros_.push_back(&m);
    m.body = in_macro([&] { return parse_whole_body(end); });
    open_macros_.pop_back();
  }
  void parse_macro(statement& s) {
    s.kind = statement_kind::macro;
    s.define = std::make_unique<macro_definition>();
    s.define->name = expect_name("a macro's name");
    s.define->takes = parse_signature();
    parse_definition(*s.define, "endmacro");
  }
  void parse_call_block(statement& s) {
    s.kind = statement_kind::call;
    s.define = std::make_unique<macro_definition>();
    s.define->name = "caller";
    if (now().is("(")) s.define->takes = parse_signature();
    s.exprs.push_back(parse_expression());
    if (s.exprs[0]->kind != expr_kind::call) fail({"a call expected"});
    parse_definition(*s.define, "endcall");
  }
  void parse_with(statement& s) {
    s.kind = statement_kind::with;
    while (now().type != token_type::block_end) {
      if (!s.exprs.empty()) expect(",");
      s.exprs.push_back(parse_target());
      expect("=");
      s.exprs.push_back(parse_expression());
    }
    s.bodies.push_back(parse_whole_body("endwith"));
  }

  std::vector<macro_definition*> open_macros_;
  u32 loops_ = 0;
};

}  // namespace cke::text::jinja
