// SPDX-License-Identifier: MIT
// state.hpp: what a sequence keeps between passes: the pages of its states, and the position.
#pragma once

#include <span>
#include <utility>

#include "page_run.hpp"
#include "state_layout.hpp"

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
template <class P, dtype KV, class Isa> class sequence_state {
 public:
  static constexpr page_plan plan = state_layout<P, KV, Isa>::plan;  // no reference: nvcc 13 refuses it
  static constexpr u32 page_positions = plan.positions();
  static constexpr bool has_transient = state_layout<P, KV, Isa>::has_transient;
  static constexpr const auto& places = state_layout<P, KV, Isa>::places;

  // Throws out_of_memory.
  sequence_state(page_pools& from, capacity k)
      : pools_(&from),
        limits_(k),
        persistent_(from.persistent, plan.blocks, plan.persistent.caches, plan.pages(k.context), plan.pages(k.context)),
        transient_(from.transient, plan.blocks, plan.transient.caches, plan.kept(k),
                   has_transient ? plan.pages(k.context) : 0) {}
  sequence_state(const sequence_state& other) : sequence_state(*other.pools_, other.limits_) { share_all(other); }
  sequence_state& operator=(const sequence_state& other) {
    if (this == &other) return *this;
    if (pools_ != other.pools_ || limits_.context != other.limits_.context) return *this = sequence_state(other);
    truncate(0);
    share_all(other);
    return *this;
  }
  sequence_state(sequence_state&&) noexcept = default;
  sequence_state& operator=(sequence_state&&) noexcept = default;

  static constexpr u64 bytes(capacity k) { return plan.bytes(k); }
  u32 context() const { return slides_ ? most_positions : limits_.context; }
  u32 position() const { return position_; }
  const page_run& persistent() const { return persistent_; }
  const page_run& transient() const { return transient_; }
  std::byte* const* pages(bool transient = false) const {
    return (transient ? transient_ : persistent_).blocks();
  }  // of each key block

  // Removes the limit at the context. Throws unsupported, config_range, out_of_memory.
  void slide() {
    if constexpr (!P::slides || !keeps_transient_apart<Isa>)
      throw Error(errc::unsupported, {}, "sliding", "states that pass, windows or recurrent, in all layers",
                  P::first_persistent < P::layers
                      ? concat({"layer ", P::first_persistent, ", which sees all positions"})
                      : std::string(P::turns_by_context ? "a rope that depends on the context"
                                                        : "a device, where all states last"));
    else {
      if (plan.reach >= limits_.context)
        throw Error(errc::config_range, {}, "context",
                    concat({"at least the window, ", plan.reach + 1, " positions, to slide"}),
                    concat({limits_.context}));
      // One page before those in sight, since a page is remembered under the page before it.
      const u32 most = plan.in_sight(limits_.chunk) + 1;
      persistent_.allow(most, most), transient_.allow(most, most);
      slides_ = true;
    }
  }

  // Before passes over `tokens` more positions: takes writable pages for all of them; of transient states, for the next
  // pass alone. Throws cache_full; truncating to position() then gives back what was taken.
  CKE_OUT_OF_LINE void reserve(u32 tokens) {
    if (tokens == 0) return;
    if constexpr (P::slides)
      if (slides_) {
        tokens = std::min(tokens, limits_.chunk);
        make_room(position_ + tokens);
      }
    const u32 last = position_ / page_positions;
    const bool begun = position_ % page_positions != 0;
    if (begun) persistent_.own(last);
    persistent_.extend(plan.pages(position_ + tokens));
    if constexpr (has_transient) {
      if (begun) transient_.own(last);
      transient_.extend(plan.pages(position_ + std::min(tokens, limits_.chunk)));
    }
  }
  void advance(u32 tokens) { position_ += tokens; }
  // Forgets positions from `position` on. With recurrent states the position goes back to the end of a page; if a
  // transient page that it reads has been evicted, farther back, to where none is missing.
  CKE_OUT_OF_LINE void truncate(u32 position) {
    if (position < position_) position_ = P::recurrent ? position / page_positions * page_positions : position;
    settle();
  }

  // Puts full pages into the prefix cache; `ids` are all of the sequence so far.
  CKE_OUT_OF_LINE void remember(const u32* ids) {
    for (; known_ < position_ / page_positions; ++known_) {
      persistent_.remember(known_, parent(known_), ids + u64{known_} * page_positions);
      if constexpr (has_transient)
        if (known_ >= transient_.first()) transient_.remember(known_, persistent_[known_].number, nullptr);
    }
  }
  // At position 0: takes the longest prefix of `ids`, in whole pages, that the prefix cache has, as far as it
  // also has the transient pages that the next position reads.
  void recall(std::span<const u32> ids) {
    make_room(static_cast<u32>(ids.size()));
    u32 i = 0;
    while (i < ids.size() / page_positions && persistent_.recall(i, parent(i), ids.data() + u64{i} * page_positions))
      ++i;
    known_ = i, position_ = i * page_positions;
    settle();
  }

  // At position 0: restores `position` positions of these ids. fill(transient, i, bytes)
  // writes a part of page i; transient parts are asked for only where the next position reads them. Throws cache_full.
  template <class Fill> void restore(u32 position, const u32* ids, Fill&& fill) {
    make_room(position);
    for (u32 i = 0; i < plan.pages(position); ++i) {
      persistent_.extend(i + 1);
      fill(false, i, persistent_[i].data);
      if ((i + 1) * page_positions <= position) persistent_.remember(i, parent(i), ids + u64{i} * page_positions);
    }
    if constexpr (has_transient) {
      transient_.cut(first_seen(position));
      transient_.extend(plan.pages(position));
      for (u32 i = transient_.first(); i < transient_.end(); ++i) {
        fill(true, i, transient_[i].data);
        if ((i + 1) * page_positions <= position) transient_.remember(i, persistent_[i].number, nullptr);
      }
    }
    position_ = position, known_ = position / page_positions;
  }
  // The first page whose transient states a position reads.
  static constexpr u32 first_seen(u32 position) { return (position - std::min(position, plan.reach)) / page_positions; }

 private:
  void make_room([[maybe_unused]] u32 positions) {
    if constexpr (P::slides) persistent_.allow(0, plan.pages(positions)), transient_.allow(0, plan.pages(positions));
  }
  u64 parent(u32 i) const { return i ? persistent_[i - 1].number : 0; }
  // Gives back pages after the position, and moves the position back where a transient page is missing that it reads.
  void settle() {
    if constexpr (has_transient) {
      transient_.cut(plan.pages(position_));
      for (u32 i; (i = transient_.first()) > first_seen(position_);)
        if (i <= persistent_.first() || !transient_.recall(i - 1, persistent_[i - 1].number, nullptr))
          position_ = (i - 1) * page_positions, transient_.cut(i - 1);
      if (P::slides && persistent_.first() && position_ / page_positions <= persistent_.first())
        position_ = 0, transient_.cut(0);
    }
    persistent_.cut(plan.pages(position_));
    known_ = std::min(known_, position_ / page_positions);
  }
  void share_all(const sequence_state& other) {
    position_ = other.position_, known_ = other.known_;
    if constexpr (P::slides) {
      slides_ = other.slides_;
      persistent_.allow(other.persistent_.most(), other.persistent_.room()),
          transient_.allow(other.transient_.most(), other.transient_.room());
    }
    persistent_.share(other.persistent_, plan.pages(position_));
    if constexpr (has_transient) transient_.share(other.transient_, plan.pages(position_));
  }

  page_pools* pools_{};
  capacity limits_{};
  bool slides_{};
  u32 position_{}, known_{};  // pages [0, known_) are remembered
  page_run persistent_, transient_;
};

}  // namespace cke::runtime
CKE_COLD_END
