// SPDX-License-Identifier: MIT
// grammar_filter.cpp: the tokens that a grammar allows, against each token's bytes.
#include <doctest/doctest.h>

#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/grammar/grammar_filter.hpp>
#include <cke/text/random.hpp>

using namespace cke;
namespace {

// Tokens of one to four bytes out of few, some of them twice, and special ones.
vocabulary random_vocabulary() {
  vocabulary v;
  u64 drawn = 0;
  const auto pick = [&](u32 n) { return static_cast<u32>(uniform(7, drawn++) * n); };
  static constexpr std::string_view letters = "{}[]\":,1ab\xC3\xA9 ";
  const auto add = [&](std::string text, token_type type) { v.tokens.push_back(std::move(text)), v.types.push_back(type); };
  add("<end>", token_type::control), add("<think>", token_type::control), add("</think>", token_type::control), add("", token_type::normal);
  add("<call>", token_type::control);
  for (u32 i = 0; i < 200; ++i) {
    std::string text;
    for (u32 n = 1 + pick(4); n > 0; --n) text += letters[pick(static_cast<u32>(letters.size()))];
    add(text, token_type::normal);
  }
  for (const char c : letters) add(std::string(1, c), token_type::normal);
  return v;
}

constexpr const char* document = R"gbnf(
root ::= value
value ::= "{" (pair ("," pair)*)? "}" | "[" (value ("," value)*)? "]" | "1"+ | string
pair ::= string ":" " "? value
string ::= "\"" [^"]* "\""
)gbnf";

struct fixture {
  tokenizer tokens{random_vocabulary()};
  std::shared_ptr<token_trie> trie = std::make_shared<token_trie>(tokens);
  std::shared_ptr<token_grammar> of(const char* text) const {
    return std::make_shared<token_grammar>(std::make_shared<grammar>(parse_gbnf(text, "g")), trie);
  }
  std::vector<u32> allowed(grammar_filter& f) const {
    const std::vector<float> logits(tokens.vocab_size() + 3, 1.f);  // the model has more rows
    std::vector<u32> ids;
    const auto left = f.only(logits);
    CHECK(left.size() == logits.size());
    for (u32 id = 0; id < left.size(); ++id)
      if (left[id] == 1) ids.push_back(id);
    return ids;
  }
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "grammar_filter: allows the tokens whose bytes go on, at every step of random walks") {
  const auto g = of(document);
  grammar_automaton reference(std::make_shared<grammar>(parse_gbnf(document, "g")));
  u32 ended = 0, steps = 0;
  for (u64 walk = 0; walk < 60; ++walk) {
    grammar_filter f(g, tokens, {0});
    auto state = reference.start();
    for (u64 step = 0; step < 40 && !f.complete(); ++step, ++steps) {
      std::vector<u32> want;
      for (u32 id = 0; id < tokens.vocab_size(); ++id) {
        auto s = state;
        for (const char c : tokens.piece(id)) s = reference.next(s, static_cast<u8>(c));
        if (id == 0 ? reference.accepts(state) : id > 4 && s != grammar_automaton::dead) want.push_back(id);
      }
      const auto got = allowed(f);
      REQUIRE(got == want);
      const u32 id = got[static_cast<std::size_t>(uniform(walk, step) * static_cast<double>(got.size()))];
      if (id == 0) break;
      f.accept(id);
      for (const char c : tokens.piece(id)) state = reference.next(state, static_cast<u8>(c));
    }
    ended += f.complete();
    CHECK(f.complete() == reference.complete(state));
  }
  CHECK(steps > 300);
  CHECK(ended > 5);
}

TEST_CASE_FIXTURE(fixture, "grammar_filter: thoughts are free, once, before the text") {
  const auto g = of("root ::= \"[\" \"]\"");
  const u32 open = *tokens.find("["), close = *tokens.find("]"), letter = *tokens.find("a");
  grammar_filter f(g, tokens, {0}, {.think = 1, .end_think = 2});
  auto ids = allowed(f);
  CHECK(std::ranges::find(ids, 1) != ids.end());
  CHECK(std::ranges::find(ids, letter) == ids.end());
  f.accept(1);
  CHECK(allowed(f).size() == tokens.vocab_size() + 2);  // all but the end
  f.accept(letter), f.accept(open), f.accept(2);
  ids = allowed(f);
  CHECK(std::ranges::find(ids, 1) == ids.end());
  CHECK(std::ranges::find(ids, open) != ids.end());
  f.accept(open);
  CHECK(!f.complete());
  f.accept(close);
  CHECK(f.complete());

  grammar_filter within(g, tokens, {0}, {.think = 1, .end_think = 2, .in_thought = true});
  CHECK(allowed(within).size() == tokens.vocab_size() + 2);
  within.accept(2);
  ids = allowed(within);
  CHECK(std::ranges::find(ids, 1u) == ids.end());
}

TEST_CASE_FIXTURE(fixture, "grammar_filter: behind a mark, and free before and after") {
  const auto g = of("root ::= \"[\" \"a\"? \"]\"");
  const u32 open = *tokens.find("["), close = *tokens.find("]"), letter = *tokens.find("a"), mark = 4;
  grammar_filter f(g, tokens, {0}, {.mark = mark});
  for (u32 times = 0; times < 3; ++times) {
    CHECK(allowed(f).size() == tokens.vocab_size() + 3);
    f.accept(letter), f.accept(close), f.accept(mark);
    auto ids = allowed(f);
    CHECK(std::ranges::find(ids, open) != ids.end());
    CHECK(std::ranges::find(ids, letter) == ids.end());
    CHECK(std::ranges::find(ids, 0u) == ids.end());
    f.accept(open), f.accept(close);
    CHECK(!f.complete());
  }
}

TEST_CASE_FIXTURE(fixture, "grammar_filter: special tokens are text only where they are shown; nothing left is an error") {
  grammar_filter f(of("root ::= \"<call>\""), tokens, {0});
  CHECK_THROWS_WITH_AS(allowed(f), "grammar: expected a token of the vocabulary that goes on, found none", Error);
  trie = std::make_shared<token_trie>(tokens, std::vector<u32>{4});
  grammar_filter shown(of("root ::= \"<call>\""), tokens, {0});
  CHECK(allowed(shown) == std::vector<u32>{4});
  shown.accept(4);
  CHECK(shown.complete());
}

TEST_CASE_FIXTURE(fixture, "grammar_filter: what has been found is dropped when it is too much, and the answer goes on") {
  // Each state behind a letter is another one, with a mask of its own.
  const auto g = of("root ::= x\nx ::= \"a\" x \"b\" | \"b\"");
  const u32 a = *tokens.find("a"), b = *tokens.find("b");
  grammar_filter f(g, tokens, {0});
  for (u32 i = 0; i < 60000; ++i) f.accept(a);
  CHECK(g->full());  // and left
  for (u32 i = 0; i < 60000; ++i) f.accept(b);
  CHECK(!f.complete());
  f.accept(b);
  CHECK(f.complete());
}
