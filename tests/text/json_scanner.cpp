// SPDX-License-Identifier: MIT
// json_scanner.cpp: where JSON ends, and what is none.
#include <cke/text/chat/json_scanner.hpp>

#include <doctest/doctest.h>

using namespace cke;
using namespace cke::text;

namespace {

// How many bytes it takes to the end of the value; npos where it is bad, the size + 1 where it is not whole.
std::size_t end_of(std::string_view text) {
  json_scanner s;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto now = s.feed(text[i]);
    if (now == json_scanner::state::done) return i + 1;
    if (now == json_scanner::state::bad) return text.npos;
  }
  return text.size() + 1;
}

}  // namespace

TEST_CASE("well-formed JSON ends where it ends") {
  for (const std::string_view text :
       {R"({})", R"([])", R"( { "a" : [ 1 , -0.5e+3 , true , false , null , "x\"\\\u00e9]}" ] , "b" : { } })",
        R"([0,-0,10,0.1,1e9,1E-9,{"":[[]]}])", "[\n\t\"\xc3\xa9\"\r\n]"}) {
    CAPTURE(text);
    CHECK(end_of(text) == text.size());
    CHECK(end_of(std::string(text) + "}]\"") == text.size());
    CHECK(end_of(text.substr(0, text.size() - 1)) == text.size());  // every beginning is one of a whole
  }
}

TEST_CASE("what is no JSON is bad at the first byte that shows it") {
  for (const std::string_view text : {R"(x)",
                                      R"("a")",
                                      R"(1)",
                                      R"({a:1})",
                                      R"({"a" 1})",
                                      R"({"a":})",
                                      R"({"a":1,})",
                                      R"([1,])",
                                      R"([,1])",
                                      R"([1 2])",
                                      R"([01])",
                                      R"([-])",
                                      R"([1.])",
                                      R"([.5])",
                                      R"([1e])",
                                      R"([1e+])",
                                      R"([+1])",
                                      R"([tru])",
                                      R"([True])",
                                      R"([nul])",
                                      R"([)"
                                      "\"\n\"]",
                                      R"(["\x"])",
                                      R"(["\u12g4"])",
                                      R"([}])",
                                      R"({]})",
                                      R"({"a":1 "b"})",
                                      R"([NaN])",
                                      R"(['a'])",
                                      R"([1,,2])"}) {
    CAPTURE(text);
    CHECK(end_of(text) == text.npos);
  }
}

TEST_CASE("nesting is bounded") {
  const std::size_t most = json_scanner::max_depth;
  CHECK(end_of(std::string(most, '[') + std::string(most, ']')) == 2 * most);
  CHECK(end_of(std::string(most + 1, '[')) == std::string_view::npos);
}
