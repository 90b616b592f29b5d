// SPDX-License-Identifier: MIT
// token_grammar.hpp: computes which tokens of a vocabulary a grammar allows.
#pragma once

#include "automaton.hpp"
#include "token_trie.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// A grammar over the tokens of a vocabulary. The tokens allowed in a state are computed once, and cached for all
// answers that share this object. Not thread-safe.
class token_grammar {
 public:
  using state = grammar_automaton::state;
  static constexpr std::size_t max_bytes = 64 << 20;
  static constexpr u64 max_work = 100'000'000;  // per step: about a second

  token_grammar(std::shared_ptr<const grammar> g, std::shared_ptr<const token_trie> tokens)
      : tokens_(std::move(tokens)), bytes_(std::move(g)) {}
  // The grammar of what may follow `s` in `other`, with empty caches.
  token_grammar(const token_grammar& other, state s) : tokens_(other.tokens_), bytes_(other.bytes_, s) {}

  state start() const { return bytes_.start(); }
  bool accepts(state s) const { return bytes_.accepts(s); }
  bool complete(state s) const { return bytes_.complete(s); }
  state next(state s, std::string_view text) {
    for (const char c : text) s = bytes_.next(s, static_cast<u8>(c));
    return s;
  }
  // A bit for each token of the vocabulary. Throws Error{unsupported} if computing it takes too long for this grammar.
  std::span<const u64> allowed(state s) {
    if (const auto known = masks_.find(s); known != masks_.end()) return known->second;
    return masks_.emplace(s, find(s, [](state) { return true; })).first->second;
  }
  // Whether `left` tokens suffice to complete the text from `s`. The shortest completion in bytes decides: it takes at
  // most one token per byte, usually fewer. So the result does not depend on what other answers have cached.
  bool in_time(state s, u32 left) {
    const u32 bytes = bytes_.to_end(s);
    return bytes <= left || (bytes <= max_way && tokens_to_end(s) <= left);
  }
  // Like allowed(), but only tokens after which `left` more suffice; not cached.
  std::vector<u64> allowed_in_time(state s, u32 left) {
    return find(s, [&](state after) { return in_time(after, left); });
  }
  // Whether the caches exceed their limit.
  bool full() const { return bytes_.bytes() + masks_.size() * tokens_->vocab_size() / 8 > max_bytes; }

 private:
  static constexpr u32 max_way = 1 << 13;  // in bytes, each of which is a state
  static constexpr u32 unknown = ~u32{0};

  // The fewest tokens that spell the shortest completion of `s`; endless if none do.
  u32 tokens_to_end(state s) {
    std::vector<state> way;
    for (; known_to_end(s) == unknown; s = bytes_.next(s, bytes_.to_end_by(s))) way.push_back(s);
    u32 tokens = known_to_end(s);
    for (; !way.empty(); way.pop_back()) to_end_[way.back()] = tokens = tokens_by_first(way.back());
    return tokens;
  }
  u32 known_to_end(state s) {
    if (bytes_.to_end(s) == 0) return 0;
    if (s >= to_end_.size()) to_end_.resize(s + s / 2 + 1, unknown);
    return to_end_[s];
  }
  // The same, once it is known for all later states of that completion.
  u32 tokens_by_first(state s) {
    const auto nodes = tokens_->nodes();
    u32 best = endless;
    for (std::size_t first = 0, end = nodes.size(); bytes_.to_end(s) > 0;) {
      const u8 byte = bytes_.to_end_by(s);
      const token_trie::node* n = tokens_->find(first, end, byte);
      if (!n) break;
      s = bytes_.next(s, byte);
      if (!tokens_->tokens_of(*n).empty()) best = std::min(best, longer(known_to_end(s), 1));
      first = static_cast<std::size_t>(n - nodes.data()) + 1, end = n->end;
    }
    return best;
  }

  // The tokens that the grammar can read and after which keep(state) holds.
  template <class Keep> std::vector<u64> find(state s, Keep keep) {
    std::vector<u64> mask((tokens_->vocab_size() + 63) / 64);
    const auto nodes = tokens_->nodes();
    const u64 begin = bytes_.work();
    way_.assign(tokens_->depth() + 1, s);  // by depth: the state before that byte
    for (std::size_t i = 0; i < nodes.size();) {
      const token_trie::node& n = nodes[i];
      const state after = bytes_.next(way_[n.depth], n.byte);
      way_[n.depth + 1] = after;
      if (bytes_.work() - begin > max_work)
        throw Error(errc::unsupported, {}, "grammar", "a simpler one", "one that takes seconds for a token");
      if (after == grammar_automaton::dead) {
        i = n.end;
        continue;
      }
      if (const auto ids = tokens_->tokens_of(n); !ids.empty() && keep(after))
        for (const u32 id : ids) mask[id / 64] |= u64{1} << id % 64;
      ++i;
    }
    return mask;
  }

  std::shared_ptr<const token_trie> tokens_;
  grammar_automaton bytes_;
  std::unordered_map<state, std::vector<u64>> masks_;
  std::vector<u32> to_end_;  // by state, in tokens
  std::vector<state> way_;
};

}  // namespace cke::text
CKE_COLD_END
