// SPDX-License-Identifier: MIT
// index_table.hpp: a hash table of indices into an array that its owner holds.
#pragma once

#include "../../core/plain_list.hpp"
#include "../../core/types.hpp"

namespace cke::text {

// Open addressing, at most half full: a look-up touches one or two cache lines, a node-based map several.
class index_table {
 public:
  static constexpr u32 none = ~u32{0};

  index_table() : index_table(0) {}
  // Has room for `capacity` different keys.
  explicit index_table(std::size_t capacity) {
    std::size_t slots = 2;
    while (slots < 2 * capacity) slots *= 2;
    slots_.resize(slots, none);
  }
  // same(i) tells whether entry i of the owner's array has the key.
  template <class Same> u32 find(u64 hash, Same&& same) const { return slots_[slot(hash, same)]; }
  // Inserts the index, replacing an older one with the same key.
  template <class Same> void insert(u64 hash, u32 index, Same&& same) { slots_[slot(hash, same)] = index; }

 private:
  template <class Same> std::size_t slot(u64 hash, Same&& same) const {
    hash *= 0x9E3779B97F4A7C15u;  // the golden ratio separates keys that differ in a few bits
    hash ^= hash >> 32;
    for (;; ++hash) {
      const std::size_t i = static_cast<std::size_t>(hash) & (slots_.size() - 1);
      if (slots_[i] == none || same(slots_[i])) return i;
    }
  }
  plain_list<u32> slots_;
};

}  // namespace cke::text
