// SPDX-License-Identifier: MIT
// rows.cuh: row-wise steps, one block per token: norms, residuals, activations.
#pragma once

#include "kernel.cuh"

namespace cke::cuda {

// Calls f(i) for every i < n, distributed over the block's threads.
template <class F> CKE_DEVICE void each(u32 n, F&& f) {
  for (u32 i = dev::thread(); i < n; i += block_threads) f(i);
}

// The same for take(i, at(i)); a thread asks for four numbers at once.
template <class At, class Take> CKE_DEVICE void each_of(u32 n, At&& at, Take&& take) {
  constexpr u32 at_once = 4;
  for (u32 i = dev::thread(); i < n; i += at_once * block_threads) {
    float x[at_once];
    CKE_UNROLL
    for (u32 k = 0; k < at_once; ++k)
      if (i + k * block_threads < n) x[k] = at(i + k * block_threads);
    CKE_UNROLL
    for (u32 k = 0; k < at_once; ++k)
      if (i + k * block_threads < n) take(i + k * block_threads, x[k]);
  }
}

// A warp stores columns [32 block, 32 block + 32) of a token, one number per lane, in the register's format.
CKE_DEVICE void put_block(const view& to, u32 token, u32 block, float x) {
  const u32 column = block * 32 + dev::lane();
  if (to.as == dtype::q8_0) {
    const quantised q = quantise(x);
    dev::store(reinterpret_cast<i8*>(codes_of(to, token)) + column, static_cast<i8>(q.code));
    if (dev::lane() == 0) dev::store(scales_of(to, token) + block, block_scale{q.d, q.sum});
  } else if (to.as == dtype::bf16) {
    if (column < padded(to.width, 8)) dev::store(bf16_row_of(to, token) + column, bf16_of(x));
  } else if (column < to.width) {
    dev::store(row_of(to, token) + column, x);
  }
}
// Stores a whole row and pads it with zeros; at(i) is its number i.
template <class At> CKE_DEVICE void put_row(const view& to, u32 token, At&& at) {
  constexpr u32 at_once = 4;  // blocks of a warp
  const u32 blocks = padded(to.width, 32) / 32;
  for (u32 block = dev::warp(); block < blocks; block += at_once * block_warps) {
    float x[at_once]{};
    CKE_UNROLL
    for (u32 k = 0; k < at_once; ++k)
      if (const u32 i = (block + k * block_warps) * 32 + dev::lane(); i < to.width) x[k] = at(i);
    CKE_UNROLL
    for (u32 k = 0; k < at_once; ++k)
      if (block + k * block_warps < blocks) put_block(to, token, block + k * block_warps, x[k]);
  }
}

// Shared memory: the row, then the sums of 64 chains.
struct norm_row {
  static constexpr u32 shared_bytes(const step& s) {
    return static_cast<u32>(align_up(u64{s.cols} * 4, 16)) + square_chains * 4;
  }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 token = at.x;
    dev::shared_memory memory;
    const dev::shared<float> x = memory.take<float>(s.cols), sums = memory.take<float>(square_chains);
    const float* const from = row_of(s.in[0], token);
    each_of(s.cols, [&](u32 i) { return dev::load(from + i); }, [&](u32 i, float number) { x[i] = number; });
    dev::sync();
    each(square_chains, [&](u32 q) { sums[q] = square_chain(s.cols, q, [&](u32 i) -> float { return x[i]; }); });
    dev::sync();
    const u32 l = dev::lane() % sum_lanes;  // every warp computes the same sum
    const float squares = sum_of_lanes((sums[l] + sums[l + 16]) + (sums[l + 32] + sums[l + 48]));
    const float scale = norm_scale(squares, s.cols, s.eps);
    put_row(s.out[0], token, [&](u32 i) {
      const float normed = x[i] * scale * (dev::load(s.weight[0] + i) + s.offset);
      return s.scale != 0 ? normed * s.scale : normed;
    });
  }
};
template <> struct kernel<opcode::rmsnorm, dtype::f32, sm75> : norm_row {};
template <> struct kernel<opcode::norm_quantize, dtype::f32, sm75> : norm_row {};

// out = f(i) for every number i of the token's row.
template <class Row> struct pointwise {
  static constexpr u32 shared_bytes(const step&) { return 0; }
  CKE_DEVICE static void run(const step& s, dev::place at) {
    put_row(s.out[0], at.x, [&](u32 i) { return Row::at(s, at.x, i); });
  }
};
struct copied {
  CKE_DEVICE static float at(const step& s, u32 token, u32 i) { return dev::load(row_of(s.in[0], token) + i); }
};
struct summed {
  CKE_DEVICE static float at(const step& s, u32 token, u32 i) {
    return copied::at(s, token, i) + dev::load(row_of(s.in[1], token) + i);
  }
};
struct scaled {
  CKE_DEVICE static float at(const step& s, u32 token, u32 i) {
    return copied::at(s, token, i) * (s.weight[0] ? dev::load(s.weight[0]) : s.scale);
  }
};
struct capped {
  CKE_DEVICE static float at(const step& s, u32 token, u32 i) {
    return tanh(dev::divide(copied::at(s, token, i), s.cap)) * s.cap;
  }
};
struct acted {
  CKE_DEVICE static float at(const step& s, u32 token, u32 i) { return activate(s.act, copied::at(s, token, i)); }
};
// gate and up lie side by side in in[0], or up is in[1].
struct gated {
  CKE_DEVICE static float at(const step& s, u32 token, u32 i) {
    const float* const up = s.in[1].data ? row_of(s.in[1], token) : row_of(s.in[0], token) + s.cols;
    return activate(s.act, copied::at(s, token, i)) * dev::load(up + i);
  }
};
template <> struct kernel<opcode::quantize, dtype::f32, sm75> : pointwise<copied> {};
template <> struct kernel<opcode::residual_save, dtype::f32, sm75> : pointwise<copied> {};
template <> struct kernel<opcode::residual_add, dtype::f32, sm75> : pointwise<summed> {};
template <> struct kernel<opcode::scale, dtype::f32, sm75> : pointwise<scaled> {};
template <> struct kernel<opcode::softcap, dtype::f32, sm75> : pointwise<capped> {};
template <> struct kernel<opcode::act, dtype::f32, sm75> : pointwise<acted> {};
template <> struct kernel<opcode::act_mul, dtype::f32, sm75> : pointwise<gated> {};
template <> struct kernel<opcode::act_mul_quantize, dtype::f32, sm75> : pointwise<gated> {};

}  // namespace cke::cuda
