// SPDX-License-Identifier: MIT
// grammar.cpp: the cost per token of constraining an answer to a JSON Schema.
#include <benchmark/benchmark.h>

#include <unordered_map>

#include <cke/io/json_schema.hpp>
#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/grammar/grammar_filter.hpp>
#include <cke/text/sampling/random.hpp>

using namespace cke;
using namespace cke::io;
using namespace cke::text;

namespace {

// All bytes, and words of two to ten letters with or without a leading space, as in a large vocabulary.
vocabulary words(u32 size) {
  vocabulary v;
  for (u32 byte = 0; byte < 256; ++byte) v.tokens.emplace_back(1, static_cast<char>(byte));
  static constexpr std::string_view letters = "eetaoinshrdlucmfwypvbgkqjxz", marks = "\"{}[]:, \n.-_0123456789";
  u64 drawn = 0;
  const auto pick = [&](std::string_view of) {
    return of[static_cast<std::size_t>(uniform(1, drawn++) * static_cast<double>(of.size()))];
  };
  while (v.tokens.size() < size) {
    std::string text;
    const double kind = uniform(1, drawn++);
    if (kind < 0.5) text = " ";
    for (u32 n = 2 + static_cast<u32>(uniform(1, drawn++) * (kind < 0.9 ? 9 : 3)); n > 0; --n)
      text += pick(kind < 0.9 ? letters : marks);
    v.tokens.push_back(std::move(text));
  }
  v.types.resize(v.tokens.size(), token_type::normal);
  return v;
}

struct setting {
  tokenizer tokens{words(151'643)};
  std::shared_ptr<const token_trie> trie = std::make_shared<token_trie>(tokens);
  std::shared_ptr<const grammar> form;
  std::vector<u32> document;  // the longest token at each position
  setting() {
    const auto schema = nlohmann::ordered_json::parse(
        R"({"type": "object", "required": ["name", "age", "tags", "address"], "properties": {
        "name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}},
        "address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}, "required": ["street", "city"]}}})");
    form = std::make_shared<grammar>(parse_gbnf(json_schema_gbnf(schema, "schema"), "grammar"));
    std::unordered_map<std::string_view, u32> ids;
    for (u32 id = 0; id < tokens.vocab_size(); ++id) ids.emplace(tokens.piece(id), id);
    const std::string text =
        R"({"name": "the countess of lovelace", "age": 36, "tags": ["mathematics", "poetry", "long walks in the park"], "address": {"street": "saint james", "city": "london"}})";
    for (std::size_t at = 0; at < text.size(); at += tokens.piece(document.back()).size())
      for (std::size_t n = std::min<std::size_t>(11, text.size() - at); n > 0; --n)
        if (const auto found = ids.find(std::string_view(text).substr(at, n)); found != ids.end()) {
          document.push_back(found->second);
          break;
        }
  }
};

// warm: an earlier answer has filled the grammar's caches.
void follow(benchmark::State& state, bool warm) {
  static const setting s;
  const std::vector<float> logits(s.tokens.vocab_size(), 1.f);
  auto shared = std::make_shared<token_grammar>(s.form, s.trie);
  const auto run = [&] {
    grammar_filter filter(shared, s.tokens, {});
    for (const u32 id : s.document) {
      benchmark::DoNotOptimize(filter.only(logits)[id]);
      filter.accept(id);
    }
    if (!filter.complete()) state.SkipWithError("the document does not fit");
  };
  run();
  for (auto _ : state) {
    if (!warm) shared = std::make_shared<token_grammar>(s.form, s.trie);
    run();
  }
  state.counters["tokens"] = static_cast<double>(s.document.size());
  state.counters["a token"] =
      benchmark::Counter(static_cast<double>(s.document.size()),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
// Near the end of an answer: finds the tokens after which the remaining ones suffice.
void hurry(benchmark::State& state) {
  static const setting s;
  const std::vector<float> logits(s.tokens.vocab_size(), 1.f);
  grammar_filter filter(std::make_shared<token_grammar>(s.form, s.trie), s.tokens, {});
  for (std::size_t i = 0; i < 12; ++i) filter.accept(s.document[i]);  // within the first text
  u32 left = 0;
  while (filter.only_in_time(logits, left).empty()) ++left;
  ++left;  // allows one more word of the text
  for (auto _ : state) benchmark::DoNotOptimize(filter.only_in_time(logits, left).size());
  state.counters["left"] = left;
}
BENCHMARK_CAPTURE(follow, first document, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(follow, later documents, true)->Unit(benchmark::kMillisecond);
BENCHMARK(hurry)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
