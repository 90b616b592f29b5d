// SPDX-License-Identifier: MIT
// detokenizer.cpp: tests of text/tokenizer/detokenizer.hpp.
#include <doctest/doctest.h>

#include <cke/text/tokenizer/detokenizer.hpp>
#include <random>

#include "fixtures.hpp"

using namespace cke;
using namespace cke::text;

namespace {

std::string stream(std::string_view bytes, std::size_t part) {
  utf8_stream s;
  std::string out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(part, bytes.size()))) {
    const std::string_view text = s.push(bytes.substr(0, part));
    for (std::size_t at = 0; at < text.size();) {
      const utf8_step step = utf8_next(text.substr(at));
      REQUIRE(step.state == utf8_state::valid);
      at += step.size;
    }
    out += text;
  }
  return out += s.finish();
}

}  // namespace

TEST_CASE("utf8 stream: characters come out whole") {
  utf8_stream s;
  CHECK(s.push("a\xF0\x9F") == "a");
  CHECK(s.push("\x98") == "");
  CHECK(s.push("\x80z\xC3") == "😀z");
  CHECK(s.finish() == "\uFFFD");
  CHECK(s.finish() == "");
  CHECK(s.push("b") == "b");
}

TEST_CASE("utf8 stream: what nothing completes is one U+FFFD for each maximal subpart, at once") {
  utf8_stream s;
  CHECK(s.push("\xE4\xBD") == "");
  CHECK(s.push("x") == "\uFFFDx");
  CHECK(s.push("\xFF\x80") == "\uFFFD\uFFFD");
  CHECK(s.push("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");
}

TEST_CASE("utf8 stream: how the bytes are cut does not matter") {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    std::string bytes;
    for (auto n = random() % 30; n > 0; --n) {
      if (random() % 3 == 0) bytes += static_cast<char>(random());
      else append_utf8(bytes, static_cast<u32>(random() % 0x30000));
    }
    const std::string whole = stream(bytes, 1000);
    for (const std::size_t part : {1u, 2u, 3u, 5u}) CHECK(stream(bytes, part) == whole);
  }
}

TEST_CASE("detokenizer: special tokens are left out, padding stands for nothing") {
  vocabulary v = fixtures::bytes_only();
  const u32 end = fixtures::add(v, "<e>", token_type::control);
  const tokenizer t(v);
  detokenizer d(t);
  CHECK(d.push('a') == "a");
  CHECK(d.push(end) == "");
  CHECK(d.push(0xC3) == "");
  CHECK(d.push(end) == "");
  CHECK(d.push(1'000'000) == "");
  CHECK(d.push(0xA9) == "é");
  CHECK(detokenizer(t, {.skip_special = false}).push(end) == "<e>");
}

TEST_CASE("detokenizer: the space before a text goes, the one inside it stays") {
  vocabulary v;
  v.model = tokenizer_model::spm;
  v.prefix = space_prefix::always;
  v.strip_prefix = true;
  const u32 word = fixtures::add(v, "▁a"), begin = fixtures::add(v, "<s>", token_type::control);
  v.scores = {0, 0};
  const tokenizer t(v);
  detokenizer d(t);
  CHECK(d.push(begin) == "");
  CHECK(d.push(word) == "a");
  CHECK(d.push(word) == " a");
  detokenizer going_on(t, {.beginning = false});
  CHECK(going_on.push(word) == " a");
}
