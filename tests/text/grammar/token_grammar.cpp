// SPDX-License-Identifier: MIT
// token_grammar.cpp: the bytes that a step takes, and that what it finds does not depend on what is cached.
#include <cke/text/grammar/token_grammar.hpp>

#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>
#include <unordered_set>

#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/grammar/grammar_filter.hpp>

// Counts the bytes that this program holds. Not inlined, or g++ 12 calls new and free a mismatch.
static std::size_t held_bytes = 0, most_held_bytes = 0;
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const p = std::malloc(size);
  if (!p) throw std::bad_alloc();
  held_bytes += ::malloc_usable_size(p);
  most_held_bytes = std::max(most_held_bytes, held_bytes);
  return p;
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  held_bytes -= ::malloc_usable_size(p);
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { ::operator delete(p); }

namespace token_grammar_test {

using namespace cke;
using namespace cke::text;
namespace {

constexpr u32 letters = 16;

// What closes the letters: backwards, each by the other one.
std::string mirror(std::string_view word) {
  std::string out(word.rbegin(), word.rend());
  for (char& c : out) c = c == 'a' ? 'b' : 'a';
  return out;
}
// The only text that completes a token at the beginning; none if the token is not the beginning of a text.
std::optional<std::string> completion(std::string_view piece) {
  const std::size_t dot = piece.find('.');
  const std::string rest = mirror(piece.substr(0, dot));
  if (dot == piece.npos) return "." + rest;
  const std::string_view closed = piece.substr(dot + 1);
  if (!rest.starts_with(closed)) return {};
  return rest.substr(closed.size());
}

// Every word of 16 letters, and a third of what completes them.
vocabulary words() {
  vocabulary v;
  const auto add = [&](std::string text, token_type type) {
    v.tokens.push_back(std::move(text)), v.types.push_back(type);
  };
  add("<end>", token_type::control);
  for (const char* text : {"a", "b", "."}) add(text, token_type::normal);
  for (u32 bits = 0; bits < 1u << letters; ++bits) {
    std::string word;
    for (u32 i = 0; i < letters; ++i) word += (bits >> i & 1) != 0 ? 'b' : 'a';
    if (bits % 3 == 0) add("." + mirror(word), token_type::normal);
    add(std::move(word), token_type::normal);
  }
  return v;
}

// Every beginning of a text is in a state of its own: 131,071 of them within the words.
struct mirrored {
  tokenizer tokens{words()};
  std::shared_ptr<const token_trie> trie = std::make_shared<const token_trie>(tokens);
  std::unordered_set<std::string> known;
  mirrored() {
    for (u32 id = 1; id < tokens.vocab_size(); ++id) known.emplace(tokens.piece(id));
  }
  std::shared_ptr<token_grammar> made() const {
    const char* const text = "root ::= \"a\" root \"b\" | \"b\" root \"a\" | \".\"";
    return std::make_shared<token_grammar>(std::make_shared<const grammar>(parse_gbnf(text, "g")), trie);
  }
};

}  // namespace

TEST_CASE("token_grammar: a step takes so many bytes at most, whatever the grammar, and finds the same tokens") {
  const mirrored m;
  for (const bool hurried : {false, true}) {
    CAPTURE(hurried);
    const auto g = m.made();
    const std::size_t before = most_held_bytes = held_bytes;
    std::vector<u64> mask;
    if (hurried) {
      mask = g->allowed_in_time(g->start(), 1);
    } else {
      const std::span<const u64> all = g->allowed(g->start());
      mask.assign(all.begin(), all.end());
    }
    const std::size_t taken = most_held_bytes - before;
    CHECK(taken < token_grammar::max_bytes + 3 * token_grammar::max_spare_bytes);
    CHECK(taken > token_grammar::max_bytes);  // or nothing is under test
    CHECK(g->full());
    u32 found = 0;
    for (u32 id = 1; id < m.tokens.vocab_size(); ++id) {
      const std::string piece(m.tokens.piece(id));
      const std::optional<std::string> rest = completion(piece);
      const bool want = rest.has_value() && (!hurried || rest->size() <= 1 || m.known.contains(*rest));
      if (((mask[id / 64] >> id % 64 & 1) != 0) != want) FAIL_CHECK(piece);
      found += want;
    }
    CHECK(found > 20'000);
    CHECK(found < m.tokens.vocab_size() - 20'000);
  }
}

TEST_CASE("token_grammar: full caches change neither what is in time nor how an answer goes on") {
  const mirrored m;
  const auto g = m.made();
  g->allowed(g->start());
  REQUIRE(g->full());
  u32 at_once = 0, later = 0;
  for (u32 id = 4; id < m.tokens.vocab_size(); id += 997) {
    const std::string piece(m.tokens.piece(id));
    CAPTURE(piece);
    if (piece.starts_with('.')) continue;
    const bool one = m.known.contains(*completion(piece));
    (one ? at_once : later) += 1;
    for (const u32 left : {0u, 1u, 2u}) {
      const bool want = left >= (one ? 1u : 2u);  // the point and a word
      CHECK(g->in_time(g->start(), piece, left) == want);
      CHECK(g->in_time(g->next(g->start(), piece), left) == want);
    }
  }
  CHECK(at_once > 5);
  CHECK(later > 5);

  const u32 a = *m.tokens.find("a"), b = *m.tokens.find("b"), point = *m.tokens.find(".");
  grammar_filter f(g, m.tokens, {0});
  const std::vector<float> logits(m.tokens.vocab_size(), 1.f);
  f.accept(a);
  CHECK(std::ranges::count(f.only(logits), 1.f) == (1 << letters) + 3);
  CHECK((f.in_time(point, 1) && !f.in_time(point, 0)));
  f.accept(point);
  CHECK(std::ranges::count(f.only(logits), 1.f) == 1);
  CHECK(f.only(logits)[b] == 1.f);
  f.accept(b);
  CHECK(f.complete());
}

TEST_CASE("token_grammar: what a text still owes goes on alone, up to a limit") {
  const mirrored m;
  const auto g = m.made();
  const token_grammar::state deep = g->next(g->start(), std::string(20'000, 'a'));
  token_grammar::state kept[]{deep, g->start()};
  token_grammar rest(*g, kept);
  CHECK(rest.start() == kept[0]);
  CHECK(rest.complete(rest.next(kept[0], "." + std::string(20'000, 'b'))));
  CHECK(!rest.complete(rest.next(kept[0], "." + std::string(19'999, 'b'))));
  CHECK(rest.complete(rest.next(kept[1], "ab.ab")));
  kept[0] = deep, kept[1] = g->start();
  CHECK_THROWS_WITH_AS(token_grammar(*g, kept, 2 << 20),
                       "grammar: expected a simpler one, found one that needs more than 1 MiB for a place in a text",
                       Error);
}

}  // namespace token_grammar_test
