// SPDX-License-Identifier: MIT
// dawdling.hpp: a pace of blocks that stay: warps that come late to exchanges, and go late from them, each at random.
#pragma once

#include <cke/cuda/resident.cuh>

namespace dawdling {

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

// Nanoseconds of a warp at its n-th stop: mostly none, so that now these are late and now those.
inline constexpr u32 most = 4096;
CKE_CONSTEXPR u32 delay(u32 block, u32 warp, u32 n) {
  u32 x = (n * 0x9E3779B9u) ^ (block * 8 + warp + 1) * 0x85EBCA6Bu;
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  x ^= x >> 16;
  return x % 4 == 0 ? x >> 2 & (most - 1) : 0;
}

struct pace {
  CKE_DEVICE static void stop(u32 n) {
    const u32 wait = delay(dev::block().x, dev::warp(), n);
    if (wait == 0) return;
    for (const u64 start = dev::nanoseconds(); dev::nanoseconds() - start < wait;) dev::pause();
  }
};

}  // namespace dawdling
