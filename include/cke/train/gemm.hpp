// SPDX-License-Identifier: MIT
// gemm.hpp: products of matrices in f32 with any strides, as gradients need them.
#pragma once

#include <algorithm>
#include <cstring>

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
};

// An element is one chain of multiply-adds, k ascending, that begins with what C holds. So its bits depend neither on
// how C is cut into units nor on how k is cut into calls.
template <class Isa> struct gemm {
  using batch = simd::vf32<Isa>;
  static constexpr u32 lanes = Isa::lanes, vectors = lanes == 4 ? 4 : 2, wide = lanes * vectors;
  static constexpr u32 tall = Isa::registers == 32 && vectors == 2 ? 12 : 6;
  static constexpr u32 block_m = 192, block_n = 128, block_k = 256;
  static constexpr u64 scratch_bytes = u64{block_m + block_n} * block_k * sizeof(float);

  static constexpr u32 units(u32 m, u32 n) { return ceil_div(m, block_m) * ceil_div(n, block_n); }

  static void unit(const product& p, u32 unit, std::byte* scratch) {
    const u32 across = ceil_div(p.n, block_n), m0 = unit / across * block_m, n0 = unit % across * block_n;
    const u32 m = std::min(block_m, p.m - m0), n = std::min(block_n, p.n - n0);
    float* const a = reinterpret_cast<float*>(scratch);  // [tiles][k][tall]
    float* const b = a + u64{block_m} * block_k;         // [panels][k][wide]
    for (u32 k0 = 0; k0 < p.k; k0 += block_k) {
      const u32 k = std::min(block_k, p.k - k0);
      for (u32 i = 0; i < m; i += tall)
        pack<tall>(p.a + (m0 + i) * p.am + k0 * p.ak, p.am, p.ak, std::min(tall, m - i), k, a + u64{i} * k);
      for (u32 j = 0; j < n; j += wide)
        pack<wide>(p.b + (n0 + j) * p.bn + k0 * p.bk, p.bn, p.bk, std::min(wide, n - j), k, b + u64{j} * k);
      for (u32 j = 0; j < n; j += wide)
        for (u32 i = 0; i < m; i += tall)
          tile(k, a + u64{i} * k, b + u64{j} * k, p.c + (m0 + i) * p.cm + n0 + j, p.cm, std::min(tall, m - i),
               std::min(wide, n - j));
    }
  }
  static void all(const product& p, std::byte* scratch) {
    for (u32 u = 0; u < units(p.m, p.n); ++u) unit(p, u, scratch);
  }

 private:
  // [k][Wide], with zeros after `count`.
  template <u32 Wide> static void pack(const float* from, u64 apart, u64 along, u32 count, u32 k, float* to) {
    if (count == Wide && apart == 1) {
      for (u32 t = 0; t < k; ++t, from += along) std::memcpy(to + u64{t} * Wide, from, Wide * sizeof(float));
      return;
    }
    for (u32 i = 0; i < count; ++i)
      for (u32 t = 0; t < k; ++t) to[u64{t} * Wide + i] = from[i * apart + t * along];
    for (u32 i = count; i < Wide; ++i)
      for (u32 t = 0; t < k; ++t) to[u64{t} * Wide + i] = 0;
  }
  static void tile(u32 k, const float* a, const float* b, float* c, u64 cm, u32 rows, u32 cols) {
    if (rows == tall && cols == wide) return full_tile(k, a, b, c, cm);
    float whole[tall * wide]{};
    for (u32 i = 0; i < rows; ++i) std::copy_n(c + i * cm, cols, whole + i * wide);
    full_tile(k, a, b, whole, wide);
    for (u32 i = 0; i < rows; ++i) std::copy_n(whole + i * wide, cols, c + i * cm);
  }
  static void full_tile(u32 k, const float* a, const float* b, float* c, u64 cm) {
    batch sum[tall][vectors];
    for (u32 i = 0; i < tall; ++i)
      for (u32 v = 0; v < vectors; ++v) sum[i][v] = batch::load_unaligned(c + i * cm + v * lanes);
    for (u32 t = 0; t < k; ++t, a += tall, b += wide) {
      batch y[vectors];
      for (u32 v = 0; v < vectors; ++v) y[v] = batch::load_unaligned(b + v * lanes);
#pragma GCC unroll 12
      for (u32 i = 0; i < tall; ++i) {
        const batch x(a[i]);
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
  static constexpr u32 units(u32 m, u32) { return m; }
  static void unit(const product& p, u32 i, std::byte*) {
    for (u32 j = 0; j < p.n; ++j) {
      float sum = p.c[i * p.cm + j];
      for (u32 k = 0; k < p.k; ++k) sum += p.a[i * p.am + k * p.ak] * p.b[k * p.bk + j * p.bn];
      p.c[i * p.cm + j] = sum;
    }
  }
  static void all(const product& p, std::byte* scratch) {
    for (u32 u = 0; u < p.m; ++u) unit(p, u, scratch);
  }
};

template <class Isa> void multiply_add(const crew& c, const product& p) {
  c.share(gemm<Isa>::units(p.m, p.n), [&](u32 u) { gemm<Isa>::unit(p, u, c.scratch); });
}

}  // namespace cke::train
