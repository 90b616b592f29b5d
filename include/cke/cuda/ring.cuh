// SPDX-License-Identifier: MIT
// ring.cuh: a ring of weight tiles in shared memory for each warp of a persistent block, filled ahead of use.
#pragma once

#include "stream.cuh"

namespace cke::cuda {

// After a warp has used a tile, it owes a request: for the tile that comes a ring's length later. It makes its requests
// while it waits for other blocks, or when it owes half of the ring; to find out what comes takes as long as a product
// of a tile. So weights keep arriving during barriers, between products and between tokens. Warps do not synchronise
// with each other.

inline constexpr u32 most_slots = 8;  // of each warp

// How a generation copies a tile into slot `slot` and waits for it. Generations without this read weights from memory.
template <class Arch> struct copies : copies<typename Arch::base> {
  using copies<typename Arch::base>::copies;
};
template <> struct copies<void> {
  static constexpr bool exist = false;
};
// cp.async: each lane copies some quads and waits for its own.
template <> struct copies<sm80> {
  static constexpr bool exist = true;

  CKE_DEVICE copies(const dev::shared<u64>&, u32) {}
  CKE_DEVICE void expect(u32, u32) const {}
  CKE_DEVICE void send(u32, const dev::shared<std::byte>& to, u32 at, const std::byte* from, u32 bytes) const {
    for (u32 i = dev::lane() * 16; i < bytes; i += warp_lanes * 16) dev::copy_quad(to, at + i, from + i);
  }
  CKE_DEVICE void sent() const { dev::commit_copies(); }  // an empty group counts too: groups are counted per tile
  // behind: tiles requested after the one waited for.
  CKE_DEVICE void wait(u32, u32, u32 behind) const {
    wait_all_but(behind, std::make_integer_sequence<u32, most_slots>{});
    dev::sync_warp();
  }
  CKE_DEVICE void wait_all() const { dev::await_copies<0>(); }

 private:
  template <u32... N> CKE_DEVICE static void wait_all_but(u32 behind, std::integer_sequence<u32, N...>) {
    ((behind == N ? dev::await_copies<N>() : void()), ...);
  }
};
// Bulk copies: lane 0 requests whole pieces, which complete on an mbarrier.
template <> struct copies<sm90> {
  static constexpr bool exist = true;

  CKE_DEVICE copies(const dev::shared<u64>& words, u32 slots) : words_(words) {
    if (dev::lane() == 0)
      for (u32 i = 0; i < slots; ++i) dev::begin_arrivals(words_, i);
    dev::sync_warp();
  }
  CKE_DEVICE void expect(u32 slot, u32 bytes) const {
    if (dev::lane() == 0) dev::expect(words_, slot, bytes);
  }
  CKE_DEVICE void send(u32 slot, const dev::shared<std::byte>& to, u32 at, const std::byte* from, u32 bytes) const {
    if (dev::lane() == 0) dev::copy_bulk(to, at, from, bytes, words_, slot);
  }
  CKE_DEVICE void sent() const {}
  CKE_DEVICE void wait(u32 slot, u32 parity, u32) const {
    while (!dev::arrived(words_, slot, parity)) dev::pause();
  }
  CKE_DEVICE void wait_all() const {}

 private:
  dev::shared<u64> words_;
};

// A warp's ring, filled from the stream of weights that Plan describes.
template <class Plan, class Arch> class ring {
 public:
  CKE_DEVICE ring(const stretch* stretches, u32 tokens, const dealer& deal, u32 slots, u32 memory)
      : way_({stretches}, Plan::matrices, tokens, deal, dev::warp()),
        slots_(slots),
        mine_(tiles(slots, memory)),
        copies_(words(slots, memory), slots) {
    for (u32 i = 0; i < slots; ++i) send(i);
  }

  template <dtype F> CKE_DEVICE tile_in_shared<F> take(const std::byte* unit, u32 tile) {
    copies_.wait(slot_, parity_, slots_ - 1 - owed_);
    const dev::shared<std::byte> slot = dev::part_of(mine_, slot_ * Plan::slot_bytes, tile_bytes<F>);
    dev::came_from(slot, layout_of<F>::head_bytes, unit + layout_of<F>::body_at(tile));
    return {slot};
  }
  CKE_DEVICE void done() {
    dev::sync_warp();  // all lanes are done with the tile
    pass();
    if (++owed_ >= slots_ / 2) settle();
  }
  // Makes the requests that are owed. All lanes of a warp must take part.
  CKE_DEVICE void settle() {
    for (; owed_ > 0; --owed_) send(slot_ >= owed_ ? slot_ - owed_ : slot_ + slots_ - owed_);
  }
  // Waits for the copies still in flight; a block must not exit before they arrive.
  CKE_DEVICE void end() {
    copies_.wait_all();
    for (; under_way_ > 0; pass()) copies_.wait(slot_, parity_, 0);
  }

 private:
  struct from_table {
    const stretch* all;
    CKE_DEVICE stretch operator()(u32 i) const { return dev::load(all + i); }
  };
  CKE_DEVICE static dev::shared<std::byte> tiles(u32 slots, u32 memory) {
    const u32 bytes = slots * Plan::slot_bytes;
    return dev::part_of(dev::shared_memory(memory).take<std::byte>(block_warps * bytes), dev::warp() * bytes, bytes);
  }
  CKE_DEVICE static dev::shared<u64> words(u32 slots, u32 memory) {
    dev::shared_memory behind(memory + block_warps * slots * Plan::slot_bytes);
    return dev::part_of(behind.take<u64>(block_warps * slots), dev::warp() * slots, slots);
  }

  CKE_DEVICE void pass() {
    --under_way_;
    if (++slot_ == slots_) slot_ = 0, parity_ ^= 1;
  }
  CKE_DEVICE void send(u32 slot) {
    if (!way_.over()) {
      send_if_of<dtype::q8_0>(slot), send_if_of<dtype::q4_k>(slot);
      send_if_of<dtype::bf16>(slot), send_if_of<dtype::f16>(slot), send_if_of<dtype::f32>(slot);
      way_.next();
      ++under_way_;
    }
    copies_.sent();
  }
  template <dtype F> CKE_DEVICE void send_if_of(u32 slot) {
    if constexpr (Plan::template reads<F>)
      if (Plan::formats == 1 || way_.shape().as == F) send_tile<F>(slot);
  }
  template <dtype F> CKE_DEVICE void send_tile(u32 slot) {
    using at = layout_of<F>;
    const u32 tile = way_.tile(), left = way_.shape().bytes - at::body_at(tile),
              body = left < at::body_bytes ? left : at::body_bytes;
    const u32 to = slot * Plan::slot_bytes;
    copies_.expect(slot, at::head_bytes + body);
    if constexpr (at::head_bytes > 0) copies_.send(slot, mine_, to, way_.unit() + at::head_at(tile), at::head_bytes);
    copies_.send(slot, mine_, to + at::head_bytes, way_.unit() + at::body_at(tile), body);
  }

  walk<from_table> way_;
  u32 slots_, slot_ = 0, parity_ = 0, under_way_ = 0, owed_ = 0;
  dev::shared<std::byte> mine_;
  copies<Arch> copies_;
};

}  // namespace cke::cuda
