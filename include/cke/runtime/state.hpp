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

// The states of one slot. Lifecycle: the constructor allocates, reset and truncate reuse, a copy
// forks, the destructor frees. Copies are independent from then on.
template <class P, dtype KV, class Isa> class slot_state {
  using cache = kv_cache<KV, Isa>;

 public:
  // Throws out_of_memory.
  explicit slot_state(u32 context) : context_(context), memory_(bytes(context)) {
    P::for_each_state(context, KV, [&](const state_descriptor& d) { layers_.push_back(d); });
    base_ = memory_.take(memory_.size());
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

  static u64 bytes(u32 context) { return P::state_bytes(context, KV); }
  u32 context() const { return context_; }
  u32 position() const { return position_; }
  void advance(u32 tokens) { position_ += tokens; }
  // Forgets what came after `position`; old entries are overwritten before anything sees them.
  void truncate(u32 position) { position_ = position < position_ ? position : position_; }

  kv_view kv(u32 id) const {
    const state_descriptor& d = layers_[id];
    return {base_ + d.offset, cache::head_bytes(d.positions, d.head_dim)};
  }

 private:
  // Whole key blocks up to the position, of each head.
  void copy_used(const slot_state& other) {
    position_ = other.position_;
    for (u32 id = 0; id < layers_.size(); ++id) {
      const kv_view to = kv(id), from = other.kv(id);
      const u64 used = cache::head_bytes(position_, layers_[id].head_dim);
      for (u32 h = 0; h < layers_[id].heads; ++h) std::memcpy(to.head(h), from.head(h), used);
    }
  }

  u32 context_{}, position_{};
  arena memory_;
  std::byte* base_{};
  std::vector<state_descriptor> layers_;
};

}  // namespace cke
CKE_COLD_END
