// SPDX-License-Identifier: MIT
// state.hpp: what one conversation keeps between passes: the pages of its states, and the position.
#pragma once

#include <memory>
#include <utility>

#include "../graph/program.hpp"
#include "../kernels/kernel.hpp"
#include "../kernels/kv_cache.hpp"
#include "page_pool.hpp"

CKE_COLD_BEGIN
namespace cke {

// The states of one slot: pages of a pool, which must outlive it. Lifecycle: reserve takes pages, truncate
// gives back those that nothing is left in, a copy shares them until one of both writes, recall takes those
// that another has filled, the destructor gives back all. A page has a recurrent state as it is after the last
// position in it that was computed: copies of pages are copies of states, and a full page has that of its end.
template <class P, dtype KV, class Isa> class slot_state {
 public:
  static constexpr auto plan = P::page(KV);
  static constexpr u64 page_bytes = plan.blocks * plan.caches + plan.recurrent;
  static constexpr u32 page_positions = plan.blocks * key_block;

  // Throws out_of_memory.
  slot_state(page_pool& pool, u32 context)
      : pool_(&pool), context_(context), pages_(new page*[pages_of(context)]{}), data_(new std::byte*[pages_of(context) * plan.blocks]{}) {
    pool.admit(pages_of(context));
  }
  slot_state(const slot_state& other) : slot_state(*other.pool_, other.context_) { share_all(other); }
  slot_state& operator=(const slot_state& other) {
    if (this == &other) return *this;
    if (pool_ != other.pool_ || context_ != other.context_) return *this = slot_state(other);
    truncate(0);
    share_all(other);
    return *this;
  }
  slot_state(slot_state&& other) noexcept { swap(other); }
  slot_state& operator=(slot_state&& other) noexcept {
    slot_state moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~slot_state() {
    if (!pool_) return;
    truncate(0);
    pool_->leave(pages_of(context_));
  }

  static u64 bytes(u32 context) { return pages_of(context) * page_bytes; }
  u32 context() const { return context_; }
  u32 position() const { return position_; }
  u32 held() const { return held_; }  // pages
  std::byte* const* pages() const { return data_.get(); }  // of each key block

  // Before a pass: pages for `tokens` more positions, which nobody else sees. Throws cache_full; truncating
  // to position() then gives back what was taken.
  CKE_OUT_OF_LINE void reserve(u32 tokens) {
    if (tokens == 0) return;
    if (const u32 last = position_ / page_positions; position_ % page_positions != 0) put(last, pool_->writable(*pages_[last]));
    while (held_ < pages_of(position_ + tokens)) put(held_, pool_->take()), ++held_;
  }
  void advance(u32 tokens) { position_ += tokens; }
  // Forgets what came after `position`; where there are recurrent states, all that came after the last whole page.
  CKE_OUT_OF_LINE void truncate(u32 position) {
    if (position < position_) position_ = P::recurrent ? position / page_positions * page_positions : position;
    while (held_ > pages_of(position_)) pool_->give_back(*pages_[--held_]);  // the last first: it is worth least
    known_ = known_ < position_ / page_positions ? known_ : position_ / page_positions;
  }

  // Pages that are full can be found by whoever has the same ids; `ids` are all so far.
  CKE_OUT_OF_LINE void remember(const u32* ids) {
    for (; known_ < position_ / page_positions; ++known_)
      put(known_, pool_->remember(parent(known_), *pages_[known_], ids + u64{known_} * page_positions));
  }
  // At the beginning: takes the pages of the longest run of whole pages of `ids` that is remembered.
  void recall(std::span<const u32> ids) {
    for (; held_ < ids.size() / page_positions; ++held_) {
      page* const known = pool_->find(parent(held_), ids.data() + u64{held_} * page_positions);
      if (!known) break;
      put(held_, known);
    }
    known_ = held_, position_ = held_ * page_positions;
  }

  // At the beginning: `position` positions that were computed elsewhere; fill(i, page) writes its bytes. Throws cache_full.
  template <class Fill> void restore(u32 position, Fill&& fill) {
    reserve(position);
    for (u32 i = 0; i < held_; ++i) fill(i, pages_[i]->data);
    position_ = position;
  }

  // Where the state of each layer lies in a page.
  static constexpr auto places = [] {
    small_vector<kv_place, std::max<std::size_t>(P::layers, 1) * 4> all;
    P::for_each_state(key_block, KV, [&](const state_descriptor& d) {
      const bool recurs = is_recurrent(d.what);
      all.push({(recurs ? plan.caches : 0) + d.offset, recurs ? 0 : kv_cache<KV, Isa>::block_bytes(d.head_dim), plan.blocks});
    });
    return all;
  }();

 private:
  static constexpr u32 pages_of(u32 positions) { return ceil_div(positions, page_positions); }
  u64 parent(u32 i) const { return i ? pages_[i - 1]->number : 0; }
  void put(u32 i, page* p) {
    pages_[i] = p;
    for (u32 b = 0; b < plan.blocks; ++b) data_[i * plan.blocks + b] = p->data + b * plan.caches;
  }
  void share_all(const slot_state& other) {
    for (; held_ < pages_of(other.position_); ++held_) {
      pool_->share(*other.pages_[held_]);
      put(held_, other.pages_[held_]);
    }
    position_ = other.position_, known_ = other.known_;
  }
  void swap(slot_state& o) noexcept {
    std::swap(pool_, o.pool_), std::swap(pages_, o.pages_), std::swap(data_, o.data_);
    std::swap(context_, o.context_), std::swap(position_, o.position_), std::swap(held_, o.held_), std::swap(known_, o.known_);
  }

  page_pool* pool_{};
  u32 context_{}, position_{};
  u32 held_{}, known_{};  // pages; of these the first are remembered
  std::unique_ptr<page*[]> pages_;
  std::unique_ptr<std::byte*[]> data_;  // of each key block
};

}  // namespace cke
CKE_COLD_END
