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

  float first(u32 i, u32 j) const { return !sets ? c[i * cm + j] : row ? row[j] : 0; }  // what an element begins with
};

// An element is one chain of multiply-adds, k ascending, that begins with what C holds. So its bits depend neither on
// how C is cut into units nor on how k is cut into calls.
template <class Isa> struct gemm {
  using batch = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes, vectors = lanes == 4 ? 4 : 2, wide = lanes * vectors;
  static constexpr u32 tall = Isa::registers == 32 && vectors == 2 ? 12 : 6;
  // A unit of C is at most most_rows x most_cols. B is packed once for it, A in parts; both stay in a core's own cache.
  static constexpr u32 most_rows = 576, part_rows = 96, most_cols = lanes == 16 ? 384 : 256, part_cols = 96,
                       most_k = 384;
  static_assert(part_rows % tall == 0 && most_cols % wide == 0 && part_cols % wide == 0);
  static constexpr u64 scratch_bytes = (u64{part_rows + most_cols} * most_k + lanes) * sizeof(float);

  // C as units of [rows][cols], `across` of them side by side.
  struct cut {
    u32 rows, cols, across, units;
  };
  // The cut that keeps threads busy for the shortest time; among such, that of the fewest units.
  static constexpr cut cut_for(u32 m, u32 n, u32 threads) {
    cut best{};
    u64 shortest = ~u64{};
    each_cut(n, most_cols, part_cols, wide, threads, [&](u32 cols) {
      each_cut(m, most_rows, part_rows, tall, threads, [&](u32 rows) {
        const u32 across = ceil_div(n, cols), units = ceil_div(m, rows) * across;
        const u64 time = u64{ceil_div(units, threads)} * rows * cols;
        if (time < shortest || (time == shortest && units < best.units))
          shortest = time, best = {rows, cols, across, units};
      });
    });
    return best;
  }

  static void unit(const product& p, const cut& all, u32 unit, std::byte* scratch) {
    const u32 m0 = unit / all.across * all.rows, n0 = unit % all.across * all.cols;
    const u32 m = std::min(all.rows, p.m - m0), n = std::min(all.cols, p.n - n0);
    float* const b = reinterpret_cast<float*>(scratch);  // [panels][k][wide]
    float* const a = b + u64{most_cols} * most_k;        // [tiles][k][tall]
    const kind as = p.bf16 && has_pairs ? kind::pairs : p.bf16 || p.ak != 1 ? kind::numbers : kind::in_place;
    const u32 parts = std::max(ceil_div(p.k, most_k), 1u), some_k = 2 * ceil_div(p.k, 2 * parts);
    for (u32 part = 0; part < parts; ++part) {
      const u32 k0 = part * some_k, k = std::min(some_k, p.k - k0), steps = as == kind::pairs ? ceil_div(k, 2u) : k;
      const start from = part > 0 || !p.sets ? start::sums : p.row ? start::row : start::zero;
      pack<wide>({p.b + n0 * p.bn + k0 * p.bk, p.bn, p.bk, n, k}, p.bf16, 0.f, b);
      for (u32 i0 = m0; i0 < m0 + m; i0 += part_rows) {
        const u32 rows = std::min(part_rows, m0 + m - i0);
        const factor of_a{p.a + i0 * p.am + k0 * p.ak, p.am, p.ak, rows, k};
        if (as != kind::in_place) pack<tall>(of_a, p.bf16, -0.f, a);
        float* const c = p.c + i0 * p.cm + n0;
        for (u32 j = 0; j < n; j += wide)
          for (u32 i = 0; i < rows; i += tall) {
            for (u32 next = i + tall; next < std::min(i + 2 * tall, rows); ++next)
              for (u32 line = 0; line < wide; line += 16) __builtin_prefetch(c + next * p.cm + j + line, 1);
            const place at{steps,
                           b + u64{j} * steps,
                           c + i * p.cm + j,
                           p.cm,
                           std::min(tall, rows - i),
                           std::min(wide, n - j),
                           from,
                           p.row ? p.row + n0 + j : nullptr};
            if (as == kind::in_place) tile<kind::in_place>(of_a.at + i * p.am, p.am, at);
            else if (as == kind::numbers) tile<kind::numbers>(a + u64{i} * steps, 1, at);
            else if constexpr (has_pairs) tile<kind::pairs>(a + u64{i} * steps, 1, at);
          }
      }
    }
  }
  static void all(const product& p, std::byte* scratch) {
    const cut whole = cut_for(p.m, p.n, 1);
    for (u32 u = 0; u < whole.units; ++u) unit(p, whole, u, scratch);
  }

 private:
  // f(size) for cuts of n into equal parts of at most `most`, whole tiles each; as many more as threads may need.
  template <class F> static constexpr void each_cut(u32 n, u32 most, u32 least, u32 tile, u32 threads, F f) {
    const u32 fewest = ceil_div(n, most);
    for (u32 parts = fewest; parts <= ceil_div(n, least) && parts <= fewest + threads; ++parts)
      f(ceil_div(ceil_div(n, parts), tile) * tile);
  }

  // How a tile reads A: rows of numbers where they lie, or panels, whose steps along k are numbers or, where a dot adds
  // the products of two bf16 as two multiply-adds would, pairs of them.
  enum class kind { in_place, numbers, pairs };
  static constexpr bool has_pairs = simd::has_bf16_dots<Isa>;

  // Rows of A or columns of B: number t of the i-th is at[i * apart + t * along].
  struct factor {
    const float* at;
    u64 apart, along;
    u32 count, k;
  };
  // To panels of steps [ceil(count / Wide)][steps][Wide]. What an odd k lacks of a pair is `beyond`: -0 times 0 changes
  // no sum, nor the sign of a zero. May write up to `lanes` numbers beyond its end.
  template <u32 Wide> static void pack(const factor& f, bool bf16, float beyond, float* to) {
    if (!bf16 || !has_pairs) {
      copy<Wide>(f, f.k, to);
      if (bf16) round(to, u64{ceil_div(f.count, Wide)} * Wide * f.k);
    } else if constexpr (has_pairs) {
      const u32 even = 2 * ceil_div(f.k, 2u), panels = ceil_div(f.count, Wide);
      copy<Wide>(f, even, to);
      for (u32 panel = 0; even > f.k && panel < panels; ++panel)
        std::fill_n(to + (u64{panel} * even + f.k) * Wide, Wide, beyond);
      const float* from = to;
      for (u64 pair = 0; pair < u64{panels} * even / 2; ++pair, from += 2 * Wide, to += Wide)
        for (u32 i = 0; i < Wide; i += lanes)  // what is beyond Wide is overwritten by the next
          simd::bf16_chain<Isa>(batch::load_unaligned(from + i), batch::load_unaligned(from + Wide + i))
              .store_unaligned(reinterpret_cast<i32*>(to + i));
    }
  }
  // To [ceil(count / Wide)][deep][Wide], with zeros after `count`, for t below k.
  template <u32 Wide> static void copy(const factor& f, u32 deep, float* to) {
    const auto [from, apart, along, count, k] = f;
    const u32 full = count / Wide * Wide;
    u32 t = 0;
    if (apart == 1)
      for (u32 next; t < k; t = next) {  // some at a time, so that a panel's lines are written whole
        next = std::min(t + 8, k);
        for (u32 i = 0; i < full; i += Wide)
          for (u32 at = t; at < next; ++at)
            std::memcpy(to + u64{i} * deep + at * Wide, from + at * along + i, Wide * sizeof(float));
      }
    else if (along == 1)  // in squares; what a store puts beyond a narrower panel is overwritten by the next one
      for (u32 panel = 0; panel < full; panel += Wide)
        for (t = 0; t + lanes <= k; t += lanes)
          for (u32 i = 0; i < Wide; i += lanes) {
            const u32 first = Wide < lanes ? 0 : std::min(i, Wide - lanes);
            batch square[lanes];
            for (u32 r = 0; r < lanes; ++r)
              square[r] = batch::load_unaligned(from + (panel + std::min(first + r, Wide - 1)) * apart + t);
            simd::transpose<Isa>(square);
            float* const there = to + u64{panel} * deep + t * Wide + first;
            for (u32 r = 0; r < lanes; ++r) square[r].store_unaligned(there + r * Wide);
          }
    const auto one_by_one = [&](u32 i, u32 begin) {
      for (u32 at = begin; at < k; ++at)
        to[u64{i / Wide * Wide} * deep + at * Wide + i % Wide] = i < count ? from[i * apart + at * along] : 0;
    };
    for (u32 i = 0; i < full; ++i) one_by_one(i, t);
    for (u32 i = full; i < ceil_div(count, Wide) * Wide; ++i) one_by_one(i, 0);
  }

  static void round(float* x, u64 count) {
    u64 i = 0;
    for (; i + lanes <= count; i += lanes) simd::round_bf16<Isa>(batch::load_unaligned(x + i)).store_unaligned(x + i);
    for (; i < count; ++i) x[i] = from_bf16(to_bf16(x[i]));
  }

  enum class start { sums, zero, row };  // what a tile begins with: what C holds, 0, or `row` in each of its rows
  // A tile of C, the panel of B and its steps.
  struct place {
    u32 steps;
    const float* b;
    float* c;
    u64 cm;
    u32 rows, cols;
    start from;
    const float* row;
  };
  // Rows of A are am apart, if they are not in panels.
  template <kind As> static void tile(const float* a, u64 am, const place& p) {
    if (p.rows == tall && p.cols == wide) return full_tile<As>(a, am, p);
    float whole[tall * wide]{}, rows[As == kind::in_place ? tall * most_k : 1];
    if (As == kind::in_place && p.rows < tall) {  // A has no more
      for (u32 i = 0; i < tall; ++i)
        if (i < p.rows) std::copy_n(a + i * am, p.steps, rows + i * most_k);
        else std::fill_n(rows + i * most_k, p.steps, 0.f);
      a = rows, am = most_k;
    }
    for (u32 i = 0; i < p.rows && p.from != start::zero; ++i)
      std::copy_n(p.from == start::row ? p.row : p.c + i * p.cm, p.cols, whole + i * wide);
    full_tile<As>(a, am, {p.steps, p.b, whole, wide, tall, wide, start::sums, nullptr});
    for (u32 i = 0; i < p.rows; ++i) std::copy_n(whole + i * wide, p.cols, p.c + i * p.cm);
  }
  template <kind As>
  static void full_tile(const float* a, u64 am, const place& p) {
    const u32 along = As == kind::in_place ? 1 : tall;
    const float* b = p.b;
    batch sum[tall][vectors];
    for (u32 i = 0; i < tall; ++i)
      for (u32 v = 0; v < vectors; ++v)
        sum[i][v] = p.from == start::zero
            ? batch(0.f)
            : batch::load_unaligned((p.from == start::row ? p.row : p.c + i * p.cm) + v * lanes);
    for (u32 t = 0; t < p.steps; ++t, a += along, b += wide) {
      batch y[vectors];
      for (u32 v = 0; v < vectors; ++v) y[v] = batch::load_unaligned(b + v * lanes);
#pragma GCC unroll 12
      for (u32 i = 0; i < tall; ++i) {
        const batch x(a[i * am]);
#pragma GCC unroll 4
        for (u32 v = 0; v < vectors; ++v)
          if constexpr (As == kind::pairs)
            sum[i][v] = simd::dot2_bf16<Isa>(sum[i][v], simd::as<simd::vi32<Isa>>(x), simd::as<simd::vi32<Isa>>(y[v]));
          else sum[i][v] = xsimd::fma(x, y[v], sum[i][v]);
      }
    }
    for (u32 i = 0; i < tall; ++i)
      for (u32 v = 0; v < vectors; ++v) sum[i][v].store_unaligned(p.c + i * p.cm + v * lanes);
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
    for (u32 j = 0; j < p.n; ++j) {
      float sum = p.first(i, j);
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
