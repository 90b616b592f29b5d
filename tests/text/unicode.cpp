// SPDX-License-Identifier: MIT
// unicode.cpp: tests of text/tokenizer/unicode.hpp.
#include <cke/text/tokenizer/unicode.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace cke;
using namespace cke::text;
using namespace std::string_view_literals;

static_assert(utf8_next("\xF0\x9F\x98\x80").code == 0x1F600);
static_assert(class_of(U'ß') == char_class::letter && class_of(U'Ⅷ') == char_class::digit);

TEST_CASE("utf8: every code point goes out and comes in again") {
  for (u32 code = 0; code < stray_byte; ++code) {
    std::string text;
    append_utf8(text, code);
    const utf8_step step = utf8_next(text);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    if (surrogate ? step.state != utf8_state::invalid
                  : step.state != utf8_state::valid || step.code != code || step.size != text.size())
      FAIL("U+" << std::hex << code);
  }
}

TEST_CASE("utf8: broken bytes are steps of one maximal subpart") {
  struct {
    std::string_view text;
    u32 size;
    utf8_state state;
  } const cases[] = {
      {"\x80", 1, utf8_state::invalid},
      {"\xC0\x80", 1, utf8_state::invalid},  // overlong
      {"\xE0\x80\x80", 1, utf8_state::invalid},
      {"\xED\xA0\x80", 1, utf8_state::invalid},
      {"\xF4\x90\x80\x80", 1, utf8_state::invalid},
      {"\xF5", 1, utf8_state::invalid},
      {"\xE4\xBDx", 2, utf8_state::invalid},
      {"\xF0\x9F\x98x", 3, utf8_state::invalid},
      {"\xE4\xBD", 2, utf8_state::truncated},
      {"\xF0\x9F\x98", 3, utf8_state::truncated},
      {"\xC3", 1, utf8_state::truncated},
  };
  for (const auto& c : cases) {
    CHECK(utf8_next(c.text).size == c.size);
    CHECK(utf8_next(c.text).state == c.state);
    const code_point stray = code_point_at(c.text, 0);
    CHECK(stray.size == 1);
    std::string back;
    append_utf8(back, stray.value);
    CHECK(back == c.text.substr(0, 1));
  }
}

TEST_CASE("utf8: backwards finds the same code points") {
  const std::string_view text = "aß中😀\xE4\xBD\x80\xC3 é\x9F";
  std::vector<u32> forwards, backwards;
  for (std::size_t at = 0; at < text.size();) {
    const code_point c = code_point_at(text, at);
    forwards.push_back(c.value);
    at += c.size;
  }
  for (std::size_t end = text.size(); end > 0;) {
    const code_point c = code_point_before(text, end);
    backwards.insert(backwards.begin(), c.value);
    end -= c.size;
  }
  CHECK(forwards == backwards);
}

// The counts are those of the regular expressions of Hugging Face tokenizers 0.23.
TEST_CASE("classes: as many code points as Unicode 16 has") {
  u32 letters = 0, numbers = 0, marks = 0, spaces = 0;
  for (u32 code = 0; code < stray_byte + 256; ++code) {
    const char_class c = class_of(code);
    letters += is_letter(c);
    numbers += is_number(c);
    marks += c == char_class::mark;
    spaces += is_space(c);
  }
  CHECK(letters == 141028);
  CHECK(numbers == 1911);
  CHECK(marks == 2501);
  CHECK(spaces == 25);
}

TEST_CASE("classes: word characters are letters, marks, digits, connectors") {
  for (const char32_t c : U"aé中_‿\u0301\u200d5Ⅷ\U0001F130"sv) CHECK(is_word(class_of(c)));
  for (const char32_t c : U" -.½²\u00a0😀"sv) CHECK_FALSE(is_word(class_of(c)));
}
