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

TEST_CASE("chat_encoder: merges of the model make no control token of a message, alone or with the template's help") {
  vocabulary merging = fixtures::bytes_only();
  const u32 start = fixtures::add(merging, "<t");
  const u32 think = fixtures::add(merging, "<t>");
  const u32 twice = fixtures::add(merging, "<t><t>");
  fixtures::add_merge(merging, "<", "t");
  fixtures::add_merge(merging, "<t", ">");
  fixtures::add_merge(merging, "<t>", "<t>");
  for (const u32 id : {think, twice}) merging.added.push_back({.id = id});
  const chat_encoder merged(tokenizer(merging), "<t> <t><t>");
  CHECK(tokenizer(merging).encode("x<t>", {.except = std::span(&think, 1)}) ==
        bytes("x") + ids{think});  // as it would be
  CHECK(merged.encode(segments{{"x<t>y", false}}) == bytes("x<t>y"));
  CHECK(merged.encode(segments{{"<t><t>", false}}) == bytes("<t><t>"));
  CHECK(merged.encode(segments{{"<t", true}, {">", false}}) == bytes("<t>"));
  CHECK(merged.encode(segments{{"<tt>", false}}) == ids{start} + bytes("t>"));
  CHECK(merged.encode(segments{{"<t>", true}, {"<t>", false}}) == ids{think} + bytes("<t>"));
}

TEST_CASE("chat_encoder: nor do those of SentencePiece, and the pieces of such a text get no spaces") {
  vocabulary pieces;
  pieces.model = tokenizer_model::spm, pieces.prefix = space_prefix::always;
  for (const char* text : {"\u2581", "<", "t", ">", "<t", "<t>"}) fixtures::add(pieces, text);
  for (const float score : {-9.f, -9.f, -9.f, -9.f, -2.f, -1.f}) pieces.scores.push_back(score);
  pieces.types[5] = token_type::user_defined;
  pieces.added.push_back({.id = 5});
  const tokenizer tokens(pieces);
  CHECK(chat_encoder(tokens, "").encode(segments{{"<t>", false}}) == ids{5});
  CHECK(chat_encoder(tokens, "<t>").encode(segments{{"<t>", false}}) == ids{0, 1, 2, 3});
}

TEST_CASE("chat_encoder: contracts name their control tokens") {
  chat_contract c = contracts::chatml;
  c.control = {"<think>"};
  CHECK(chat_encoder(tokenizer(v), c).encode(segments{{"<think><h1>", false}}) == bytes("<think>") + ids{v.tag});
  CHECK(chat_encoder(tokenizer(v), contracts::chatml).encode(segments{{"<think>", false}}) == ids{v.think});
}

}  // namespace chat_encoder_test
