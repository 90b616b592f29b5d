// SPDX-License-Identifier: MIT
// token.hpp: the tokens of a template, and the cursor of a parser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "value.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

enum class token_type : u8 {
  data,            // text between the tags
  variable_begin,  // {{
  variable_end,    // }}
  block_begin,     // {%
  block_end,       // %}
  name,
  string,
  integer,
  real,
  op,  // an operator or bracket
  end,
};

struct token {
  token_type type;
  std::string text;  // data; a name; a string's value; an operator
  u32 line;
  i64 integer = 0;
  double real = 0;

  bool is(std::string_view op) const { return type == token_type::op && text == op; }
  bool is_name(std::string_view word) const { return type == token_type::name && text == word; }
};

class token_stream {
 public:
  explicit token_stream(std::vector<token> tokens) : tokens_(std::move(tokens)) {}

  const token& now() const { return tokens_[at_]; }
  const token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const token& take() {
    const token& t = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return t;
  }
  bool skip(std::string_view op) { return now().is(op) ? take(), true : false; }
  bool skip_name(std::string_view word) { return now().is_name(word) ? take(), true : false; }
  void expect(std::string_view op) {
    if (!skip(op)) unexpected(op);
  }
  void expect(token_type type, std::string_view what) {
    if (now().type != type) unexpected(what);
    take();
  }
  std::string expect_name(std::string_view what = "a name") {
    if (now().type != token_type::name) unexpected(what);
    return take().text;
  }
  [[noreturn]] void unexpected(std::string_view wanted) const {
    static constexpr std::string_view names[] = {"text",     "{{",       "}}",       "{%", "%}",     "",
                                                 "a string", "a number", "a number", "",   "the end"};
    const std::string_view name = names[static_cast<u8>(now().type)];
    fail({"expected ", wanted, ", found ", name.empty() ? now().text : name});
  }
  [[noreturn]] void fail(std::initializer_list<text_part> what, errc code = errc::malformed) const {
    raise(what, code, now().line);
  }

 private:
  std::vector<token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace cke::text::jinja
