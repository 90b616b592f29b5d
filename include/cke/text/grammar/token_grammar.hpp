// SPDX-License-Identifier: MIT
// token_grammar.hpp: which tokens of a vocabulary a grammar allows.
#pragma once

#include "automaton.hpp"
#include "token_trie.hpp"

CKE_COLD_BEGIN
namespace cke {

// A grammar over a vocabulary's tokens. Which of them may follow a state is found once, and kept
// for all answers that share this. Not for two threads at a time.
class token_grammar {
 public:
  using state = grammar_automaton::state;
  static constexpr std::size_t max_bytes = 64 << 20;
  static constexpr u64 max_work = 100'000'000;  // for one step: about a second

  token_grammar(std::shared_ptr<const grammar> g, std::shared_ptr<const token_trie> tokens)
      : tokens_(std::move(tokens)), bytes_(std::move(g)) {}
  // What is left of `other` behind `s`, from scratch.
  token_grammar(const token_grammar& other, state s) : tokens_(other.tokens_), bytes_(other.bytes_, s) {}

  state start() const { return bytes_.start(); }
  bool accepts(state s) const { return bytes_.accepts(s); }
  bool complete(state s) const { return bytes_.complete(s); }
  state next(state s, std::string_view text) {
    for (const char c : text) s = bytes_.next(s, static_cast<u8>(c));
    return s;
  }
  // A bit for each token of the vocabulary. Throws Error{unsupported} where the grammar makes that
  // too much work.
  std::span<const u64> allowed(state s) {
    const auto [entry, fresh] = masks_.try_emplace(s);
    if (fresh) entry->second = find(s);
    return entry->second;
  }
  // Holds more than is worth keeping.
  bool full() const { return bytes_.bytes() + masks_.size() * tokens_->vocab_size() / 8 > max_bytes; }

 private:
  std::vector<u64> find(state s) {
    std::vector<u64> mask((tokens_->vocab_size() + 63) / 64);
    const auto nodes = tokens_->nodes();
    const u64 begin = bytes_.work();
    way_.assign(tokens_->depth() + 1, s);  // by depth, the state before that byte
    for (std::size_t i = 0; i < nodes.size();) {
      const token_trie::node& n = nodes[i];
      const state after = bytes_.next(way_[n.depth], n.byte);
      way_[n.depth + 1] = after;
      if (bytes_.work() - begin > max_work) throw Error(errc::unsupported, {}, "grammar", "a simpler one", "one that takes seconds for a token");
      if (after == grammar_automaton::dead) {
        i = n.end;
        continue;
      }
      for (const u32 id : tokens_->tokens_of(n)) mask[id / 64] |= u64{1} << id % 64;
      ++i;
    }
    return mask;
  }

  std::shared_ptr<const token_trie> tokens_;
  grammar_automaton bytes_;
  std::unordered_map<state, std::vector<u64>> masks_;
  std::vector<state> way_;
};

}  // namespace cke
CKE_COLD_END
