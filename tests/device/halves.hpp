// SPDX-License-Identifier: MIT
// halves.hpp: the two halves of a token by themselves: rings that bring all weights for nobody, and the chain of steps
// and waits without weights. A token takes at least as long as either.
#pragma once

#include <cke/cuda/megakernel.cuh>

namespace halves {

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

// In place of rings: tiles of zeros, which are always there. All logits are then zeros, and all ids are id 0.
template <class Plan, class Arch> class zeros {
 public:
  CKE_DEVICE zeros(const cuda::stretch*, u32, const cuda::dealer&, u32, u32 memory)
      : tile_(dev::part_of(dev::shared_memory(memory).take<std::byte>(cuda::block_warps * Plan::slot_bytes),
                           dev::warp() * Plan::slot_bytes, Plan::slot_bytes)) {
    for (u32 at = dev::lane() * 4; at < Plan::slot_bytes; at += cuda::warp_lanes * 4) dev::put(tile_, at, 0u);
    dev::sync_warp();
  }
  template <dtype F> CKE_DEVICE cuda::tile_in_shared<F> take(const std::byte*, u32) const { return {tile_}; }
  CKE_DEVICE void done() const {}
  CKE_DEVICE void settle() const {}
  CKE_DEVICE void end() const {}

 private:
  dev::shared<std::byte> tile_;
};
template <class P, dtype KV> using chain = cuda::megakernel<P, KV, cuda::at_once, zeros>;

// The rings alone: every warp takes its tiles of all tokens as they come. No ids, and logits of zeros. Generations
// without rings feed nothing.
template <class P, dtype KV> struct rings : cuda::megakernel<P, KV> {
  using whole = cuda::megakernel<P, KV>;
  using typename whole::call, typename whole::plan;

  template <class Arch> struct on {
    CKE_DEVICE static void run(const call& c) {
      if constexpr (cuda::copies<Arch>::exist) {
        const cuda::dealer deal(dev::block().x, c.blocks, c.group);
        cuda::ring<plan, Arch> tiles(c.stretches, c.tokens, deal, c.slots, whole::ring_at);
        cuda::walk<table> way({c.stretches}, plan::matrices, c.tokens, deal, dev::warp());
        for (; !way.over(); way.next()) take(tiles, way);
        tiles.end();
      }
      if (dev::block().x != 0) return;
      constexpr u32 at = plan::memory[plan::footer].common_at[P::footer_code().regs.size() - 1];
      for (u32 id = dev::thread(); id < P::vocab; id += cuda::block_threads)
        dev::store(reinterpret_cast<float*>(c.common + at) + id, 0.f);
      if (dev::thread() != 0) return;
      dev::store(c.fed, cuda::copies<Arch>::exist ? c.tokens : 0);
      dev::store_release(c.end, static_cast<u32>(cuda::ending::finished));
    }

   private:
    struct table {
      const cuda::stretch* all;
      CKE_DEVICE cuda::stretch operator()(u32 i) const { return dev::load(all + i); }
    };
    template <class Ring, class Walk> CKE_DEVICE static void take(Ring& tiles, const Walk& way) {
      take_if_of<dtype::q8_0>(tiles, way), take_if_of<dtype::q4_k>(tiles, way), take_if_of<dtype::bf16>(tiles, way);
      take_if_of<dtype::f16>(tiles, way), take_if_of<dtype::f32>(tiles, way);
      tiles.done();
    }
    template <dtype F, class Ring, class Walk> CKE_DEVICE static void take_if_of(Ring& tiles, const Walk& way) {
      if constexpr (plan::template reads<F>)
        if (way.shape().as == F) static_cast<void>(tiles.template take<F>(way.unit(), way.tile()));
    }
  };
};

}  // namespace halves
