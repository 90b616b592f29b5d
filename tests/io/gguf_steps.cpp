// SPDX-License-Identifier: MIT
// gguf_steps.cpp: tests of io/gguf_steps.hpp: WordPiece, unigram and words of characters in GGUF files.
#include <cke/io/gguf_steps.hpp>

#include <doctest/doctest.h>

#include <cke/io/gguf_writer.hpp>
#include <cke/io/pattern_splitter.hpp>
#include <cke/text/tokenizer/detokenizer.hpp>

#include "../text/fixtures.hpp"

namespace gguf_steps_test {

using namespace cke;
using namespace cke::io;
using namespace cke::text;

namespace {

using ids = std::vector<u32>;

// A vocabulary as a file, read again.
class writer {
 public:
  explicit writer(std::string_view model) { to_.add("tokenizer.ggml.model", model); }
  writer& tokens(const std::vector<std::string>& tokens, const std::vector<i32>& types = {}) {
    if (!types.empty()) array("tokenizer.ggml.token_type", types);
    return array("tokenizer.ggml.tokens", tokens);
  }
  template <class T> writer& add(const char* key, T value) { return to_.add(key, value), *this; }
  template <class T> writer& array(const char* key, const std::vector<T>& values) {
    to_.add_array(key, std::span<const T>(values));
    return *this;
  }
  tokenizer read() const {
    const std::string bytes = to_.bytes();
    return tokenizer(with_patterns(read_any_gguf_tokenizer(gguf::parse(std::as_bytes(std::span(bytes)), "f")), "f"),
                     "f");
  }

 private:
  gguf_writer to_;
};

}  // namespace

TEST_CASE("gguf steps: SentencePiece's unigram, ids and text") {
  const tokenizer t(with_patterns(read_any_gguf_tokenizer(gguf::read(fixtures::path("unigram.gguf"))), "f"), "f");
  u32 again = 0;
  for (const auto& [options, text, wanted] : fixtures::encodings("unigram.cases")) {
    CAPTURE(text);
    const bool same = t.encode(text, options) == wanted;
    CHECK(same);
    again += !options.add_special && t.decode(wanted) == text;
  }
  CHECK(again > 5);
}

TEST_CASE("gguf steps: WordPiece is BERT's, in the converter's spelling") {
  const std::vector<std::string> tokens{"[UNK]", "▁hello", "he", "llo", "▁he", "▁.", "[CLS]", "[SEP]", "▁好", "▁a"};
  writer w("bert");
  w.tokens(tokens, {3, 1, 1, 1, 1, 1, 3, 3, 1, 1})
      .add("tokenizer.ggml.cls_token_id", u32{6})
      .add("tokenizer.ggml.seperator_token_id", u32{7});
  w.add("tokenizer.ggml.unknown_token_id", u32{0});
  const tokenizer t = w.read();
  CHECK(t.encode("Hello  hellollo.\theLLOÉ") == ids{1, 1, 3, 5, 0});
  CHECK(t.encode("好a [CLS]", {.parse_special = true, .add_special = true}) == ids{6, 8, 9, 6, 7});
  CHECK(t.encode("[CLS]") == ids{0, 0, 0});
  CHECK(t.decode(ids{6, 1, 3, 5}, true) == "hellollo .");
  CHECK(t.encode(std::string(101, 'a')) == ids{0});
  detokenizer stream(t);
  std::string streamed;
  for (const u32 id : {1u, 3u, 9u}) streamed += stream.push(id);
  CHECK(streamed == "hellollo a");

  w.add("tokenizer.ggml.normalizer.lowercase", false);
  CHECK(w.read().encode("Hello hello") == ids{0, 1});
}

TEST_CASE("gguf steps: WordPiece without ids takes BERT's, where there are so many tokens") {
  const tokenizer few = writer("bert").tokens({"▁a"}).read();
  CHECK(few.vocabulary().bos == no_token);
  CHECK_FALSE(few.vocabulary().add_bos);
  CHECK(few.encode("a b", {.add_special = true}) == ids{0});
  CHECK(writer("bert").tokens(std::vector<std::string>(200, "x")).read().vocabulary().eos == 102);
}

TEST_CASE("gguf steps: unigram") {
  const std::vector<std::string> tokens{"<unk>", "▁", "a", "b", "ab", "▁a", "</s>"};
  const auto unigram = [&](const std::vector<float>& scores) {
    writer w("t5");
    w.tokens(tokens, {2, 1, 1, 1, 1, 1, 3}).array("tokenizer.ggml.scores", scores);
    return w.add("tokenizer.ggml.unknown_token_id", u32{0}).add("tokenizer.ggml.eos_token_id", u32{6});
  };
  const std::vector<float> scores{0, -3, -2, -2, -3.5f, -4, 0};
  CHECK(unigram(scores).read().encode("ab") == ids{5, 3});
  CHECK(unigram({0, -3, -2, -2, -3, -4, 0}).read().encode("ab") == ids{1, 4});  // as good, and found first
  CHECK(unigram(scores).read().encode("axyb  a", {.add_special = true}) == ids{5, 0, 3, 1, 5, 6});
  CHECK(unigram(scores).add("tokenizer.ggml.remove_extra_whitespaces", true).read().encode("  a   a ") == ids{5, 5});
  CHECK(unigram(scores).add("tokenizer.ggml.add_space_prefix", false).read().encode("a") == ids{2});
  CHECK(unigram(scores).add("tokenizer.ggml.add_eos_token", false).read().encode("a", {.add_special = true}) == ids{5});
  CHECK(fixtures::error_of([&] { unigram({0}).read(); }) == "f: tokenizer.ggml.scores: expected 7, found 1");
  CHECK(fixtures::error_of([&] { unigram({0, 0, 0, 0, 0, 0, INFINITY}).read(); }) ==
        "f: tokenizer.ggml.scores: expected finite numbers, found inf");
  CHECK(fixtures::error_of([&] {
          unigram(scores).add("tokenizer.ggml.precompiled_charsmap", u32{1}).read();
        }).starts_with("f: tokenizer.ggml.precompiled_charsmap: expected array of u8"));
}

TEST_CASE("gguf steps: words of characters; and other models as ever") {
  writer w("whitespace");
  w.tokens({"a", "b", "ab", "é"}).array("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  CHECK(w.read().encode(" ab\ta  bé?") == ids{2, 0, 1, 3});
  CHECK(w.add("tokenizer.ggml.normalizer.lowercase", true).read().encode("ABÉ") == ids{2, 3});
  CHECK(fixtures::error_of([] { writer("rwkv").tokens({"a"}).read(); }) ==
        "f: tokenizer.ggml.model: expected gpt2, llama or gemma4, found rwkv");
}

}  // namespace gguf_steps_test
