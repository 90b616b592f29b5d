// SPDX-License-Identifier: MIT
// page_run.hpp: pages of a pool one after the other, as a sequence holds them: from one on, up to one.
#pragma once

#include <algorithm>
#include <utility>

#include "../core/plain_list.hpp"
#include "page_pool.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Pages [first, end) of a sequence. Those before the first were given back.
class page_run {
 public:
  page_run() = default;
  // Of `blocks` key blocks each, which lie `block_bytes` apart; of the first `room` pages at most `most` are held. Throws out_of_memory.
  page_run(page_pool& pool, u32 blocks, u64 block_bytes, u32 most, u32 room)
      : pool_(&pool), blocks_(blocks), block_bytes_(block_bytes), most_(most), room_(room), pages_(room), data_(u64{room} * blocks) {
    pool.admit(most);
  }
  page_run(page_run&& other) noexcept { swap(other); }
  page_run& operator=(page_run&& other) noexcept {
    page_run moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~page_run() {
    cut(0);
    if (pool_) pool_->leave(most_);
  }

  u32 first() const { return first_; }
  u32 end() const { return end_; }
  u32 most() const { return most_; }
  u32 room() const { return room_; }
  const page& operator[](u32 i) const { return *pages_[i]; }
  std::byte* const* blocks() const { return data_.data(); }  // of each key block from page 0 on

  // From now on at least `most` pages may be held, of the first `room`. Throws out_of_memory.
  void allow(u32 most, u32 room) {
    if (most > most_) pool_->admit(most - most_), most_ = most;
    if (room <= room_) return;
    room = std::max(room, 2 * room_);
    pages_.resize(room), data_.resize(u64{room} * blocks_), room_ = room;
  }
  // Pages up to `end`, any content in those that are new; where they would be too many, the first are given back. Throws cache_full.
  CKE_OUT_OF_LINE void extend(u32 end) {
    for (; end_ < end; ++end_) {
      make_way();
      put(end_, pool_->take());
    }
  }
  // Page i for nobody else, with its content. Throws cache_full.
  void own(u32 i) { put(i, pool_->writable(*pages_[i])); }
  // Page i is full; see page_pool. It has a number then.
  void remember(u32 i, u64 parent, const u32* ids) { put(i, pool_->remember(parent, *pages_[i], ids)); }
  // Page i, which is next to those that are held on either side, as somebody has filled it; false where nobody knows it.
  bool recall(u32 i, u64 parent, const u32* ids) {
    page* const known = pool_->find(parent, ids);
    if (!known) return false;
    if (i == end_) make_way(), ++end_;
    else --first_;
    put(i, known);
    return true;
  }
  // Gives back all from page i on; where nothing is left the next one is i.
  CKE_OUT_OF_LINE void cut(u32 i) {
    while (end_ > i && end_ > first_) pool_->give_back(*pages_[--end_]);  // the last first: it is worth least
    if (first_ == end_) first_ = end_ = i;
  }
  // At the beginning: the pages of `other`, a run of this pool, up to `end`.
  void share(const page_run& other, u32 end) {
    for (first_ = end_ = other.first_; end_ < end; ++end_) {
      pool_->share(*other.pages_[end_]);
      put(end_, other.pages_[end_]);
    }
  }

 private:
  void make_way() {
    if (end_ - first_ == most_) pool_->give_back(*pages_[first_++]);
  }
  void put(u32 i, page* p) {
    pages_[i] = p;
    for (u32 b = 0; b < blocks_; ++b) data_[u64{i} * blocks_ + b] = p->data + b * block_bytes_;
  }
  void swap(page_run& o) noexcept {
    std::swap(pool_, o.pool_), std::swap(blocks_, o.blocks_), std::swap(block_bytes_, o.block_bytes_), std::swap(most_, o.most_);
    std::swap(room_, o.room_), std::swap(first_, o.first_), std::swap(end_, o.end_), std::swap(pages_, o.pages_), std::swap(data_, o.data_);
  }

  page_pool* pool_{};
  u32 blocks_{};
  u64 block_bytes_{};
  u32 most_{}, room_{};  // room: of both tables, which begin with page 0
  u32 first_{}, end_{};
  plain_list<page*> pages_;
  plain_list<std::byte*> data_;  // of each key block
};

}  // namespace cke::runtime
CKE_COLD_END
