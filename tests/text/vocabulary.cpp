// SPDX-License-Identifier: MIT
// vocabulary.cpp: tests of text/tokenizer/vocabulary.hpp.
#include <doctest/doctest.h>

#include <cke/text/tokenizer/vocabulary.hpp>
#include <limits>

#include "fixtures.hpp"

using namespace cke;
using namespace cke::text;
using fixtures::add;

static_assert(byte_token_value("<0x0A>") == 10 && byte_token_value("<0xFF>") == 255);
static_assert(byte_token_value("<0xff>") == -1 && byte_token_value("<0x0A") == -1 && byte_token_value("<0x0AB>") == -1);

namespace {

vocabulary good() {
  vocabulary v;
  const u32 a = add(v, "a"), b = add(v, "b"), ab = add(v, "ab");
  v.merges = {{a, b, ab}};
  v.bos = v.eos = v.unknown = v.pad = add(v, "<x>", token_type::control);
  v.added = {{v.bos, true}};
  return v;
}

template <class Change> std::string message(Change&& change) {
  vocabulary v = good();
  change(v);
  return fixtures::error_of([&] { validate(v, "f"); });
}

}  // namespace

TEST_CASE("vocabulary: a consistent one passes") {
  CHECK(message([](vocabulary&) {}) == "");
  CHECK(fixtures::error_of([] { validate(vocabulary{}, "f"); }) == "");
}

TEST_CASE("vocabulary: each inconsistency is named") {
  CHECK(message([](auto& v) { v.types.pop_back(); }) == "f: token types: expected 4, found 3");
  CHECK(message([](auto& v) { v.scores = {1}; }) == "f: token scores: expected 4, found 1");
  CHECK(message([](auto& v) { v.merges.clear(), v.model = tokenizer_model::spm; }) ==
        "f: token scores: expected 4, found 0");
  CHECK(message([](auto& v) { v.scores = {1, 2, std::numeric_limits<float>::quiet_NaN(), 4}; }) ==
        "f: score of token 2: expected a finite number, found nan");
  CHECK(message([](auto& v) { v.types[1] = token_type::byte; }) ==
        "f: byte token 1: expected the form <0x0A>, found b");
  CHECK(message([](auto& v) { v.bos = 4; }) == "f: begin-of-text token: expected an id below 4, found 4");
  CHECK(message([](auto& v) { v.eos = 4; }) == "f: end-of-text token: expected an id below 4, found 4");
  CHECK(message([](auto& v) { v.unknown = 5; }) == "f: unknown token: expected an id below 4, found 5");
  CHECK(message([](auto& v) { v.pad = 6; }) == "f: padding token: expected an id below 4, found 6");
  CHECK(message([](auto& v) { v.bos = no_token; }) == "");
  CHECK(message([](auto& v) { v.bos = no_token, v.add_bos = true; }) ==
        "f: begin-of-text token: expected an id below 4, found none");
  CHECK(message([](auto& v) { v.added[0].id = 9; }) == "f: added token: expected an id below 4, found 9");
  const std::string rule = "f: merge 0: expected two tokens and the token of their joined text, found ";
  CHECK(message([](auto& v) { v.merges[0].left = 4; }) == rule + "4 + 1 = 2");
  CHECK(message([](auto& v) { v.merges[0].right = 4; }) == rule + "0 + 4 = 2");
  CHECK(message([](auto& v) { v.merges[0].result = 4; }) == rule + "0 + 1 = 4");
  CHECK(message([](auto& v) { v.merges[0] = {1, 0, 2}; }) == rule + "1 + 0 = 2");
}
