// SPDX-License-Identifier: MIT
// page_pool.hpp: the pages of a model's caches: reference-counted, copy-on-write, and a prefix cache of full pages.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "../core/mutex.hpp"
#include "../core/params.hpp"
#include "arena.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Memory of pages outside of the host's. It copies pages too, and frees all of them at its end.
class page_memory {
 public:
  virtual std::byte* take(u64 bytes) = 0;  // throws out_of_memory
  virtual void copy(std::byte* to, const std::byte* from, u64 bytes) = 0;

 protected:
  ~page_memory() = default;
};

// The states of all layers for some positions, in whole key blocks. A full page may be remembered. It is then found by
// its ids and by the page before it, that is by all ids up to its end, and is immutable.
struct page {
  std::byte* data{};
  u32 holders{};
  page *older{}, *newer{};  // in the list of unheld pages
  u64 number{}, parent{};   // when remembered: a number that no other page ever had, and that of the page before
  page* next{};             // in its bucket
  u32* ids{};
};

// Eviction is least recently used first: unheld pages form a list, in which a remembered page goes to the back when its
// last holder releases it, and any other page to the front. A new page is taken from the front. Safe to use from
// several threads.
class page_pool {
 public:
  // Allocates `pages` now, and more as sequences are admitted, up to `most`; 0: no bound. With `elsewhere`, pages lie
  // there, and it must outlive the pool. 0 positions: a page is found by its parent alone. Throws out_of_memory.
  page_pool(u64 page_bytes, u32 pages, u32 most, u32 positions, page_memory* elsewhere = nullptr,
            bool huge_pages = true)
      : page_bytes_(page_bytes),
        most_(most ? most : ~u32{0}),
        positions_(positions),
        elsewhere_(elsewhere),
        huge_pages_(huge_pages) {
    grow(pages);
  }
  ~page_pool() {
    while (slab* const last = slabs_) slabs_ = last->before, delete last;
  }
  page_pool(const page_pool&) = delete;
  page_pool& operator=(const page_pool&) = delete;

  u64 page_bytes() const { return page_bytes_; }
  u32 size() const { return count_.all; }

  // A sequence that holds at most so many pages begins, or ends. Throws out_of_memory.
  void admit(u32 pages) {
    const std::lock_guard ours(busy_);
    const u32 all = std::min(wanted_ + pages, most_);
    if (all > count_.all) grow(all - count_.all);
    wanted_ += pages;
  }
  void leave(u32 pages) noexcept {
    const std::lock_guard ours(busy_);
    wanted_ -= pages;
  }

  // A page with undefined content. Throws cache_full.
  page* take() {
    const std::lock_guard ours(busy_);
    return take_one();
  }
  void share(page& p) noexcept {
    const std::lock_guard ours(busy_);
    hold(p);
  }
  void give_back(page& p) noexcept {
    const std::lock_guard ours(busy_);
    release(p);
  }
  // Copy-on-write: p itself if the caller is its only holder, else a copy, for which the caller's hold on p is
  // released. Throws cache_full.
  CKE_OUT_OF_LINE page* writable(page& p) {
    page* copy;
    {
      const std::lock_guard ours(busy_);
      if (p.holders == 1) return forget(p), &p;
      copy = take_one();
    }
    if (elsewhere_) elsewhere_->copy(copy->data, p.data, page_bytes_);
    else std::memcpy(copy->data, p.data, page_bytes_);  // p is shared, so nothing writes to it meanwhile
    give_back(p);
    return copy;
  }

  // The caller's page p is full with `ids`, after those of the page whose number is `parent` (0: none). Returns the
  // page to hold from now on: p, or the one that is already remembered for the same ids.
  CKE_OUT_OF_LINE page* remember(u64 parent, page& p, const u32* ids) noexcept {
    const std::lock_guard ours(busy_);
    if (page* const known = look_up(parent, ids); known) {
      if (known == &p) return known;
      hold(*known);
      release(p);
      return known;
    }
    forget(p);
    p.number = ++last_number_, p.parent = parent;
    std::memcpy(p.ids, ids, positions_ * sizeof(u32));
    page*& bucket = bucket_of(parent, ids);
    p.next = bucket, bucket = &p;
    return &p;
  }
  // The page that is remembered for these ids after those of `parent`, with one more holder; null if there is none.
  page* find(u64 parent, const u32* ids) noexcept {
    const std::lock_guard ours(busy_);
    page* const known = look_up(parent, ids);
    if (known) hold(*known);
    return known;
  }

