// SPDX-License-Identifier: MIT
// pre_tokenizer.cpp: tests of text/tokenizer/pre_tokenizer.hpp; far more text is in io/hf_tokenizer.cpp.
#include <cke/text/tokenizer/pre_tokenizer.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace cke;
using namespace cke::text;

namespace {

// The pieces with a bar between them.
std::string pieces(pre_tokenizer kind, std::string_view text) {
  std::string out;
  pre_tokenize(kind, text, [&](std::string_view piece) { (out += out.empty() ? "" : "|") += piece; });
  return out;
}

void check(std::string_view text, std::string_view gpt2, std::string_view smollm, std::string_view llama3,
           std::string_view qwen2) {
  CAPTURE(text);
  CHECK(pieces(pre_tokenizer::gpt2, text) == gpt2);
  CHECK(pieces(pre_tokenizer::smollm, text) == smollm);
  CHECK(pieces(pre_tokenizer::llama3, text) == llama3);
  CHECK(pieces(pre_tokenizer::qwen2, text) == qwen2);
  CHECK(pieces(pre_tokenizer::none, text) == text);
}

void check_all(std::string_view text, std::string_view want) { check(text, want, want, want, want); }

}  // namespace

// What Hugging Face tokenizers 0.23 cuts with the same patterns.
TEST_CASE("words and contractions") {
  check_all("", "");
  check_all("a", "a");
  check_all("Hello world", "Hello| world");
  check_all("It's we'll they'd", "It|'s| we|'ll| they|'d");
  check("IT'S x'Ve", "IT|'|S| x|'|Ve", "IT|'|S| x|'|Ve", "IT|'S| x|'Ve", "IT|'S| x|'Ve");
  check("x'\u017Fa", "x|'|\u017Fa", "x|'|\u017Fa", "x|'\u017F|a", "x|'\u017F|a");
  check("'xa 'lx", "'|xa| '|lx", "'|xa| '|lx", "'xa| '|lx", "'xa| '|lx");
  check("(a)", "(|a|)", "(|a|)", "(a|)", "(a|)");
  check_all("'", "'");
}

TEST_CASE("numbers") {
  check("x 12345", "x| 12345", "x| |1|2|3|4|5", "x| |123|45", "x| |1|2|3|4|5");
  check("1a 2", "1|a| 2", "1|a| |2", "1|a| |2", "1|a| |2");
  check("Ⅷ½²", "Ⅷ½²", "Ⅷ|½|²", "Ⅷ½²", "Ⅷ|½|²");
}

TEST_CASE("white space") {
  check_all(" ", " ");
  check_all("   ", "   ");
  check_all("  a", " | a");
  check("\ta", "\t|a", "\t|a", "\ta", "\ta");
  check_all("a\nb", "a|\n|b");
  check("a \n b", "a| \n| b", "a| \n| b", "a| \n| b", "a| \n| b");
  check("a\n\n\n  b", "a|\n\n\n | b", "a|\n\n\n | b", "a|\n\n\n| | b", "a|\n\n\n| | b");
  check("  1", " | 1", "  |1", " | |1", " | |1");
  check("\u3000\u3000x", "\u3000|\u3000|x", "\u3000|\u3000|x", "\u3000|\u3000x", "\u3000|\u3000x");
}

TEST_CASE("symbols") {
  check_all("a!? b", "a|!?| b");
  check_all("a ... b", "a| ...| b");
  check("a;\n\nb", "a|;|\n|\n|b", "a|;|\n|\n|b", "a|;\n\n|b", "a|;\n\n|b");
  check_all("👍🏽\u200d 😀", "👍🏽\u200d| 😀");
  check("e\u0301x", "e|\u0301|x", "e|\u0301|x", "e|\u0301x", "e|\u0301x");
}

TEST_CASE("bytes that are not UTF-8 are symbols") {
  check("a\xFF\xE4 b\xC3", "a|\xFF\xE4| b|\xC3", "a|\xFF\xE4| b|\xC3", "a|\xFF\xE4| b|\xC3", "a|\xFF\xE4| b|\xC3");
}
