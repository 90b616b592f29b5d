// SPDX-License-Identifier: MIT
// experts.cuh: mixture of experts: products with the rows routed to each expert, and the weighted sum of results.
#pragma once

#include "routing.cuh"
#include "wide.cuh"

namespace cke::cuda {

// Input rows of the experts' matrices; a single token is gathered once for all its experts.
constexpr u32 gathered_rows(const router& r, u32 tokens) { return tokens == 1 ? 1 : tokens * r.active; }

// One block per row copies it, in the form that the matrices need.
template <> struct kernel<opcode::gather, dtype::f32, sm75> {
  static constexpr u32 shared_bytes(const step&) { return 0; }
  CKE_DEVICE static void run(const step& s, dev::place at) {
    const expert_rows rows(s.in[0], s.route, s.tokens);
    const float* const from = row_of(s.in[1], dev::load(rows.place() + at.x) / s.route.active);
    put_row(s.out[0], at.x, [&](u32 i) { return dev::load(from + i); });
  }
};

// A tile of rows of one expert; count 0: there is no such tile.
struct expert_tile {
  u32 expert, first, count;
};
CKE_DEVICE expert_tile tile_of(const step& s, u32 i) {
  const expert_rows rows(s.in[0], s.route, s.tokens);
  if (i >= dev::load(rows.tiles())) return {};
  const u32 first = dev::load(rows.first() + i);
  return {dev::load(rows.expert() + i), first, dev::load(rows.first() + i + 1) - first};
}
CKE_DEVICE u32 units_of_expert(const step& s) { return (s.matrices[0].group + unit_rows - 1) / unit_rows; }
template <dtype F> CKE_DEVICE const std::byte* unit_of_expert(const step& s, const matrix& m, u32 expert, u32 unit) {
  return m.packed + (u64{expert} * units_of_expert(s) + unit) * unit_bytes<F>(s.cols);
}
// Stores a row's product with a unit: a hidden row (experts without gates), or the row's slot in `parts` (down).
CKE_DEVICE void put_of_expert(const step& s, u32 row, u32 unit, float y) {
  if (s.how == epilogue::act) return put_hidden(s, unit, row, y);
  const u32 width = s.matrices[0].group, column = unit * unit_rows + dev::lane();
  const u32 place = dev::load(expert_rows(s.in[0], s.route, s.tokens).place() + row);
  if (column < width) dev::store(s.parts + u64{place} * width + column, y);
}

// Block (x, y): unit x of one expert's matrices, times the rows of tile y.
template <dtype F, u32 T, class Arch> struct multiply_experts {
  static constexpr u32 shared_bytes(const step&) { return product<F, T, Arch>::shared_bytes; }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const expert_tile tile = tile_of(s, at.y);
    if (tile.count == 0) return;
    const u32 row = tile.first + dev::warp(), from = s.tokens == 1 && s.how != epilogue::store ? 0 : tile.first;
    dev::shared_memory memory;
    const dev::shared<u32> found = memory.take<u32>(product<F, T, Arch>::shared_bytes / 4);
    const auto of = [&](const matrix& m) {
      from_memory weights;
      return product<F, T, Arch>::of(weights, unit_of_expert<F>(s, m, tile.expert, at.x), s.cols, s.in[1], from,
                                     tile.count, found);
    };
    if (s.how == epilogue::gate) {
      const float gate = of(s.matrices[0]), up = of(s.matrices[1]);
      if (dev::warp() < tile.count) put_hidden(s, at.x, row, gate, up);
    } else {
      const float y = of(s.matrices[0]);
      if (dev::warp() < tile.count) put_of_expert(s, row, at.x, y);
    }
  }
};

// The same with tiles of 64 rows: unit x of gate and of up, or units 2 x and 2 x + 1 of one matrix.
template <dtype F, class Arch> struct multiply_experts_wide {
  using product = wide_product<F, Arch>;
  static constexpr u32 shared_bytes(const step&) { return product::shared_bytes; }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const expert_tile tile = tile_of(s, at.y);
    if (tile.count == 0) return;
    const bool gated = s.how == epilogue::gate, second = gated || 2 * at.x + 1 < units_of_expert(s);
    const u32 unit = gated ? at.x : 2 * at.x;
    product p{
        {{unit_of_expert<F>(s, s.matrices[0], tile.expert, unit), nullptr}, s.cols, s.in[1], tile.first, tile.count}};
    if (second)
      p.o.unit[1] = gated ? unit_of_expert<F>(s, s.matrices[1], tile.expert, unit)
                          : unit_of_expert<F>(s, s.matrices[0], tile.expert, unit + 1);
    const dev::shared<float> sums = p.run();
    for (u32 t = dev::warp(); t < tile.count; t += block_warps) {
      const auto y = [&](u32 h) -> float { return sums[t * sums_of_token + h * unit_rows + dev::lane()]; };
      if (gated) put_hidden(s, unit, tile.first + t, y(0), y(1));
      else put_of_expert(s, tile.first + t, unit, y(0));
      if (!gated && second) put_of_expert(s, tile.first + t, unit + 1, y(1));
    }
  }
};

// Block (x, token) computes columns [256 x, 256 x + 256) of the sum of weight * part, experts in ascending order, then
// adds the shared expert's output (in[2]; in[3] is the logit of its gate).
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
    static_assert(has_format<F>,
                  "cke: cuda: no product with experts of this dtype; specialise cke::cuda::format; see "
                  "expert_kernel<dtype, tokens>");
  };
};
template <dtype F> struct wide_expert_kernel {
  template <class Arch> using on = multiply_experts_wide<F, Arch>;
};
struct join_experts_kernel {
  template <class> using on = join_experts;
};

}  // namespace cke::cuda
