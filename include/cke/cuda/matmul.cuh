// SPDX-License-Identifier: MIT
// matmul.cuh: products in every format, 32 rows of a matrix times up to 8 tokens per block; and the embedding.
#pragma once

#include "format_plain.cuh"
#include "rows.cuh"

namespace cke::cuda {

inline constexpr u32 most_tokens = 8, wide_tokens = 64;  // tokens per block here, and in wide.cuh

// The rows of a unit; each group of a matrix starts a unit.
struct row_range {
  u32 first, count;
};
CKE_DEVICE row_range rows_of_unit(u32 group, u32 unit) {
  const u32 per = (group + unit_rows - 1) / unit_rows, in_group = unit % per * unit_rows, left = group - in_group;
  return {unit / per * group + in_group, left < unit_rows ? left : unit_rows};
}

// A unit is processed in slabs of k. Each warp multiplies a run of neighbouring items of a slab; then warp t folds
// those of token t into its rows' sums, while the others start on the next slab. Shared memory: two slabs of
// [item]{sums [tokens][row], factors [row], scales [tokens]}.
template <dtype F, u32 T, class Arch> struct product {
  using f = format<F>;
  static constexpr u32 items_of_warp = f::columns > 32 ? 1 : T == 1 ? 4 : 2, items = items_of_warp * block_warps;
  static constexpr u32 scales_at = (T + f::factors) * unit_rows;
  static constexpr u32 words = scales_at + (f::factors > 0 ? T * u32{sizeof(block_scale)} / 4 : 0);  // per item
  static constexpr u32 shared_bytes = 2 * items * words * 4;
  static_assert(items <= warp_lanes);
  using sum = typename f::sum;

  // Warp t returns the sum for token first + t and this lane's row; other warps return 0.
  template <class From>
  CKE_DEVICE static float of(From& from, const std::byte* unit, u32 cols, const view& x, u32 first, u32 count,
                             dev::shared<u32> found) {
    const u32 all = (cols + f::columns - 1) / f::columns;
    float acc = 0;
    u32 slab = 0;
    for (u32 begin = 0; begin < all; begin += items, slab ^= items * words) {
      const auto at = [&](u32 i, u32 word) { return slab + (i - begin) * words + word * unit_rows; };
      const auto put = [&](u32 i, u32 row, u32 t, sum s) { found[at(i, t) + row] = dev::bits<u32>(s); };
      const auto keep = [&](u32 i, u32 k, float factor) { found[at(i, T + k) + dev::lane()] = dev::bits<u32>(factor); };
      const block_scale scale = scale_of(x, first, count, begin + dev::lane(), all);
      if (const u32 mine = begin + dev::warp() * items_of_warp; mine < all)
        f::template items<T, Arch, items_of_warp>(from, unit, mine, all, cols, x, first, count, put, keep);
      put_scale(found, slab + dev::lane() * words, scale, count);
      dev::sync();
      if (dev::warp() < count) acc = fold(acc, found, slab, all - begin);
    }
    dev::sync();  // so that the memory can be reused
    return acc;
  }

 private:
  // Warp t has the scales of its token's items of a slab, one in each lane. They are asked for before the products.
  CKE_DEVICE static block_scale scale_of(const view& x, u32 first, u32 count, u32 item, u32 all) {
    if constexpr (f::factors > 0)
      if (dev::warp() < count && dev::lane() < items && item < all)
        return dev::load(scales_of(x, first + dev::warp()) + item);
    return {};
  }
  CKE_DEVICE static void put_scale(const dev::shared<u32>& found, u32 item, const block_scale& scale, u32 count) {
    if constexpr (f::factors > 0) {
      if (dev::warp() >= count || dev::lane() >= items) return;
      found[item + scales_at + 2 * dev::warp()] = dev::bits<u32>(scale.d);
      found[item + scales_at + 2 * dev::warp() + 1] = dev::bits<u32>(scale.sum);
    }
  }
  // Adds the items of a slab, `left` at most; eight are read at once.
  CKE_DEVICE static float fold(float acc, const dev::shared<u32>& found, u32 slab, u32 left) {
    constexpr u32 at_once = 8;
    if (left >= items) {
      for (u32 i = 0; i < items; i += at_once) CKE_UNROLL
      for (u32 j = 0; j < at_once; ++j) acc = fold_item(acc, found, slab + (i + j) * words);
    } else {
      for (u32 i = 0; i < left; ++i) acc = fold_item(acc, found, slab + i * words);
    }
    return acc;
  }
  CKE_DEVICE static float fold_item(float acc, const dev::shared<u32>& found, u32 from) {
    const sum s = dev::bits<sum>(u32{found[from + dev::warp() * unit_rows + dev::lane()]});
    if constexpr (f::factors == 0) {
      return acc + s;
    } else {
      float factors[f::factors];
      CKE_UNROLL
      for (u32 k = 0; k < f::factors; ++k)
        factors[k] = dev::bits<float>(u32{found[from + (T + k) * unit_rows + dev::lane()]});
      const u32 scale = from + scales_at + 2 * dev::warp();
      return f::fold(acc, s, factors, {dev::bits<float>(u32{found[scale]}), dev::bits<i32>(u32{found[scale + 1]})});
    }
  }
};

// ---- epilogues: y is the product of row `lane` of a unit with a token; a warp calls them with all lanes

CKE_DEVICE float with_bias(const matrix& m, u32 unit, float y) {
  const row_range rows = rows_of_unit(m.group, unit);
  return m.bias && dev::lane() < rows.count ? y + dev::load(m.bias + rows.first + dev::lane()) : y;
}
// Stores a hidden row: act(y), times `up` if there is a gate.
CKE_DEVICE void put_hidden(const step& s, u32 unit, u32 token, float y, float up = 1) {
  const bool row = dev::lane() < rows_of_unit(s.matrices[0].group, unit).count;
  const float acted = activate(s.act, y);
  put_block(s.out[0], token, unit, row ? s.how == epilogue::gate ? acted * up : acted : 0.f);
}
CKE_DEVICE void put_rows(const step& s, const matrix& m, u32 unit, u32 token, float y) {
  if (s.how == epilogue::act) return put_hidden(s, unit, token, y);
  const row_range rows = rows_of_unit(m.group, unit);
  if (dev::lane() >= rows.count) return;
  float* const out = row_of(m.out, token) + rows.first + dev::lane();
  dev::store(out, s.how == epilogue::add ? dev::load(out) + y : y);
}
// The matrix that a unit of the launch belongs to.
CKE_DEVICE matrix matrix_of(const step& s, u32 unit) {
  matrix m = s.matrices[0];
  CKE_UNROLL
  for (u32 k = 1; k < 3; ++k)
    if (k < s.matrix_count && unit >= s.matrices[k].first) m = s.matrices[k];
  return m;
}

// Block (x, y): unit x of the step's matrices, tokens from T y on.
template <dtype F, u32 T, class Arch> struct multiply_rows {
  static constexpr u32 shared_bytes(const step&) { return product<F, T, Arch>::shared_bytes; }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    from_memory weights;
    run(s, at, weights);
  }
  template <class From> CKE_DEVICE static void run(const step& s, dev::place at, From& weights) {
    dev::shared_memory memory;
    const dev::shared<u32> found = memory.take<u32>(product<F, T, Arch>::shared_bytes / 4);
    const u32 first = at.y * T, left = s.tokens - first, count = left < T ? left : T, token = first + dev::warp();
    const bool mine = dev::warp() < count;
    const auto of = [&](const matrix& m, u32 unit) {
      return with_bias(m, unit,
                       product<F, T, Arch>::of(weights, m.packed + unit * unit_bytes<F>(s.cols), s.cols, s.in[0], first,
                                               count, found));
    };
    if (s.how == epilogue::gate) {
      const float gate = of(s.matrices[0], at.x), up = of(s.matrices[1], at.x);
      if (mine) put_hidden(s, at.x, token, gate, up);
    } else {
      const matrix m = matrix_of(s, at.x);
      const float y = of(m, at.x - m.first);
      if (mine) put_rows(s, m, at.x - m.first, token, y);
    }
  }
};

template <dtype F, u32 T> struct multiply_kernel {
  template <class Arch> struct on : std::conditional_t<has_format<F>, multiply_rows<F, T, Arch>, no_kernel> {
    static_assert(has_format<F>,
                  "cke: cuda: no product with matrices of this dtype; specialise cke::cuda::format; see "
                  "multiply_kernel<dtype, tokens>");
  };
};

// One block per token.
template <dtype F>
  requires has_format<F>
struct kernel<opcode::embedding, F, sm75> {
  static constexpr u32 shared_bytes(const step&) { return 0; }
  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 token = at.x, id = dev::load(s.now.ids + token);
    const std::byte* const unit = s.matrices[0].packed + u64{id / unit_rows} * unit_bytes<F>(s.cols);
    float* const out = row_of(s.out[0], token);
    each(s.cols, [&](u32 i) { dev::store(out + i, format<F>::number(unit, id % unit_rows, i)); });
  }
};

}  // namespace cke::cuda