  struct counts {
    u32 all, held;
  };
  counts count() const {
    const std::lock_guard ours(busy_);
    return count_;
  }

 private:
  struct slab {
    arena memory;  // pages, the hash table of that time, and the pages' data
    page* pages;
    u32 count;
    slab* before;
  };

  // Throws out_of_memory, and has then changed nothing.
  CKE_OUT_OF_LINE void grow(u32 more) {
    u32 buckets = 1;
    while (buckets < count_.all + more) buckets *= 2;
    u64 bytes;
    const u64 here = elsewhere_ ? 0 : page_bytes_;
    if (!checked_mul(here + sizeof(page) + positions_ * sizeof(u32), more, bytes) ||
        !checked_add(bytes, u64{buckets} * 8 + 256, bytes))
      bytes = ~u64{};
    arena memory(bytes, huge_pages_);
    std::byte* const there = elsewhere_ && more ? elsewhere_->take(u64{more} * page_bytes_) : nullptr;
    slab* const fresh = new slab{std::move(memory), nullptr, more, slabs_};
    slabs_ = fresh, count_.all += more;
    fresh->pages = fresh->memory.take<page>(more);
    table_ = fresh->memory.take<page*>(buckets), mask_ = buckets - 1;
    u32* const ids = fresh->memory.take<u32>(u64{more} * positions_);
    for (u32 i = 0; i < more; ++i) {
      fresh->pages[i].data = there ? there + i * page_bytes_ : fresh->memory.take(page_bytes_),
      fresh->pages[i].ids = ids + u64{i} * positions_;
      line_up(fresh->pages[i]);
    }
    for (const slab* s = slabs_; s; s = s->before)
      for (u32 i = 0; i < s->count; ++i)
        if (page& p = s->pages[i]; p.number) {
          page*& bucket = bucket_of(p.parent, p.ids);
          p.next = bucket, bucket = &p;
        }
  }

  CKE_OUT_OF_LINE page* take_one() {
    page* const p = front_;
    if (!p)
      throw Error(errc::cache_full, {}, "cache", concat({"a free page of ", positions_, " positions"}),
                  concat({"all ", count_.all, " in use"}));
    forget(*p);
    hold(*p);
    return p;
  }
  void hold(page& p) {
    if (p.holders++) return;
    (p.older ? p.older->newer : front_) = p.newer;
    (p.newer ? p.newer->older : back_) = p.older;
    ++count_.held;
  }
  void release(page& p) {
    if (--p.holders) return;
    line_up(p);
    --count_.held;
  }
  CKE_OUT_OF_LINE void line_up(page& p) {
    const bool last = p.number != 0;
    p.older = last ? back_ : nullptr, p.newer = last ? nullptr : front_;
    (p.older ? p.older->newer : front_) = &p;
    (p.newer ? p.newer->older : back_) = &p;
  }

  CKE_OUT_OF_LINE page*& bucket_of(u64 parent, const u32* ids) const {
    u64 h = parent;
    for (u32 i = 0; i < positions_; ++i) h = (h ^ ids[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 32;
    return table_[h & mask_];
  }
  CKE_OUT_OF_LINE page* look_up(u64 parent, const u32* ids) const {
    page* p = bucket_of(parent, ids);
    while (p && !(p->parent == parent && std::memcmp(p->ids, ids, positions_ * sizeof(u32)) == 0)) p = p->next;
    return p;
  }
  CKE_OUT_OF_LINE void forget(page& p) {
    if (p.number == 0) return;
    page** at = &bucket_of(p.parent, p.ids);
    while (*at != &p) at = &(*at)->next;
    *at = p.next;
    p.number = 0;
  }

  const u64 page_bytes_;
  const u32 most_;
  const u32 positions_;  // a page
  page_memory* const elsewhere_;
  const bool huge_pages_;
  mutable mutex busy_;
  slab* slabs_{};   // the latest one
  page** table_{};  // hash table of remembered pages, with chains
  u64 mask_{}, last_number_{};
  page *front_{}, *back_{};  // of the list of unheld pages
  counts count_{};
  u32 wanted_{};  // pages of all admitted sequences
};

}  // namespace cke::runtime
CKE_COLD_END
