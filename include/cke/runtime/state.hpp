// SPDX-License-Identifier: MIT
// state.hpp: what one conversation keeps between passes: the caches of all layers, and the position.
#pragma once

#include <cstring>
#include <vector>

#include "../graph/program.hpp"
#include "../kernels/kernel.hpp"
#include "../kernels/kv_cache.hpp"
#include "arena.hpp"

CKE_COLD_BEGIN
namespace cke {

// The states of one slot, in pages of key_block positions of all layers. Lifecycle: the constructor
// allocates, reset and truncate reuse, a copy forks, the destructor frees. Copies are independent
// from then on.
template <class P, dtype KV, class Isa> class slot_state {
 public:
  static constexpr u64 page_bytes = P::state_bytes(key_block, KV);

  // Throws out_of_memory.
  explicit slot_state(u32 context) : context_(context), memory_(bytes(context)), pages_(pages_of(context)) {
    for (std::byte*& page : pages_) page = memory_.take(page_bytes);
  }
  slot_state(const slot_state& other) : slot_state(other.context_) { copy_used(other); }
  slot_state& operator=(const slot_state& other) {
    if (this == &other) return *this;
    if (context_ != other.context_) *this = slot_state(other.context_);
    copy_used(other);
    return *this;
  }
  slot_state(slot_state&&) noexcept = default;
  slot_state& operator=(slot_state&&) noexcept = default;

  static u64 bytes(u32 context) { return pages_of(context) * page_bytes; }
  u32 context() const { return context_; }
  u32 position() const { return position_; }
  void advance(u32 tokens) { position_ += tokens; }
  // Forgets what came after `position`; old entries are overwritten before anything sees them.
  void truncate(u32 position) { position_ = position < position_ ? position : position_; }

  std::byte* const* pages() const { return pages_.data(); }

  // Where the cache of each layer lies in a page.
  static std::vector<kv_place> places() {
    std::vector<kv_place> all;
    P::for_each_state(key_block, KV, [&](const state_descriptor& d) {
      all.push_back({d.offset, kv_cache<KV, Isa>::block_bytes(d.head_dim)});
    });
    return all;
  }

 private:
  static u64 pages_of(u32 positions) { return ceil_div(positions, key_block); }

  // Whole pages up to the position.
  void copy_used(const slot_state& other) {
    position_ = other.position_;
    for (u64 i = 0; i < pages_of(position_); ++i) std::memcpy(pages_[i], other.pages_[i], page_bytes);
  }

  u32 context_{}, position_{};
  arena memory_;
  std::vector<std::byte*> pages_;
};

}  // namespace cke
CKE_COLD_END
