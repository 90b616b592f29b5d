// SPDX-License-Identifier: MIT
// heads.cuh: norm and rope, one warp per head; and the store of keys and values.
#pragma once

#include "kernel.cuh"

namespace cke::cuda {

// Block (x, token): heads [8 x, 8 x + 8) of q followed by k, in place or from in to out.
template <bool Norm, bool Turn> struct head_rows {
  static constexpr u32 shared_bytes(const step&) { return 0; }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 token = at.y, head = at.x * block_warps + dev::warp();
    const bool of_k = head >= s.heads;
    if (head >= s.heads + (s.in[1].data ? s.kv_heads : 0)) return;
    const u64 first = u64{of_k ? head - s.heads : head} * s.head_dim;
    const float* const x = row_of(of_k ? s.in[1] : s.in[0], token) + first;
    float* const out = row_of(of_k ? s.out[1] : s.out[0], token) + first;
    if constexpr (Norm) {
      const float squares = squares_by_warp(s.head_dim, [&](u32 i) { return dev::load(x + i); });
      const float scale = norm_scale(squares, s.head_dim, s.eps);
      const float* const w = of_k ? s.weight[1] : s.weight[0];
      dev::sync_warp();
      for (u32 i = dev::lane(); i < s.head_dim; i += warp_lanes) {
        const float normed = dev::load(x + i) * scale;
        dev::store(out + i, w ? normed * (dev::load(w + i) + s.offset) : normed);
      }
    }
    if constexpr (Turn) {
      if (!Norm && x != out)
        for (u32 i = dev::lane(); i < s.head_dim; i += warp_lanes) dev::store(out + i, dev::load(x + i));
      dev::sync_warp();
      turn(s, out, position_of(segment_of(s, token), token));
    }
  }

 private:
  // Rotates the pair (a, b) to (a c - b s, b c + a s).
  CKE_DEVICE static void turn(const step& s, float* x, u32 position) {
    const u32 half = s.rope_width / 2;
    const bool apart = s.pairs == pairing::split;
    for (u32 i = dev::lane(); i < half; i += warp_lanes) {
      float *const first = x + (apart ? i : 2 * i), *const second = first + (apart ? half : 1);
      const float a = dev::load(first), b = dev::load(second);
      const float c = dev::load(s.cos + u64{position} * half + i), sine = dev::load(s.sin + u64{position} * half + i);
      dev::store(first, dev::fma(a, c, -(b * sine)));
      dev::store(second, dev::fma(b, c, a * sine));
    }
  }
};
template <> struct kernel<opcode::head_norm, dtype::f32, sm75> : head_rows<true, false> {};
template <> struct kernel<opcode::rope, dtype::f32, sm75> : head_rows<false, true> {};
template <> struct kernel<opcode::head_norm_rope, dtype::f32, sm75> : head_rows<true, true> {};

// Layout of a kv head's cache in a page, as on the CPU (kernels/attention/kv_cache.hpp). Neighbouring threads access
// neighbouring keys of K and neighbouring dims of V.
template <dtype KV> struct cache {
  static_assert(KV == dtype::f32 || KV == dtype::f16 || KV == dtype::bf16,
                "cke: cuda: keys and values are f32, f16 or bf16; see cache<dtype>");
  using element = std::conditional_t<KV == dtype::f32, float, u16>;
  static constexpr u32 pair = KV == dtype::bf16 ? 2 : 1;
  using word = std::conditional_t<pair == 2, u32, element>;  // a pair is loaded at once

  CKE_DEVICE static u32 width(u32 head_dim) { return (head_dim + 31) / 32 * 32; }
  CKE_DEVICE static u32 k_index(u32 position, u32 i) {
    return (i / pair * key_block + position % key_block) * pair + i % pair;
  }
  CKE_DEVICE static u32 v_index(u32 position, u32 head_dim, u32 i) {
    return (position % key_block / pair * width(head_dim) + i) * pair + position % pair;
  }
  // K of a key block; V follows it.
  CKE_DEVICE static element* keys(const step& s, const segment& g, u32 head, u32 block) {
    return reinterpret_cast<element*>(dev::load(s.now.pages + g.page + block) + s.kv_offset + head * s.kv_block_bytes);
  }
  CKE_DEVICE static element* values(element* keys, u32 head_dim) { return keys + key_block * width(head_dim); }

  CKE_DEVICE static element encode(float x) {
    if constexpr (KV == dtype::f32) return x;
    else if constexpr (KV == dtype::bf16) return bf16_of(x);
    else return f16_of(clamp(x, -65504.f, 65504.f));  // an infinity would turn masked positions into NaN
  }
  CKE_DEVICE static float decode(element x) {
    if constexpr (KV == dtype::f32) return x;
    else return KV == dtype::bf16 ? float_of_bf16(x) : float_of_f16(x);
  }
  CKE_DEVICE static float decode(word w, u32 i) {  // number i of a word
    if constexpr (pair == 2) return float_of_bf16(w >> i * 16 & 0xffffu);
    else return decode(w);
  }
};

// Block (token, kv head).
template <dtype KV> struct store_keys {
  static constexpr u32 shared_bytes(const step&) { return 0; }
  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 token = at.x, head = at.y;
    const segment g = segment_of(s, token);
    const u32 position = position_of(g, token);
    auto* const k = cache<KV>::keys(s, g, head, position / key_block);
    auto* const v = cache<KV>::values(k, s.head_dim);
    const u64 first = u64{head} * s.head_dim;
    for (u32 i = dev::thread(); i < s.head_dim; i += block_threads) {
      dev::store(k + cache<KV>::k_index(position, i), cache<KV>::encode(dev::load(row_of(s.in[0], token) + first + i)));
      dev::store(v + cache<KV>::v_index(position, s.head_dim, i),
                 cache<KV>::encode(dev::load(row_of(s.in[1], token) + first + i)));
    }
  }
};
template <dtype KV> struct kernel<opcode::kv_store, KV, sm75> : store_keys<KV> {};

}  // namespace cke::cuda
