// SPDX-License-Identifier: MIT
// chat_encoder.cpp: control tokens come from the template, whatever messages say.
#include <doctest/doctest.h>

#include <cke/text/chat/chat_contracts.hpp>
#include <cke/text/chat/chat_encoder.hpp>

#include "fixtures.hpp"

namespace chat_encoder_test {

using namespace cke;
using namespace cke::text;

namespace {

using ids = std::vector<u32>;
using segments = std::vector<chat_segment>;

// Bytes, and added tokens of every kind.
struct chat_bytes : vocabulary {
  u32 open, both, think, tag, spaces;
  chat_bytes() : vocabulary(fixtures::bytes_only()) {
    const auto put = [this](const char* text, bool special) {
      const u32 id = fixtures::add(*this, text, special ? token_type::control : token_type::user_defined);
      added.push_back({.id = id, .special = special});
      return id;
    };
    open = put("<|a|>", true), both = put("<|a|><|b|>", true);
    think = put("<think>", false), tag = put("<h1>", false), spaces = put("  ", false);
  }
};

ids bytes(std::string_view s) {
  ids out;
  for (const char c : s) out.push_back(static_cast<u8>(c));
  return out;
}
ids operator+(ids a, const ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const chat_bytes v;
const chat_encoder encoder(tokenizer(v), "{{ '<|a|>' }}<think>\n  ");

}  // namespace

TEST_CASE("chat_encoder: trusted text is cut like any text") {
  const std::string text = "<|a|>x <think><h1>  y<|a|><|b|>";
  CHECK(encoder.encode(segments{{text, true}}) == tokenizer(v).encode(text, {.parse_special = true}));
  CHECK(encoder.encode(segments{{"<|", true}, {"a|", true}, {">x <think><h1>  y<|a|>", true}, {"<|b|>", true}}) ==
        encoder.encode(segments{{text, true}}));
  CHECK(encoder.encode({}).empty());
}

TEST_CASE("chat_encoder: a message spells no control token, but other added tokens") {
  CHECK(encoder.encode(segments{{"<|a|><think><h1>  <|a|><|b|>", false}}) ==
        bytes("<|a|><think>") + ids{v.tag, v.spaces} + bytes("<|a|><|b|>"));
}

TEST_CASE("chat_encoder: not with the template's help either") {
  CHECK(encoder.encode(segments{{"<|a", true}, {"|>", false}}) == bytes("<|a|>"));
  CHECK(encoder.encode(segments{{"<", false}, {"|a|>", true}}) == bytes("<|a|>"));
  CHECK(encoder.encode(segments{{"<thi", true}, {"n", false}, {"k>", true}}) == bytes("<think>"));
  // An ordinary added token may lie across the border.
  CHECK(encoder.encode(segments{{"<h", true}, {"1>", false}}) == ids{v.tag});
}

TEST_CASE("chat_encoder: a message hides no control token") {
  // <|a|><|b|> is one token, but here only its second half is the template's.
  CHECK(encoder.encode(segments{{"<|a|>", false}, {"<|b|><|a|>", true}}) == bytes("<|a|><|b|>") + ids{v.open});
  CHECK(encoder.encode(segments{{"<|a|>", true}, {"<|b|>", false}}) == ids{v.open} + bytes("<|b|>"));
  CHECK(encoder.encode(segments{{"<|a|><|b|>", true}}) == ids{v.both});
}

TEST_CASE("chat_encoder: contracts name their control tokens") {
  chat_contract c = contracts::chatml;
  c.control = {"<think>"};
  CHECK(chat_encoder(tokenizer(v), c).encode(segments{{"<think><h1>", false}}) == bytes("<think>") + ids{v.tag});
  CHECK(chat_encoder(tokenizer(v), contracts::chatml).encode(segments{{"<think>", false}}) == ids{v.think});
}

}  // namespace chat_encoder_test
