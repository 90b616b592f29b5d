// SPDX-License-Identifier: MIT
// state.hpp: what a sequence keeps between passes: the pages of its states, and the position.
#pragma once

#include <span>
#include <utility>

#include "../core/function_ref.hpp"
#include "page_run.hpp"
#include "state_facts.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// The pages of a model's sequences. Persistent parts are keyed by their ids, transient parts by the number of the
// persistent page of the same positions.
struct page_pools {
  // For `positions` in all, of sequences of capacity k; 0: as many pages as the sequences that exist may hold. Throws
  // out_of_memory.
  page_pools(const page_plan& p, capacity k, u32 positions, page_memory* elsewhere = nullptr, bool huge_pages = true)
      : persistent(p.bytes(p.persistent), p.pages(positions), p.pages(positions), p.positions(), elsewhere, huge_pages),
        transient(p.bytes(p.transient), std::min(p.pages(positions), ceil_div(positions, k.context) * p.kept(k)),
                  p.pages(positions), 0, elsewhere, huge_pages) {}
  page_pool persistent, transient;
};

// The states of one sequence, in pages of a model's pools, which must outlive it. Lifecycle: reserve takes pages, and
// gives back transient ones that no later position reads; truncate gives back pages after the position; a copy shares
// pages (copy-on-write); recall takes pages from the prefix cache; the destructor gives back all. A recurrent state in
// a page is the one after the last computed position of that page, so a copy of a page copies the state, and a full
// page has the state at its end. If no layer sees the whole history, a sequence may outgrow its context at constant
// memory (slide).
class sequence_state {
 public:
  // Throws out_of_memory.
  sequence_state(const state_facts& f, page_pools& from, capacity k);
  sequence_state(const sequence_state& other);
  sequence_state& operator=(const sequence_state& other);
  sequence_state(sequence_state&&) noexcept = default;
  sequence_state& operator=(sequence_state&&) noexcept = default;

  const state_facts& facts() const { return *facts_; }
  u32 context() const { return slides_ ? most_positions : limits_.context; }
  u32 position() const { return position_; }
  const page_run& persistent() const { return persistent_; }
  const page_run& transient() const { return transient_; }
  std::byte* const* pages(bool transient = false) const {
    return (transient ? transient_ : persistent_).blocks();
  }  // of each key block

  // Removes the limit at the context. Throws unsupported, config_range, out_of_memory.
  void slide();

  // Before passes over `tokens` more positions: takes writable pages for all of them; of transient states, for the next
  // pass alone. Throws cache_full; truncating to position() then gives back what was taken.
  void reserve(u32 tokens);
  void advance(u32 tokens) { position_ += tokens; }
  // Forgets positions from `position` on. With recurrent states the position goes back to the end of a page; if a
  // transient page that it reads has been evicted, farther back, to where none is missing.
  void truncate(u32 position);

  // Puts full pages into the prefix cache; `ids` are all of the sequence so far.
  void remember(const u32* ids);
  // At position 0: takes the longest prefix of `ids`, in whole pages, that the prefix cache has, as far as it
  // also has the transient pages that the next position reads.
  void recall(std::span<const u32> ids);

  // At position 0: restores `position` positions of these ids. fill(transient, i, bytes)
  // writes a part of page i; transient parts are asked for only where the next position reads them. Throws cache_full.
  void restore(u32 position, const u32* ids, function_ref<void(bool transient, u32 i, std::byte*)> fill);

 private:
  void make_room(u32 positions);
  u64 parent(u32 i) const { return i ? persistent_[i - 1].number : 0; }
  void settle();
  void share_all(const sequence_state& other);

  const state_facts* facts_{};
  page_pools* pools_{};
  capacity limits_{};
  bool slides_{};
  u32 position_{}, known_{};  // pages [0, known_) are remembered
  page_run persistent_, transient_;
};

}  // namespace cke::runtime
CKE_COLD_END

#ifndef CKE_COMPILED
#include "state-inl.hpp"
#endif
