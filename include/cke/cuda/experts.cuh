// SPDX-License-Identifier: MIT
// experts.cuh: the matrices of a mixture of experts, each for the rows that chose it, and the sum of what they find.
#pragma once

#include "routing.cuh"

namespace cke::cuda {

// Rows that the matrices of experts read: one token alone is gathered once, for all of them.
constexpr u32 gathered_rows(const router& r, u32 tokens) { return tokens == 1 ? 1 : tokens * r.active; }

// A block for each row, in the form that the matrices want.
template <> struct kernel<opcode::gather, dtype::f32, sm75> {
  static constexpr u32 shared_bytes(const step&) { return 0; }
  CKE_DEVICE static void run(const step& s, dev::place at) {
    const expert_rows rows(s.in[0], s.route, s.tokens);
    const float* const from = row_of(s.in[1], dev::load(rows.place() + at.x) / s.route.active);
    put_row(s.out[0], at.x, [&](u32 i) { return dev::load(from + i); });
  }
};

// Block (x, y): unit x of the matrices of one expert, for the rows of tile y. epilogue::gate: act(gate x) (up x), in the
// form that down wants; else down h, to the row's place among the parts.
template <dtype F, u32 T, class Arch> struct multiply_experts {
  static constexpr u32 shared_bytes(const step&) { return product<F, T, Arch>::shared_bytes; }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const expert_rows rows(s.in[0], s.route, s.tokens);
    if (at.y >= dev::load(rows.tiles())) return;
    const u32 expert = dev::load(rows.expert() + at.y), first = dev::load(rows.first() + at.y), count = dev::load(rows.first() + at.y + 1) - first;
    const u32 row = first + dev::warp(), group = s.matrices[0].group, units = (group + unit_rows - 1) / unit_rows;
    dev::shared_memory memory;
    const dev::shared<u32> found = memory.take<u32>(product<F, T, Arch>::shared_bytes / 4);
    const auto of = [&](const matrix& m, u32 from) {
      from_memory weights;
      return product<F, T, Arch>::of(weights, m.packed + (u64{expert} * units + at.x) * unit_bytes<F>(s.cols), s.cols, s.in[1], from, count, found);
    };
    const u32 column = at.x * unit_rows + dev::lane();
    if (s.how == epilogue::gate) {
      const u32 from = s.tokens == 1 ? 0 : first;
      const float gate = of(s.matrices[0], from), up = of(s.matrices[1], from);
      if (dev::warp() < count) put_block(s.out[0], row, at.x, column < group ? activate(s.act, gate) * up : 0.f);
    } else {
      const float y = of(s.matrices[0], first);
      if (dev::warp() < count && column < group) dev::store(s.parts + u64{dev::load(rows.place() + row)} * group + column, y);
    }
  }
};

// Block (x, token): columns [256 x, 256 x + 256) of the sum of weight * part, experts ascending, and last the shared
// expert's output (in[2], and in[3]: its gate's logit).
struct join_experts {
  static constexpr u32 shared_bytes(const step&) { return 0; }
  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 token = at.y, column = at.x * block_threads + dev::thread(), width = s.out[0].width;
    if (column >= width) return;
    const float* const weight = expert_rows(s.in[0], s.route, s.tokens).weight();
    float sum = 0;
    for (u32 place = token * s.route.active; place < (token + 1) * s.route.active; ++place)
      sum += dev::load(weight + place) * dev::load(s.parts + u64{place} * width + column);
    if (s.shared) {
      const float by = s.shared_gate ? dev::divide(1.f, 1.f + rounded_exp(-dev::load(row_of(s.in[3], token)))) : 1.f;
      sum += by * dev::load(row_of(s.in[2], token) + column);
    }
    float* const out = row_of(s.out[0], token) + column;
    dev::store(out, s.how == epilogue::add ? dev::load(out) + sum : sum);
  }
};

template <dtype F, u32 T> struct expert_kernel {
  template <class Arch> struct on : std::conditional_t<has_format<F>, multiply_experts<F, T, Arch>, no_kernel> {
    static_assert(has_format<F>, "cke: cuda: no product with experts of this dtype; specialise cke::cuda::format; see expert_kernel<dtype, tokens>");
  };
};
struct join_experts_kernel {
  template <class> using on = join_experts;
};

}  // namespace cke::cuda
