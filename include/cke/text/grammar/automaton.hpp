// SPDX-License-Identifier: MIT
// automaton.hpp: a grammar's pushdown automaton over bytes, built lazily.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "shortest.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// A state is the set of all stacks that the bytes so far can lead to. States and transitions are computed when first
// needed, then cached. Not thread-safe.
class grammar_automaton {
 public:
  using state = u32;
  static constexpr state dead = 0;  // no text of the grammar starts with these bytes
  static constexpr std::size_t max_stacks = 1 << 13;

  explicit grammar_automaton(std::shared_ptr<const grammar> g)
      : grammar_(std::move(g)), rests_(std::make_shared<const std::vector<u32>>(shortest_rests(*grammar_))) {
    add_state({});
    std::vector<place> begin;
    for (const u32 at : grammar_->productions[grammar_->root]) begin.push_back({at, 0});
    start_ = closure(std::move(begin));
  }
  // The same grammar with the states `kept` alone, at least one, which get new numbers; the first of them is the start.
  grammar_automaton(const grammar_automaton& other, std::span<state> kept)
      : grammar_(other.grammar_), rests_(other.rests_) {
    add_state({});
    std::vector<u32> copies(other.frames_.size(), unknown);  // by frame of the other
    copies[whole] = whole;
    for (state& s : kept) {
      std::vector<u32> tops;
      for (const u32 top : other.states_[s]->tops) tops.push_back(copy_frames(other, top, copies));
      std::ranges::sort(tops);
      s = add_state(std::move(tops));
    }
    start_ = kept.front();
  }

  state start() const { return start_; }
  state next(state s, u8 byte) {
    const state known = states_[s]->next[byte];
    return known != unknown ? known : find_next(s, byte);
  }
  // Whether the bytes so far are a whole text.
  bool accepts(state s) const { return !states_[s]->tops.empty() && states_[s]->tops[0] == whole; }
  // Whether they are a whole text that no other text starts with.
  bool complete(state s) const { return states_[s]->tops.size() == 1 && accepts(s); }
  // The fewest bytes that complete the text, and the first of them. Of several shortest completions, the first in byte
  // order counts.
  u32 to_end(state s) const { return states_[s]->to_end; }
  u8 to_end_by(state s) const { return states_[s]->by; }
  std::size_t bytes() const { return bytes_; }
  u64 work() const { return work_; }  // symbols visited so far, and what states cost beside them

 private:
  static constexpr state unknown = ~u32{0};
  static constexpr u32 whole = 0;  // id of the empty stack
  // What a frame takes in the containers below; what a state takes in them beside its own size, and, as work, to make.
  static constexpr std::size_t frame_bytes = 64, state_bytes = 128;
  static constexpr u64 state_work = 64;

  struct place {
    u32 at, below;
  };
  // The symbols from `at` to the end of its production remain to be read, then the frame below.
  struct frame {
    u32 at, below;
    u32 to_end;  // least number of bytes
  };
  struct known_state {
    std::vector<u32> tops;  // of its stacks, sorted; each is before a byte, or is `whole`
    std::array<state, 256> next;
    u32 to_end = endless;
    u8 by = 0;
  };

  u32 intern(u32 at, u32 below) {
    const auto [entry, fresh] = frame_ids_.try_emplace(u64{at} << 32 | below, static_cast<u32>(frames_.size()));
    if (fresh) frames_.push_back({at, below, longer((*rests_)[at], frames_[below].to_end)}), bytes_ += frame_bytes;
    return entry->second;
  }
  // Stacks share the frames below, so that `copies` has many of them already.
  u32 copy_frames(const grammar_automaton& other, u32 top, std::vector<u32>& copies) {
    std::vector<u32> way;
    for (; copies[top] == unknown; top = other.frames_[top].below) way.push_back(top);
    u32 copy = copies[top];
    for (; !way.empty(); way.pop_back()) copy = copies[way.back()] = intern(other.frames_[way.back()].at, copy);
    return copy;
  }
  state add_state(std::vector<u32> tops) {
    const auto [entry, fresh] = state_ids_.try_emplace(tops, static_cast<u32>(states_.size()));
    if (fresh) {
      bytes_ += sizeof(known_state) + 2 * tops.size() * sizeof(u32) + state_bytes, work_ += state_work;
      known_state& s = *states_.emplace_back(std::make_unique<known_state>());
      s.tops = std::move(tops), s.next.fill(unknown);
      for (const u32 top : s.tops) {
        const auto [at, below, bytes] = frames_[top];
        const u8 first = top == whole ? u8{0} : grammar_->symbols[at].first;
        if (bytes < s.to_end || (bytes == s.to_end && first < s.by)) s.to_end = bytes, s.by = first;
      }
    }
    return entry->second;
  }

  state find_next(state s, u8 byte) {
    std::vector<place> read;
    work_ += states_[s]->tops.size();
    for (const u32 top : states_[s]->tops) {
      if (top == whole) continue;
      const auto [at, below, bytes] = frames_[top];
      const grammar_symbol& symbol = grammar_->symbols[at];
      if (symbol.first <= byte && byte <= symbol.last) read.push_back({at + 1, below});
    }
    const state found = closure(std::move(read));
    return states_[s]->next[byte] = found;
  }
  // Expands and pops rules until every stack is before a byte. Throws Error{unsupported} if there are too many stacks.
  state closure(std::vector<place> work) {
    std::vector<u32> tops;
    std::unordered_set<u64> seen;
    while (!work.empty()) {
      const auto [at, below] = work.back();
      work.pop_back();
      ++work_;
      if (!seen.insert(u64{at} << 32 | below).second) continue;
      if (seen.size() > max_stacks)
        throw Error(errc::unsupported, {}, "grammar",
                    concat({"at most ", u64{max_stacks}, " ways to read the same text"}), "more");
      const grammar_symbol& symbol = grammar_->symbols[at];
      if (symbol.is == grammar_symbol::bytes) {
        tops.push_back(intern(at, below));
      } else if (symbol.is == grammar_symbol::end) {
        if (below == whole) tops.push_back(whole);
        else work.push_back({frames_[below].at, frames_[below].below});
      } else {  // the last symbol of a production needs no frame, so repetitions do not grow the stack
        const bool last = grammar_->symbols[at + 1].is == grammar_symbol::end;
        const u32 after = last ? below : intern(at + 1, below);
        for (const u32 production : grammar_->productions[symbol.rule_id]) work.push_back({production, after});
      }
    }
    std::ranges::sort(tops);
    const auto twins = std::ranges::unique(tops);
    tops.erase(twins.begin(), twins.end());
    return add_state(std::move(tops));
  }

  std::shared_ptr<const grammar> grammar_;
  std::shared_ptr<const std::vector<u32>> rests_;  // by symbol: the fewest bytes to the end of its production
  std::vector<frame> frames_{{0, 0, 0}};           // [0]: no frame
  std::unordered_map<u64, u32> frame_ids_;
  std::vector<std::unique_ptr<known_state>> states_;  // [0]: dead; a vector of kilobytes would be twice as large
  std::map<std::vector<u32>, state> state_ids_;
  state start_ = dead;
  std::size_t bytes_ = 0;
  u64 work_ = 0;
};

}  // namespace cke::text
CKE_COLD_END
