// SPDX-License-Identifier: MIT
// wide.cuh: products for prompts: 64 rows times up to 64 tokens per block, so weights are read once for 64 tokens.
#pragma once

#include "wide_bf16.cuh"
#include "wide_codes.cuh"
#include "wide_plain.cuh"

namespace cke::cuda {

// All give the same bits as narrow products.
template <dtype F, class Arch>
using wide_product =
    std::conditional_t<std::is_same_v<typename format<F>::sum, i32>, wide_codes<F, Arch>,
                       std::conditional_t<by_tensor_cores<F, Arch>, wide_bf16<Arch>, wide_plain<F, Arch>>>;
// A launch takes its shared memory size from sm75's kernel.
static_assert(wide_bf16<sm80>::shared_bytes <= wide_plain<dtype::bf16, sm75>::shared_bytes);

// Block (x, y): units 2 x and 2 x + 1 of the step's matrices, or unit x of gate and of up; tokens from 64 y on.
template <dtype F, class Arch> struct multiply_wide {
  using product = wide_product<F, Arch>;
  static constexpr u32 shared_bytes(const step&) { return product::shared_bytes; }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 first = at.y * wide_tokens, left = s.tokens - first, count = left < wide_tokens ? left : wide_tokens;
    const bool gated = s.how == epilogue::gate;
    matrix m[2];
    u32 unit[2];
    product p{{{nullptr, nullptr}, s.cols, s.in[0], first, count}};
    CKE_UNROLL
    for (u32 h = 0; h < 2; ++h) {
      m[h] = gated ? s.matrices[h] : matrix_of(s, 2 * at.x + h);
      unit[h] = gated ? at.x : 2 * at.x + h - m[h].first;
      if (gated || 2 * at.x + h < s.units) p.o.unit[h] = m[h].packed + unit[h] * unit_bytes<F>(s.cols);
    }
    const dev::shared<float> sums = p.run();
    for (u32 t = dev::warp(); t < count; t += block_warps) {
      const auto y = [&](u32 h) {
        return with_bias(m[h], unit[h], sums[t * sums_of_token + h * unit_rows + dev::lane()]);
      };
      if (gated) put_hidden(s, at.x, first + t, y(0), y(1));
      else CKE_UNROLL
      for (u32 h = 0; h < 2; ++h)
        if (p.o.unit[h]) put_rows(s, m[h], unit[h], first + t, y(h));
    }
  }
};

template <dtype F> struct wide_kernel {
  template <class Arch> using on = multiply_wide<F, Arch>;
};

}  // namespace cke::cuda
