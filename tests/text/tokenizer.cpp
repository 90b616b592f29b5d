// SPDX-License-Identifier: MIT
// tokenizer.cpp: tests of text/tokenizer/tokenizer.hpp; whole tokenizers meet the reference in tests/io.
#include <doctest/doctest.h>

#include <cke/text/tokenizer/tokenizer.hpp>
#include <random>

#include "fixtures.hpp"

using namespace cke;
using namespace cke::text;
using fixtures::add;

namespace {

using ids = std::vector<u32>;

struct chat_vocabulary : vocabulary {
  u32 start, think, padding;
  chat_vocabulary() : vocabulary(fixtures::bytes_only()) {
    pre = pre_tokenizer::qwen2;
    start = add(*this, "<s>", token_type::control);
    think = add(*this, "<think>", token_type::user_defined);
    padding = add(*this, "[PAD]", token_type::unused);
    added = {{start, true}, {think}};
    bos = start;
    eos = 'E';
    add_bos = add_eos = true;
  }
};

vocabulary spm_with(space_prefix prefix) {
  vocabulary v;
  v.model = tokenizer_model::spm;
  v.prefix = prefix;
  v.strip_prefix = prefix != space_prefix::never;
  for (const char* text : {"▁", "a", "▁a", "▁▁"}) add(v, text);
  v.added = {{add(v, "<x>", token_type::user_defined)}};
  v.scores = {0, 0, -1, -2, 0};
  return v;
}

std::string spell(const tokenizer& t, std::string_view text) {
  std::string out;
  for (const u32 id : t.encode(text)) (out += out.empty() ? "" : "|") += t.vocabulary().tokens[id];
  return out;
}

}  // namespace

TEST_CASE("tokenizer: control tokens come from the caller, not from the text") {
  const chat_vocabulary v;
  const tokenizer t(v);
  CHECK(t.encode("<s>") == ids{'<', 's', '>'});
  CHECK(t.encode("<s>a", {.parse_special = true}) == ids{v.start, 'a'});
  CHECK(t.encode("a", {.add_special = true}) == ids{v.start, 'a', 'E'});
  CHECK(t.encode("", {.add_special = true}) == ids{v.start, 'E'});
  CHECK(t.encode("<think>") == ids{v.think});
  const ids plain{v.think};
  CHECK(t.encode("<think>", {.except = plain}) == ids{'<', 't', 'h', 'i', 'n', 'k', '>'});
  CHECK(t.encode("<s>", {.parse_special = true, .except = plain}) == ids{v.start});
  CHECK(t.encode("[PAD]").size() == 5);
}

TEST_CASE("tokenizer: pieces and decoding") {
  const chat_vocabulary v;
  const tokenizer t(v);
  CHECK(t.vocab_size() == 259);
  CHECK(t.piece('a') == "a");
  CHECK(t.piece(0xC3) == "\xC3");
  CHECK(t.piece(v.start) == "<s>");
  CHECK(t.longest_piece() == 7);
  CHECK(t.is_special(v.start));
  CHECK_FALSE(t.is_special(v.think));
  CHECK(t.find("<think>") == v.think);
  CHECK_FALSE(t.find("nothing"));
  const ids all = {v.start, 'h', v.think, 0xC3, 0xA9};
  CHECK(t.decode(all) == "<s>h<think>é");
  CHECK(t.decode(all, true) == "h<think>é");
  const std::string message = "token id: expected less than 259, found 259";
  CHECK(fixtures::error_of([&] { t.decode(ids{259}); }) == message);
  CHECK(fixtures::error_of([&] { t.piece(259); }) == message);
  CHECK(fixtures::error_of([&] { t.is_special(259); }) == message);
}

