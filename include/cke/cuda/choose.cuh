// SPDX-License-Identifier: MIT
// choose.cuh: chooses the next id on the device: argmax of the logits, plus Gumbel noise to sample from their softmax.
#pragma once

#include <limits>

#include "kernel.cuh"

namespace cke::cuda {

struct candidate {
  float value;
  u32 id;
};
// Ties go to the smaller id.
CKE_DEVICE bool better(const candidate& a, const candidate& b) {
  return a.value > b.value || (a.value == b.value && a.id < b.id);
}

// Philox4x32-10 (see text/sampling/random.hpp): the first word of the counter {position, 0, id, 1}.
CKE_DEVICE u32 random_word(u64 seed, u32 position, u32 id) {
  u32 c[4]{position, 0, id, 1}, k[2]{static_cast<u32>(seed), static_cast<u32>(seed >> 32)};
  CKE_UNROLL
  for (u32 round = 0; round < 10; ++round, k[0] += 0x9E3779B9u, k[1] += 0xBB67AE85u) {
    const u64 a = u64{0xD2511F53u} * c[0], b = u64{0xCD9E8D57u} * c[2];
    c[0] = static_cast<u32>(b >> 32) ^ c[1] ^ k[0], c[1] = static_cast<u32>(b);
    c[2] = static_cast<u32>(a >> 32) ^ c[3] ^ k[1], c[3] = static_cast<u32>(a);
  }
  return c[0];
}
// Gumbel noise, -log(-log(1 - u)) for u uniform in (0, 1). It is large where u is small, where floats are dense.
CKE_DEVICE float gumbel(u32 word) {
  const float u = (static_cast<float>(word) + 0.5f) * 0x1p-32f;
  const float waiting = u < 0x1p-6f ? u * dev::fma(u, dev::fma(u, dev::fma(u, 0.25f, 0.333333333f), 0.5f), 1.f)
                                    : -log(u < 1.f ? 1.f - u : 0x1p-24f);
  return -log(waiting);
}
// NaN and +inf map to infinity, so that they win and are detected.
CKE_DEVICE float score(float logit, const device_sampling& how, u32 position, u32 id) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (!(logit < infinity)) return infinity;
  return how.temperature > 0 ? dev::divide(logit, how.temperature) + gumbel(random_word(how.seed, position, id))
                             : logit;
}

CKE_DEVICE candidate best_of_warp(candidate c) {
  for (u32 apart = warp_lanes / 2; apart > 0; apart /= 2) {
    const candidate other{dev::shuffle_xor(c.value, apart), dev::shuffle_xor(c.id, apart)};
    if (better(other, c)) c = other;
  }
  return c;
}
// Every thread of the block returns the block's best candidate.
inline constexpr u32 best_bytes = block_warps * sizeof(candidate);
CKE_DEVICE candidate best_of_block(candidate c, dev::shared_memory memory) {
  const dev::shared<float> values = memory.take<float>(block_warps);
  const dev::shared<u32> ids = memory.take<u32>(block_warps);
  c = best_of_warp(c);
  if (dev::lane() == 0) values[dev::warp()] = c.value, ids[dev::warp()] = c.id;
  dev::sync();
  const u32 w = dev::lane() % block_warps;
  return best_of_warp({values[w], ids[w]});
}

// One block chooses the id that follows the token whose logits are in[0], and writes it to out[0]; if a logit is not
// finite, that id is out of range.
struct choose_kernel {
  template <class> struct on {
    static constexpr u32 shared_bytes(const step&) { return best_bytes; }
    CKE_DEVICE static void run(const step& s, dev::place) {
      const device_sampling how = dev::load(s.how_chosen);
      const float* const logits = row_of(s.in[0], 0);
      candidate c{-std::numeric_limits<float>::infinity(), s.cols};
      for (u32 id = dev::thread(); id < s.cols; id += block_threads)
        if (const candidate here{score(dev::load(logits + id), how, s.first, id), id}; better(here, c)) c = here;
      c = best_of_block(c, dev::shared_memory());
      if (dev::thread() == 0)
        dev::store(reinterpret_cast<u32*>(s.out[0].data),
                   c.value < std::numeric_limits<float>::infinity() ? c.id : s.cols);
    }
  };
};

}  // namespace cke::cuda
