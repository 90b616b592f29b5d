// SPDX-License-Identifier: MIT
// token_grammar.hpp: computes which tokens of a vocabulary a grammar allows.
#pragma once

#include "automaton.hpp"
#include "token_trie.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// A grammar over the tokens of a vocabulary. The tokens allowed in a state are computed once, and cached for all
// answers that share this object. Where the caches are full, a call goes on in spare ones, and in others once those are
// full too: memory is bounded, and no result depends on what is cached. Not thread-safe.
class token_grammar {
 public:
  using state = grammar_automaton::state;
  static constexpr std::size_t max_bytes = 64 << 20;        // of the caches
  static constexpr std::size_t max_spare_bytes = 32 << 20;  // of spare ones; a call has at most three at a time
  static constexpr u64 max_work = 100'000'000;              // per step: about a second

  token_grammar(std::shared_ptr<const grammar> g, std::shared_ptr<const token_trie> tokens)
      : tokens_(std::move(tokens)), bytes_(std::move(g)) {}
  // The same grammar with caches of at most `most` bytes, which have the states `kept` alone; these get new numbers.
  // Throws Error{unsupported} if they take more than half of that, as texts may be nested without bound.
  token_grammar(const token_grammar& other, std::span<state> kept, std::size_t most = max_bytes)
      : most_(most), dropped_work_(other.work()), tokens_(other.tokens_), bytes_(other.bytes_, kept) {
    if (bytes_.bytes() > most_ / 2)
      throw Error(errc::unsupported, {}, "grammar", "a simpler one",
                  concat({"one that needs more than ", u64{most_ >> 21}, " MiB for a place in a text"}));
  }

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
    return masks_.emplace(s, find(s, [](token_grammar&, state) { return true; })).first->second;
  }
  // Whether `left` tokens suffice to complete the text from `s`. The shortest completion in bytes decides: it takes at
  // most one token per byte, usually fewer. So the result does not depend on what other answers have cached.
  bool in_time(state s, u32 left) {
    const u32 bytes = bytes_.to_end(s);
    return bytes <= left || (bytes <= max_way && tokens_to_end(s) <= left);
  }
  // The same from the state after `text`.
  bool in_time(state s, std::string_view text, u32 left) {
    caches in(*this);
    for (const char c : text) {
      token_grammar& here = in.with_room({&s, 1});
      s = here.bytes_.next(s, static_cast<u8>(c));
    }
    token_grammar& here = in.with_room({&s, 1});
    return here.in_time(s, left);
  }
  // Like allowed(), but only tokens after which `left` more suffice; not cached.
  std::vector<u64> allowed_in_time(state s, u32 left) {
    return find(s, [left](token_grammar& here, state after) { return here.in_time(after, left); });
  }
  // Whether the caches exceed their limit.
  bool full() const { return bytes_.bytes() + masks_.size() * tokens_->vocab_size() / 8 > most_; }

 private:
  static constexpr u32 max_way = 1 << 13;  // in bytes, each of which is a state
  static constexpr u32 unknown = ~u32{0};

  // The caches of a grammar until they are full, then spare ones, the last of which ends with this object.
  class caches {
   public:
    explicit caches(token_grammar& first) : now_(&first) {}
    // Those to look into next. If others are full, only the states `kept` are in them, with new numbers.
    token_grammar& with_room(std::span<state> kept) {
      if (now_->full()) spare_ = std::make_unique<token_grammar>(*now_, kept, max_spare_bytes), now_ = spare_.get();
      return *now_;
    }

   private:
    token_grammar* now_;
    std::unique_ptr<token_grammar> spare_;
  };

  // What was done in these caches and those that they come from.
  u64 work() const { return dropped_work_ + bytes_.work(); }

  // The fewest tokens that spell the shortest completion of `s`; endless if none do.
  u32 tokens_to_end(state s) {
    std::vector<state> way;
    state at = s;
    for (; known_to_end(at) == unknown; at = bytes_.next(at, bytes_.to_end_by(at))) {
      if (full()) return tokens_of_completion(s);
      way.push_back(at);
    }
    u32 tokens = known_to_end(at);
    for (; !way.empty(); way.pop_back()) to_end_[way.back()] = tokens = tokens_by_first(way.back());
    return tokens;
  }
  // The same where the caches are full: of the completion, only its text is kept.
  u32 tokens_of_completion(state s) {
    std::string text;
    caches in(*this);
    for (;;) {
      token_grammar& here = in.with_room({&s, 1});
      dropped_work_ = here.work() - bytes_.work();  // counts what is done there
      if (here.bytes_.to_end(s) == 0) break;
      const u8 byte = here.bytes_.to_end_by(s);
      text += static_cast<char>(byte), s = here.bytes_.next(s, byte);
    }
    std::vector<u32> fewest(text.size() + 1, endless);  // by position: tokens from there to the end
    fewest.back() = 0;
    const auto nodes = tokens_->nodes();
    for (std::size_t from = text.size(); from-- > 0;)
      for (std::size_t at = from, first = 0, end = nodes.size(); at < text.size(); ++at) {
        const token_trie::node* n = tokens_->find(first, end, static_cast<u8>(text[at]));
        if (!n) break;
        if (!tokens_->tokens_of(*n).empty()) fewest[from] = std::min(fewest[from], longer(fewest[at + 1], 1));
        first = static_cast<std::size_t>(n - nodes.data()) + 1, end = n->end;
      }
    return fewest[0];
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

  // The tokens that the grammar can read and after which keep(caches, state) holds; the state is one of these caches.
  template <class Keep> std::vector<u64> find(state s, Keep keep) {
    std::vector<u64> mask((tokens_->vocab_size() + 63) / 64);
    const auto nodes = tokens_->nodes();
    const u64 begin = work();
    way_.assign(tokens_->depth() + 1, s);  // by depth: the state before that byte
    caches in(*this);
    for (std::size_t i = 0; i < nodes.size();) {
      const token_trie::node& n = nodes[i];
      token_grammar& here = in.with_room(std::span(way_).first(n.depth + 1));
      const state after = here.bytes_.next(way_[n.depth], n.byte);
      way_[n.depth + 1] = after;
      if (here.work() - begin > max_work)
        throw Error(errc::unsupported, {}, "grammar", "a simpler one", "one that takes seconds for a token");
      if (after == grammar_automaton::dead) {
        i = n.end;
        continue;
      }
      if (const auto ids = tokens_->tokens_of(n); !ids.empty() && keep(here, after))
        for (const u32 id : ids) mask[id / 64] |= u64{1} << id % 64;
      ++i;
    }
    return mask;
  }

  std::size_t most_ = max_bytes;
  u64 dropped_work_ = 0;
  std::shared_ptr<const token_trie> tokens_;
  grammar_automaton bytes_;
  std::unordered_map<state, std::vector<u64>> masks_;
  std::vector<u32> to_end_;  // by state, in tokens
  std::vector<state> way_;
};

}  // namespace cke::text
CKE_COLD_END
