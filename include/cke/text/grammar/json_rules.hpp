// SPDX-License-Identifier: MIT
// json_rules.hpp: collects GBNF rules, and has those that every JSON grammar shares.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../core/concat.hpp"
#include "../../core/error.hpp"

CKE_COLD_BEGIN
namespace cke::text {

class json_rules {
 public:
  // `file` is for messages.
  explicit json_rules(std::string file) : file_(std::move(file)) {}

  // Adds a rule and returns its name.
  std::string add(const std::string& expression) {
    const std::string name = "r" + std::to_string(++made_);
    define(name, expression);
    return name;
  }
  // Throws Error{unsupported} if the rules get too long in total.
  void define(const std::string& name, const std::string& expression) {
    constexpr std::size_t most = 4 << 20;
    if (text_.size() + expression.size() > most)
      throw Error(errc::unsupported, file_, "schema", "a smaller one", "more than 4 MiB as a grammar");
    ((text_ += name) += " ::= ") += expression + '\n';
  }
  // Returns the name of a shared rule below, and adds it on first use.
  std::string shared(const std::string& name) {
    static const std::map<std::string, std::string> texts{
        {"ws", R"(| " " | "\n"{1,2} [ \t]{0,20})"},
        {"digits", "[0-9]{1,15}"},
        {"integer", R"("-"? ("0" | [1-9] [0-9]{0,15}))"},
        {"number", R"(integer ("." digits)? ([eE] [-+]? [0-9]{1,3})?)"},
        {"char",
         R"([^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex{3} | [dD] [0-7] hex{2} | [dD] [89abAB] hex{2} "\\u" [dD] [c-fC-F] hex{2})))"},
        {"hex", "[0-9a-fA-F]"},
        {"string", R"("\"" char* "\"")"},
        {"value", R"(object | array | string | number | "true" | "false" | "null")"},
        {"object", R"("{" ws (member ("," ws member)*)? "}")"},
        {"member", R"(string ":" ws value ws)"},
        {"array", R"("[" ws (value ws ("," ws value ws)*)? "]")"},
        {"date",
         R"(year "-" (("0" [13578] | "1" [02]) "-" (day | "29" | "3" [01]) | ("0" [469] | "11") "-" (day | "29" | "30") | "02-" day) | leap "-02-29")"},
        {"day", R"("0" [1-9] | "1" [0-9] | "2" [0-8])"},
        {"year", R"("000" [1-9] | "00" [1-9] [0-9] | "0" [1-9] [0-9]{2} | [1-9] [0-9]{3})"},
        {"leap", R"([0-9]{2} fourth | fourth "00")"},  // of a year
        {"fourth", R"("0" [48] | [2468] [048] | [13579] [26])"},
        {"time",
         R"(([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]))"},
        {"uuid", R"(hex{8} ("-" hex{4}){3} "-" hex{12})"},
        {"octet", R"([0-9] | [1-9] [0-9] | "1" [0-9]{2} | "2" [0-4] [0-9] | "25" [0-5])"},
    };
    static const std::map<std::string, std::vector<std::string>> needs{
        {"number", {"integer", "digits"}},
        {"char", {"hex"}},
        {"string", {"char"}},
        {"uuid", {"hex"}},
        {"date", {"day", "year", "leap"}},
        {"leap", {"fourth"}},
        {"value", {"object", "array", "string", "number"}},
        {"object", {"member", "ws"}},
        {"member", {"string", "value", "ws"}},
        {"array", {"value", "ws"}}};
    if (!there_.insert(name).second) return name;
    define(name, texts.at(name));
    if (const auto more = needs.find(name); more != needs.end())
      for (const std::string& n : more->second) shared(n);
    return name;
  }
  const std::string& text() const { return text_; }

  // What has been added so far, to which back_to() returns.
  struct state {
    std::size_t size;
    u32 made;
    std::set<std::string> there;
  };
  state now() const { return {text_.size(), made_, there_}; }
  void back_to(state s) { text_.resize(s.size), made_ = s.made, there_ = std::move(s.there); }

 private:
  const std::string file_;
  std::string text_;
  u32 made_ = 0;
  std::set<std::string> there_;
};

}  // namespace cke::text
CKE_COLD_END
