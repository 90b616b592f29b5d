// SPDX-License-Identifier: MIT
// gemm.hpp: products of matrices with any strides, as gradients need them: sums in f32, factors in f32 or bf16.
#pragma once

#include <algorithm>
#include <cstring>

#include "../core/simd.hpp"
#include "work.hpp"

namespace cke::train {

// C[m][n] += sum over k of A[m][k] B[k][n]; element (m, k) of A is a[m * am + k * ak], and so on.
struct product {
  u32 m, n, k;
  const float* a;
  u64 am, ak;
  const float* b;
  u64 bk, bn;
  float* c;
  u64 cm;
  bool bf16 = false;           // A and B are rounded to bf16 first
  bool sets = false;           // C is not added to but set: each row begins with
  const float* row = nullptr;  // these numbers; null: with 0

  // What rows [m0, m0 + rows) and columns [n0, n0 + cols) begin with.
  void begin(u32 m0, u32 rows, u32 n0, u32 cols) const {
    if (!sets) return;
    for (u32 i = m0; i < m0 + rows; ++i)
      if (row) std::copy_n(row + n0, cols, c + i * cm + n0);
      else std::fill_n(c + i * cm + n0, cols, 0.f);
  }
};

// An element is one chain of multiply-adds, k ascending, that begins with what C holds. So its bits depend neither on
// how C is cut into units nor on how k is cut into calls.
template <class Isa> struct gemm {
  using batch = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes, vectors = lanes == 4 ? 4 : 2, wide = lanes * vectors;
  static constexpr u32 tall = Isa::registers == 32 && vectors == 2 ? 12 : 6;
  // A unit of C is at most most_rows x some_cols. B is packed once for it, A in parts; both stay in a core's own cache.
  static constexpr u32 most_rows = 288, part_rows = 48, some_cols = 128, most_k = 256;
  static_assert(part_rows % tall == 0 && some_cols % wide == 0);
  static constexpr u64 scratch_bytes = (u64{part_rows + some_cols} * most_k + lanes) * sizeof(float);

  // C as units of [rows][some_cols], `across` of them side by side.
  struct cut {
    u32 rows, across, units;
  };
  // The cut that keeps threads busy for the shortest time; among such, that of the fewest units.
  static constexpr cut cut_for(u32 m, u32 n, u32 threads) {
    const u32 across = ceil_div(n, some_cols), fewest = ceil_div(m, most_rows), most = ceil_div(m, part_rows);
    cut best{};
    u64 shortest = ~u64{};
    for (u32 down = fewest; down <= most && down <= fewest + threads; ++down) {
      const u32 rows = ceil_div(ceil_div(m, down), tall) * tall, units = ceil_div(m, rows) * across;
      const u64 time = u64{ceil_div(units, threads)} * rows;
      if (time < shortest) shortest = time, best = {rows, across, units};
    }
    return best;
  }

  static void unit(const product& p, const cut& all, u32 unit, std::byte* scratch) {
    const u32 m0 = unit / all.across * all.rows, n0 = unit % all.across * some_cols;
    const u32 m = std::min(all.rows, p.m - m0), n = std::min(some_cols, p.n - n0);
    p.begin(m0, m, n0, n);
    float* const b = reinterpret_cast<float*>(scratch);  // [panels][k][wide]
    float* const a = b + u64{some_cols} * most_k;        // [tiles][k][tall]
    const bool packs = p.ak != 1 || p.bf16;              // else rows of A are read where they are
    const u32 some_k = p.k ? ceil_div(p.k, ceil_div(p.k, most_k)) : 1;
    for (u32 k0 = 0; k0 < p.k; k0 += some_k) {
      const u32 k = std::min(some_k, p.k - k0);
      pack<wide>(p.b + n0 * p.bn + k0 * p.bk, p.bn, p.bk, n, k, b);
      if (p.bf16) round(b, ceil_div(n, wide) * wide * k);
      for (u32 i0 = m0; i0 < m0 + m; i0 += part_rows) {
        const u32 rows = std::min(part_rows, m0 + m - i0);
        const float* const from = p.a + i0 * p.am + k0 * p.ak;
        if (packs) pack<tall>(from, p.am, p.ak, rows, k, a);
        if (p.bf16) round(a, ceil_div(rows, tall) * tall * k);
        float* const c = p.c + i0 * p.cm + n0;
        for (u32 j = 0; j < n; j += wide)
          for (u32 i = 0; i < rows; i += tall) {
            for (u32 next = i + tall; next < std::min(i + 2 * tall, rows); ++next)
              __builtin_prefetch(c + next * p.cm + j, 1);
            const place at{k, b + u64{j} * k, c + i * p.cm + j, p.cm, std::min(tall, rows - i), std::min(wide, n - j)};
            if (packs) tile<tall>(a + u64{i} * k, 1, at);
            else tile<1>(from + i * p.am, p.am, at);
          }
      }
    }
  }
  static void all(const product& p, std::byte* scratch) {
    const cut whole = cut_for(p.m, p.n, 1);
    for (u32 u = 0; u < whole.units; ++u) unit(p, whole, u, scratch);
  }

 private:
  // To [ceil(count / Wide)][k][Wide], with zeros after `count`; may write up to `lanes` numbers beyond its end.
  template <u32 Wide> static void pack(const float* from, u64 apart, u64 along, u32 count, u32 k, float* to) {
    const u32 full = count / Wide * Wide;
    u32 t = 0;
    if (apart == 1)
      for (u32 next; t < k; t = next) {  // some at a time, so that a panel's lines are written whole
        next = std::min(t + 8, k);
        for (u32 i = 0; i < full; i += Wide)
          for (u32 at = t; at < next; ++at)
            std::memcpy(to + u64{i} * k + at * Wide, from + at * along + i, Wide * sizeof(float));
      }
    else if (along == 1)  // in squares; what a store puts beyond a narrower panel is overwritten by the next one
      for (u32 panel = 0; panel < full; panel += Wide)
        for (t = 0; t + lanes <= k; t += lanes)
          for (u32 i = 0; i < Wide; i += lanes) {
            const u32 first = Wide < lanes ? 0 : std::min(i, Wide - lanes);
            batch square[lanes];
            for (u32 r = 0; r < lanes; ++r)
              square[r] = batch::load_unaligned(from + (panel + std::min(first + r, Wide - 1)) * apart + t);
            xsimd::transpose(square, square + lanes);
            float* const there = to + u64{panel} * k + t * Wide + first;
            for (u32 r = 0; r < lanes; ++r) square[r].store_unaligned(there + r * Wide);
          }
    const auto one_by_one = [&](u32 i, u32 begin) {
      for (u32 at = begin; at < k; ++at)
        to[u64{i / Wide * Wide} * k + at * Wide + i % Wide] = i < count ? from[i * apart + at * along] : 0;
    };
    for (u32 i = 0; i < full; ++i) one_by_one(i, t);
    for (u32 i = full; i < ceil_div(count, Wide) * Wide; ++i) one_by_one(i, 0);
  }

  static void round(float* x, u64 count) {
    u64 i = 0;
    for (; i + lanes <= count; i += lanes) simd::round_bf16<Isa>(batch::load_unaligned(x + i)).store_unaligned(x + i);
    for (; i < count; ++i) x[i] = from_bf16(to_bf16(x[i]));
  }

  // A tile of C, the panel of B and the depth for it.
  struct place {
    u32 k;
    const float* b;
    float* c;
    u64 cm;
    u32 rows, cols;
  };
  // Element (i, t) of A is a[i * am + t * Along].
  template <u32 Along> static void tile(const float* a, u64 am, const place& p) {
    if (p.rows == tall && p.cols == wide) return full_tile<Along>(a, am, p.k, p.b, p.c, p.cm);
    float whole[tall * wide]{}, rows[Along == 1 ? tall * most_k : 1];
    if (Along == 1 && p.rows < tall) {  // A has no more
      for (u32 i = 0; i < tall; ++i)
        if (i < p.rows) std::copy_n(a + i * am, p.k, rows + i * most_k);
        else std::fill_n(rows + i * most_k, p.k, 0.f);
      a = rows, am = most_k;
    }
    for (u32 i = 0; i < p.rows; ++i) std::copy_n(p.c + i * p.cm, p.cols, whole + i * wide);
    full_tile<Along>(a, am, p.k, p.b, whole, wide);
    for (u32 i = 0; i < p.rows; ++i) std::copy_n(whole + i * wide, p.cols, p.c + i * p.cm);
  }
  template <u32 Along>
  static void full_tile(const float* a, u64 am, u32 k, const float* b, float* c, u64 cm) {
    batch sum[tall][vectors];
    for (u32 i = 0; i < tall; ++i)
      for (u32 v = 0; v < vectors; ++v) sum[i][v] = batch::load_unaligned(c + i * cm + v * lanes);
    for (u32 t = 0; t < k; ++t, a += Along, b += wide) {
      batch y[vectors];
      for (u32 v = 0; v < vectors; ++v) y[v] = batch::load_unaligned(b + v * lanes);
#pragma GCC unroll 12
      for (u32 i = 0; i < tall; ++i) {
        const batch x(a[i * am]);
#pragma GCC unroll 4
        for (u32 v = 0; v < vectors; ++v) sum[i][v] = xsimd::fma(x, y[v], sum[i][v]);
      }
    }
    for (u32 i = 0; i < tall; ++i)
      for (u32 v = 0; v < vectors; ++v) sum[i][v].store_unaligned(c + i * cm + v * lanes);
  }
};
template <> struct gemm<isa::scalar> {
  static constexpr u64 scratch_bytes = 0;
  struct cut {
    u32 units;
  };
  static constexpr cut cut_for(u32 m, u32, u32) { return {m}; }
  static void unit(const product& p, const cut&, u32 i, std::byte*) {
    const auto factor = [&](float x) { return p.bf16 ? from_bf16(to_bf16(x)) : x; };
    p.begin(i, 1, 0, p.n);
    for (u32 j = 0; j < p.n; ++j) {
      float sum = p.c[i * p.cm + j];
      for (u32 k = 0; k < p.k; ++k) sum += factor(p.a[i * p.am + k * p.ak]) * factor(p.b[k * p.bk + j * p.bn]);
      p.c[i * p.cm + j] = sum;
    }
  }
  static void all(const product& p, std::byte* scratch) {
    for (u32 u = 0; u < p.m; ++u) unit(p, {p.m}, u, scratch);
  }
};

template <class Isa> void multiply(const crew& c, const product& p) {
  const auto cut = gemm<Isa>::cut_for(p.m, p.n, c.threads.size());
  c.share(cut.units, [&](u32 u) { gemm<Isa>::unit(p, cut, u, c.scratch); });
}

}  // namespace cke::train
