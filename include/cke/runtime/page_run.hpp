// SPDX-License-Identifier: MIT
// page_run.hpp: the consecutive pages [first, end) of a pool that a sequence holds.
#pragma once

#include <algorithm>
#include <utility>

#include "../core/plain_list.hpp"
#include "page_pool.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Pages before the first have been given back.
class page_run {
 public:
  page_run() = default;
  // A page has `blocks` key blocks, `block_bytes` apart. Of pages [0, room) at most `most` are held at a time. Throws
  // out_of_memory.
  page_run(page_pool& pool, u32 blocks, u64 block_bytes, u32 most, u32 room)
      : pool_(&pool),
        blocks_(blocks),
        block_bytes_(block_bytes),
        most_(most),
        room_(room),
        pages_(room),
        data_(u64{room} * blocks) {
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

  const page_pool* pool() const { return pool_; }  // null: moved from
  u32 first() const { return first_; }
  u32 end() const { return end_; }
  u32 most() const { return most_; }
  u32 room() const { return room_; }
  const page& operator[](u32 i) const { return *pages_[i]; }
  std::byte* const* blocks() const { return data_.data(); }  // of each key block from page 0 on

  // Raises the limits to at least `most` pages held, of pages [0, room). Throws out_of_memory.
  void allow(u32 most, u32 room) {
    if (most > most_) pool_->admit(most - most_), most_ = most;
    if (room <= room_) return;
    room = std::max(room, 2 * room_);
    pages_.resize(room), data_.resize(u64{room} * blocks_), room_ = room;
  }
  // Takes pages up to `end`, with undefined content. If that is more than may be held, the first are given back. Throws
  // cache_full.
  CKE_OUT_OF_LINE void extend(u32 end) {
    for (; end_ < end; ++end_) {
      make_way();
      put(end_, pool_->take());
    }
  }
  // Makes page i writable (copy-on-write). Throws cache_full.
  void own(u32 i) { put(i, pool_->writable(*pages_[i])); }
  // Page i is full, and gets a number; see page_pool.
  void remember(u32 i, u64 parent, const u32* ids) { put(i, pool_->remember(parent, *pages_[i], ids)); }
  // Takes page i, adjacent to the held ones, from the prefix cache. False: it is not remembered.
  bool recall(u32 i, u64 parent, const u32* ids) {
    page* const known = pool_->find(parent, ids);
    if (!known) return false;
    if (i == end_) make_way(), ++end_;
    else --first_;
    put(i, known);
    return true;
  }
  // Gives back pages from i on. If none is left, the next one is i.
  CKE_OUT_OF_LINE void cut(u32 i) {
    while (end_ > i && end_ > first_)
      pool_->give_back(*pages_[--end_]);  // the last first: prefixes are worth more, so they are evicted later
    if (first_ == end_) first_ = end_ = i;
  }
  // If the run is empty: shares the pages of `other`, a run of this pool, up to `end`.
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
    std::swap(pool_, o.pool_), std::swap(blocks_, o.blocks_), std::swap(block_bytes_, o.block_bytes_),
        std::swap(most_, o.most_);
    std::swap(room_, o.room_), std::swap(first_, o.first_), std::swap(end_, o.end_), std::swap(pages_, o.pages_),
        std::swap(data_, o.data_);
  }

  page_pool* pool_{};
  u32 blocks_{};
  u64 block_bytes_{};
  u32 most_{}, room_{};  // room: pages in both tables, which begin with page 0
  u32 first_{}, end_{};
  plain_list<page*> pages_;
  plain_list<std::byte*> data_;  // of each key block
};

}  // namespace cke::runtime
CKE_COLD_END
