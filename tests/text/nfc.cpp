// SPDX-License-Identifier: MIT
// nfc.cpp: tests of text/tokenizer/nfc.hpp.
#include <cke/text/tokenizer/nfc.hpp>

#include <doctest/doctest.h>

#include <string>

#include "fixtures.hpp"

using namespace cke;
using namespace cke::text;

TEST_CASE("nfc: equals Python's unicodedata2 16") {
  u32 count = 0;
  for (fixtures::reader in(fixtures::content("nfc.pairs")); !in.done(); ++count) {
    const std::string text = in.text(), want = in.text();
    CHECK(nfc(text) == want);
    CHECK(nfc(want) == want);
  }
  CHECK(count == 305);
}

TEST_CASE("nfc: every syllable of Hangul comes from its letters") {
  for (u32 code = 0xAC00; code <= 0xD7A3; ++code) {
    const u32 s = code - 0xAC00;
    std::string letters, syllable;
    append_utf8(letters, 0x1100 + s / 588);
    append_utf8(letters, 0x1161 + s / 28 % 21);
    if (s % 28 != 0) append_utf8(letters, 0x11A7 + s % 28);
    append_utf8(syllable, code);
    if (nfc(letters) != syllable || nfc(syllable) != syllable) FAIL("U+" << std::hex << code);
  }
}

TEST_CASE("nfc: stray bytes keep their place and stop marks") {
  CHECK(nfc("e\xCC\x81\xFF\xCC\x81\xCC") == "\xC3\xA9\xFF\xCC\x81\xCC");
  CHECK(nfc("\xE4\xBD") == "\xE4\xBD");
  CHECK(nfc("") == "");
}

TEST_CASE("nfc: runs above U+0300 between other text, and the letter before each") {
  const std::string plain = "price: 5 \xC3\x97 3 ", composed = "caf\xC3\xA9", apart = "cafe\xCC\x81";
  CHECK(nfc(plain + apart) == plain + composed);
  CHECK(nfc(apart + plain + apart + " \xE4\xBD\xA0" + apart) ==
        composed + plain + composed + " \xE4\xBD\xA0" + composed);
  CHECK(nfc("\xCC\x81"
            "e\xCC\x81") == "\xCC\x81\xC3\xA9");
}
