// SPDX-License-Identifier: MIT
// template.hpp: a chat template: Jinja source that is parsed once and rendered for each conversation.
#pragma once

#include "tables.hpp"
#include "template_parser.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

// Renders byte for byte what transformers' jinja2 renders, and records the origin of each byte.
class chat_template {
 public:
  // Throws Error: malformed or unsupported, naming `file` and the line.
  explicit chat_template(std::string_view source, std::string file = {}, const limits& l = {})
      : file_(std::move(file)), limits_(l) {
    report(
        [&] {
          if (source.size() > l.source)
            raise({"a template of at most ", l.source, " bytes expected"}, errc::unsupported);
          statements_ = template_parser(source).parse();
        },
        [] { return u32{0}; });
  }

  // `names` are the template's variables; `now` is for strftime_now. Throws Error: malformed or unsupported with the
  // line; usage if the template itself refuses the conversation.
  text render(const dict& names, const std::tm& now) const {
    interpreter in(names, limits_, now);
    text out;
    report([&] { out = in.render(statements_); }, [&] { return in.line(); });
    return out;
  }

 private:
  template <class F, class Line> void report(F f, Line line) const {
    try {
      f();
    } catch (const fault& e) {
      const u32 at = e.line ? e.line : line();
      throw Error(e.code, file_, at ? concat({"chat template, line ", at}) : std::string("chat template"), e.message);
    }
  }

  statement_list statements_;
  std::string file_;
  limits limits_;
};

}  // namespace cke::text::jinja
