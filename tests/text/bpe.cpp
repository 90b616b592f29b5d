// SPDX-License-Identifier: MIT
// bpe.cpp: tests of text/tokenizer/bpe.hpp.
#include <doctest/doctest.h>

#include <cke/text/tokenizer/bpe.hpp>
#include <random>

#include "fixtures.hpp"

using namespace cke;
using namespace cke::text;
using fixtures::add_merge;

namespace {

std::vector<u32> encode(const vocabulary& v, std::string_view word) {
  merger scratch;
  std::vector<u32> ids;
  bpe_model(v).encode(word, scratch, ids);
  return ids;
}

u32 id(const vocabulary& v, std::string_view text) {
  return static_cast<u32>(std::ranges::find(v.tokens, text) - v.tokens.begin());
}

// The definition: join the pair of the lowest rank, the leftmost of them, until there is none.
std::vector<u32> encode_slowly(const vocabulary& v, std::string_view word) {
  std::vector<u32> ids;
  for (const char c : word) ids.push_back(static_cast<u8>(c));
  for (;;) {
    std::size_t best_rank = v.merges.size(), best = 0;
    for (std::size_t i = 1; i < ids.size(); ++i)
      for (std::size_t r = 0; r < best_rank; ++r)
        if (v.merges[r].left == ids[i - 1] && v.merges[r].right == ids[i]) best_rank = r, best = i;
    if (best_rank == v.merges.size()) return ids;
    ids[best - 1] = v.merges[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

}  // namespace

TEST_CASE("bpe: merges go by rank, then from the left") {
  vocabulary v = fixtures::bytes_only();
  add_merge(v, "b", "c");
  add_merge(v, "a", "b");
  add_merge(v, "a", "a");
  CHECK(encode(v, "abc") == std::vector<u32>{'a', id(v, "bc")});
  CHECK(encode(v, "aaa") == std::vector<u32>{id(v, "aa"), 'a'});
  CHECK(encode(v, "abab") == std::vector<u32>{id(v, "ab"), id(v, "ab")});
  CHECK(encode(v, "").empty());
}

TEST_CASE("bpe: equals the definition on random merges and words") {
  std::mt19937 random(3);
  const auto pick = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 20; ++round) {
    vocabulary v = fixtures::bytes_only();
    std::vector<std::string> parts = {"a", "b", "c", "d"};
    for (int i = 0; i < 30; ++i) {
      const std::string left = parts[pick(parts.size())], right = parts[pick(parts.size())];
      if (std::ranges::find(parts, left + right) != parts.end()) continue;
      add_merge(v, left, right);
      parts.push_back(left + right);
    }
    for (int i = 0; i < 40; ++i) {
      std::string word(pick(60), ' ');
      for (char& c : word) c = "abcd"[pick(4)];
      CAPTURE(word);
      CHECK(encode(v, word) == encode_slowly(v, word));
    }
  }
}

TEST_CASE("bpe: ignore_merges takes a word that is a token as it is") {
  vocabulary v = fixtures::bytes_only();
  add_merge(v, "a", "b");
  const u32 whole = fixtures::add(v, "abc");
  CHECK(encode(v, "abc") == std::vector<u32>{id(v, "ab"), 'c'});
  v.ignore_merges = true;
  CHECK(encode(v, "abc") == std::vector<u32>{whole});
  CHECK(encode(v, "abcd") == std::vector<u32>{id(v, "ab"), 'c', 'd'});
}

TEST_CASE("bpe: neither merges nor ignore_merges make a control token") {
  vocabulary v = fixtures::bytes_only();
  add_merge(v, "<", "x");
  add_merge(v, "<x", ">");
  v.ignore_merges = true;
  CHECK(encode(v, "<x>") == std::vector<u32>{id(v, "<x>")});
  v.types[id(v, "<x>")] = token_type::control;
  CHECK(encode(v, "<x>") == std::vector<u32>{id(v, "<x"), '>'});
}

TEST_CASE("bpe: a byte without a token is the unknown token, or nothing") {
  vocabulary v = fixtures::bytes_only();
  add_merge(v, "a", "b");
  v.types['x'] = token_type::unused;
  CHECK(encode(v, "axxbx") == std::vector<u32>{id(v, "ab")});
  v.unknown = fixtures::add(v, "<unk>", token_type::unknown);
  CHECK(encode(v, "axxbx") == std::vector<u32>{'a', v.unknown, v.unknown, 'b', v.unknown});
  v.fuse_unknown = true;
  CHECK(encode(v, "axxbx") == std::vector<u32>{'a', v.unknown, 'b', v.unknown});
}

TEST_CASE("bpe: a token of many kilobytes and a word of a megabyte") {
  vocabulary v = fixtures::bytes_only();
  std::string doubled = "a";
  for (int i = 0; i < 16; ++i, doubled += doubled) add_merge(v, doubled, doubled);
  const auto ids = encode(v, std::string(1'000'001, 'a'));
  CHECK(ids.size() == 15 + 4);  // 1,000,001 = 15 * 2^16 + 2^14 + 2^9 + 2^6 + 1
  CHECK(v.tokens[ids[0]].size() == 65536);
}
