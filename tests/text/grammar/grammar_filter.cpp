// SPDX-License-Identifier: MIT
// grammar_filter.cpp: the tokens that a grammar allows, against each token's bytes.
#include <doctest/doctest.h>

#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/grammar/grammar_filter.hpp>
#include <cke/text/sampling/random.hpp>

using namespace cke;
using namespace cke::text;
namespace {

// Tokens of one to four bytes out of few, some of them twice, and special ones.
vocabulary random_vocabulary() {
  vocabulary v;
  u64 drawn = 0;
  const auto pick = [&](u32 n) { return static_cast<u32>(uniform(7, drawn++) * n); };
  static constexpr std::string_view letters = "{}[]\":,1ab\xC3\xA9 ";
  const auto add = [&](std::string text, token_type type) {
    v.tokens.push_back(std::move(text)), v.types.push_back(type);
  };
  add("<end>", token_type::control), add("<think>", token_type::control), add("</think>", token_type::control),
      add("", token_type::normal);
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

TEST_CASE_FIXTURE(fixture,
                  "grammar_filter: a text that can come to its end in so many tokens does, whatever is drawn") {
  const auto g = of(R"(root ::= "{" pair ("," pair)* "}"
pair ::= "\"" [a1\xE9]{1,3} "\":" ("[" root? "]" | "1a1a1a" | "\"" [ab]* "\""))");
  grammar_automaton bytes(std::make_shared<grammar>(parse_gbnf(R"(root ::= "{" pair ("," pair)* "}"
pair ::= "\"" [a1\xE9]{1,3} "\":" ("[" root? "]" | "1a1a1a" | "\"" [ab]* "\""))",
                                                               "g")));
  // The shortest text behind a state in the fewest tokens.
  const auto fewest = [&](grammar_automaton::state s) {
    std::string text;
    for (; bytes.to_end(s) > 0; s = bytes.next(s, bytes.to_end_by(s))) text += static_cast<char>(bytes.to_end_by(s));
    std::vector<u32> from(text.size() + 1, ~u32{0} - 1);
    from[text.size()] = 0;
    for (std::size_t at = text.size(); at-- > 0;)
      for (u32 id = 5; id < tokens.vocab_size(); ++id)
        if (const auto piece = tokens.piece(id); std::string_view(text).substr(at).starts_with(piece))
          from[at] = std::min(from[at], from[at + piece.size()] + 1);
    return from[0];
  };
  const u32 least = fewest(bytes.start());
  CHECK((least > 2 && least < bytes.to_end(bytes.start())));  // or nothing is under test
  u32 hurried = 0, late = 0, ended = 0;
  for (u64 walk = 0; walk < 200; ++walk) {
    grammar_filter f(g, tokens, {0});
    auto state = bytes.start();
    const u32 most = 1 + static_cast<u32>(walk) % 25;
    bool stopped = false;
    for (u32 left = most; !stopped && left-- > 0 && !f.complete();) {
      std::vector<u32> in_time, free = allowed(f);
      for (const u32 id : free) {
        auto after = state;
        for (const char c : tokens.piece(id)) after = bytes.next(after, static_cast<u8>(c));
        CHECK(f.in_time(id, left) == (id == 0 || fewest(after) <= left));
        if (f.in_time(id, left)) in_time.push_back(id);
      }
      const std::vector<float> logits(tokens.vocab_size(), 1.f);
      std::vector<u32> rest;
      for (u32 id = 0; const float v : f.only_in_time(logits, left)) {
        if (v == 1) rest.push_back(id);
        ++id;
      }
      CHECK(rest == in_time);
      hurried += !rest.empty() && rest != free, late += rest.empty();
      if (!rest.empty()) free = rest;
      const u32 id = free[static_cast<std::size_t>(uniform(walk, left) * static_cast<double>(free.size()))];
      if (id == 0) stopped = true;
      else f.accept(id);
      for (const char c : tokens.piece(id)) state = bytes.next(state, static_cast<u8>(c));
    }
    if (most >= least) CHECK((stopped || bytes.accepts(state)));
    ended += most >= least;
  }
  CHECK(ended > 100);
  CHECK(hurried > 300);
  CHECK(late > 3);
}

TEST_CASE_FIXTURE(fixture,
                  "grammar_filter: the end of a thought, the mark and all letters are part of the way; very long ways "
                  "are counted in bytes") {
  const auto in_time = [&](grammar_filter& f, u32 left) {
    const std::vector<float> logits(tokens.vocab_size() + 3, 1.f);
    return std::ranges::count(f.only_in_time(logits, left), 1.f);
  };
  const auto g = of("root ::= \"111\"");  // no token has two of them
  const u32 letter = *tokens.find("a"), all = tokens.vocab_size() + 3;
  grammar_filter thinks(g, tokens, {0}, {.think = 1, .end_think = 2, .in_thought = true});
  CHECK((thinks.in_time(letter, 4) && !thinks.in_time(letter, 3) && thinks.in_time(2, 3) && !thinks.in_time(2, 2)));
  CHECK((in_time(thinks, 3) == 1 && in_time(thinks, 2) == 0));
  thinks.accept(2);
  CHECK((in_time(thinks, 2) > 0 && in_time(thinks, 0) == 0));
  grammar_filter may_think(g, tokens, {0}, {.think = 1, .end_think = 2});
  CHECK((may_think.in_time(1, 4) && !may_think.in_time(1, 3)));
  CHECK(in_time(may_think, 4) == in_time(may_think, 3) + 1);
  grammar_filter marked(g, tokens, {0}, {.mark = 4});
  CHECK((marked.in_time(letter, 0) && marked.in_time(0, 0) && marked.in_time(4, 3) && !marked.in_time(4, 2)));
  CHECK(in_time(marked, 2) == all - 1);

  const auto far = of("root ::= \"b\"{8192} | \"1\"{8193}"), farther = of("root ::= \"b\"{8193}");
  CHECK((far->in_time(far->start(), 4096) && !far->in_time(far->start(), 4095)));  // "bb" is a token
  CHECK((farther->in_time(farther->start(), 8193) && !farther->in_time(farther->start(), 8192)));
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

TEST_CASE_FIXTURE(fixture,
                  "grammar_filter: special tokens are text only where they are shown; nothing left is an error") {
  grammar_filter f(of("root ::= \"<call>\""), tokens, {0});
  CHECK_THROWS_WITH_AS(allowed(f), "grammar: expected a token of the vocabulary that goes on, found none", Error);
  trie = std::make_shared<token_trie>(tokens, std::vector<u32>{4});
  grammar_filter shown(of("root ::= \"<call>\""), tokens, {0});
  CHECK(allowed(shown) == std::vector<u32>{4});
  shown.accept(4);
  CHECK(shown.complete());
}

TEST_CASE("grammar_filter: a state whose tokens cannot be found is an error each time") {
  vocabulary v;
  for (const std::string text : {"<end>", "a", "b", "1", "2", "e", "aaaaaaaaaaaaaaaa"})
    v.tokens.push_back(text), v.types.push_back(token_type::normal);
  const tokenizer tokens(v);
  token_grammar g(std::make_shared<grammar>(parse_gbnf("root ::= s | \"\"\ns ::= x s \"1\" | y s \"2\" | \"e\"\n"
                                                       "x ::= \"a\"\ny ::= \"a\"",
                                                       "g")),
                  std::make_shared<token_trie>(tokens));
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH_AS(g.allowed(g.start()), doctest::Contains("8192 ways"), Error);
}

TEST_CASE_FIXTURE(fixture,
                  "grammar_filter: what has been found is dropped when it is too much, and the answer goes on") {
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
