// SPDX-License-Identifier: MIT
// added_tokens.cpp: tests of text/tokenizer/added_tokens.hpp.
#include <cke/text/tokenizer/added_tokens.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace cke;
using namespace cke::text;

namespace {

// Text between bars, ids in brackets.
std::string split(const added_tokens& tokens, std::string_view text, bool special = true) {
  std::string out;
  const auto judge = [&](const added_token& t, std::size_t, std::size_t) {
    return special || !t.special ? added_tokens::verdict::token : added_tokens::verdict::text;
  };
  tokens.split(
      text, judge, [&](std::string_view part) { (out += '|') += part; },
      [&](u32 id) { out += "[" + std::to_string(id) + "]"; });
  return out;
}

}  // namespace

TEST_CASE("added tokens: leftmost, then longest") {
  const added_tokens t({"<a>", "<a>b", "a>bcd", "<a>bcx", "", "<a>"}, {{1}, {2}, {3}, {4}, {5}, {6}});
  CHECK(split(t, "") == "");
  CHECK(split(t, "x") == "|x");
  CHECK(split(t, "x<a>y") == "|x[1]|y");
  CHECK(split(t, "<a>bcd") == "[2]|cd");
  CHECK(split(t, "<a>bcx") == "[4]");
  CHECK(split(t, "<a") == "|<a");
  CHECK(split(t, "<<a><a>") == "|<[1][1]");
  CHECK(split(t, "a>bcd") == "[3]");
}

TEST_CASE("added tokens: a control token is text unless it is asked for") {
  const added_tokens t({"<|x|>", "<y>"}, {{.id = 1, .special = true}, {2}});
  CHECK(split(t, "a<|x|>b<y>") == "|a[1]|b[2]");
  CHECK(split(t, "a<|x|>b<y>", false) == "|a<|x|>b[2]");
}

TEST_CASE("added tokens: white space goes with the token") {
  const added_tokens t({"<l>", "<r>"}, {{.id = 1, .lstrip = true}, {.id = 2, .rstrip = true}});
  CHECK(split(t, "a \n\u3000<l> b") == "|a[1]| b");
  CHECK(split(t, "a <r> \t\u00a0b") == "|a [2]|b");
  CHECK(split(t, "  <l>") == "[1]");
  CHECK(split(t, "<r>  <l>") == "[2][1]");
  CHECK(split(t, "<r>  ") == "[2]");
}

TEST_CASE("added tokens: single words") {
  const added_tokens t({"cat"}, {{.id = 1, .single_word = true}});
  CHECK(split(t, "cat a cat.") == "[1]| a [1]|.");
  for (const char* text : {"cats", "1cat", "_cat", "écat", "cat\u0301", "cat中"})
    CHECK(split(t, text) == "|" + std::string(text));
  CHECK(split(t, "😀cat-\xFF") == "|😀[1]|-\xFF");
}

TEST_CASE("added tokens: bytes that are not UTF-8 around them do no harm") {
  const added_tokens t({"\xF0\x9F"}, {{.id = 1, .lstrip = true, .rstrip = true, .single_word = true}});
  CHECK(split(t, "\xE4 \xF0\x9F \x80") == "|\xE4[1]|\x80");
}

TEST_CASE("added tokens: what is judged unknown leaves the others") {
  const added_tokens t({"<a>b", "<a>", "b"}, {{1}, {2}, {3}});
  const auto split_as = [&](added_tokens::verdict longest) {
    std::string out;
    t.split(
        "<a>b",
        [&](const added_token& found, std::size_t, std::size_t end) {
          CHECK(end == (found.id == 2 ? 3 : 4));
          return found.id == 1 ? longest : added_tokens::verdict::token;
        },
        [&](std::string_view part) { (out += '|') += part; }, [&](u32 id) { out += "[" + std::to_string(id) + "]"; });
    return out;
  };
  CHECK(split_as(added_tokens::verdict::token) == "[1]");
  CHECK(split_as(added_tokens::verdict::text) == "|<a>b");
  CHECK(split_as(added_tokens::verdict::unknown) == "[2][3]");
}
