// SPDX-License-Identifier: MIT
// byte_alphabet.cpp: tests of text/tokenizer/byte_alphabet.hpp.
#include <doctest/doctest.h>

#include <cke/text/tokenizer/byte_alphabet.hpp>
#include <string>

using namespace cke;
using namespace cke::text;

static_assert(byte_alphabet['A'] == 'A' && byte_alphabet[' '] == U'Ġ' && byte_alphabet['\n'] == U'Ċ');

TEST_CASE("byte alphabet: 256 characters that stand for the bytes") {
  std::string spelled, bytes;
  for (u32 b = 0; b < 256; ++b) {
    append_utf8(spelled, byte_alphabet[b]);
    bytes += static_cast<char>(b);
  }
  const auto read = [](std::string text) { return from_byte_alphabet(text) ? text : "refused"; };
  CHECK(read(spelled) == bytes);
  CHECK(read("") == "");
  CHECK(read("Ġhé") == " h\xE9");
}

TEST_CASE("byte alphabet: other characters stand for nothing") {
  for (const char* text : {" ", "a b", "▁", "\u0144", "\u00AD", "\xFF", "\n", "Ġ "}) {
    std::string same = text;
    CHECK_FALSE(from_byte_alphabet(same));
    CHECK(same == text);
  }
}