TEST_CASE("tokenizer: any bytes come back as they were") {
  chat_vocabulary v;
  fixtures::add_merge(v, "a", "b");
  fixtures::add_merge(v, "\xC3", "\xA9");
  std::mt19937 random(5);
  for (const pre_tokenizer kind :
       {pre_tokenizer::none, pre_tokenizer::gpt2, pre_tokenizer::smollm, pre_tokenizer::llama3, pre_tokenizer::qwen2}) {
    v.pre = kind;
    const tokenizer t(v);
    for (int i = 0; i < 300; ++i) {
      std::string text(random() % 50, ' ');
      const std::string_view often = "ab<s>\xC3\xA9\xE4\xBD '\r\n1";
      for (char& c : text) c = random() % 2 ? often[random() % often.size()] : static_cast<char>(random());
      CHECK(t.decode(t.encode(text)) == text);
      CHECK(t.decode(t.encode(text, {.parse_special = true})) == text);
    }
  }
}

TEST_CASE("tokenizer: form C where the vocabulary asks for it, between added tokens") {
  chat_vocabulary v;
  CHECK(tokenizer(v).encode("e\u0301") == ids{'e', 0xCC, 0x81});
  v.nfc = true;
  const tokenizer t(v);
  CHECK(t.encode("e\u0301") == ids{0xC3, 0xA9});
  CHECK(t.encode("<think>\u0301") == ids{v.think, 0xCC, 0x81});
  CHECK(t.encode("e\xFF\xCC\x81") == ids{'e', 0xFF, 0xCC, 0x81});
}

TEST_CASE("tokenizer: normalized added tokens are found after normalisation") {
  chat_vocabulary v;
  v.nfc = true;
  const u32 name = add(v, "é!", token_type::user_defined);
  v.added.push_back({.id = name, .normalized = true});
  CHECK(tokenizer(v).encode("xe\u0301!<think>é!") == ids{'x', name, v.think, name});
}

TEST_CASE("tokenizer: the space before the text") {
  struct {
    space_prefix prefix;
    const char *a, *spaced, *after;
  } const cases[] = {
      {space_prefix::never, "a", "▁a", "a|<x>|a"},
      {space_prefix::always, "▁a", "▁▁|a", "▁a|<x>|▁a"},
      {space_prefix::if_missing, "▁a", "▁a", "▁a|<x>|▁a"},
      {space_prefix::at_beginning, "▁a", "▁a", "▁a|<x>|a"},
  };
  for (const auto& c : cases) {
    vocabulary v = spm_with(c.prefix);
    v.scores = {0, 0, -2, -1, 0};  // "▁▁" before "▁a"
    const tokenizer t(v);
    CHECK(spell(t, "") == "");
    CHECK(spell(t, "a") == c.a);
    CHECK(spell(t, " a") == c.spaced);
    CHECK(spell(t, "a<x>a") == c.after);
    CHECK(spell(t, "<x>a") == std::string("<x>|") + (std::string(c.after).ends_with("▁a") ? "▁a" : "a"));
    CHECK(t.decode(t.encode("a")) == "a");
    CHECK(t.decode(t.encode("a a")) == "a a");
  }
  chat_vocabulary bytes;
  bytes.prefix = space_prefix::if_missing;
  CHECK(tokenizer(bytes).encode("a<think> b") == ids{' ', 'a', bytes.think, ' ', 'b'});
}

TEST_CASE("tokenizer: SentencePiece pieces are spelled with spaces and bytes") {
  vocabulary v = spm_with(space_prefix::always);
  const u32 newline = add(v, "<0x0A>", token_type::byte);
  v.scores.push_back(0);
  const tokenizer t(v);
  CHECK(t.piece(2) == " a");
  CHECK(t.piece(newline) == "\n");
  CHECK(t.decode(ids{2, newline, 2}) == "a\n a");
  CHECK(t.decode(ids{}) == "");
}

TEST_CASE("tokenizer: copies and moves stand alone") {
  auto original = std::make_unique<tokenizer>(chat_vocabulary());
  const tokenizer copy = *original;
  const tokenizer moved = std::move(*original);
  original.reset();
  CHECK(copy.encode("ab") == ids{'a', 'b'});
  CHECK(moved.encode("ab") == ids{'a', 'b'});
}

TEST_CASE("tokenizer: an inconsistent vocabulary is refused") {
  chat_vocabulary v;
  v.added[0].id = 1000;
  CHECK(fixtures::error_of([&] { tokenizer(v, "f"); }) == "f: added token: expected an id below 259, found 1000");
}
