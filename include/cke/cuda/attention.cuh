// SPDX-License-Identifier: MIT
// attention.cuh: flash decoding: softmax(q k^T) v over blocks of 128 keys, and the merge of partial results.
#pragma once

#include "heads.cuh"
#include "rows.cuh"

namespace cke::cuda {

// A query's result for a block of keys is independent of the rest of the launch, and blocks are merged in order: four
// to a run, then run by run. So the bits are the same for every context length and batch, and equal those of
// kernels/attention/attention_kernel.hpp. Chains over pairs of bf16 take the odd element first, as AVX512-BF16 does.
inline constexpr u32 run_blocks = 4;

// A partial result: o [head_dim], the sum of p v; m, the greatest score; l, the sum of p = 2^(score - m).
CKE_DEVICE float* part_at(const step& s, u32 token, u32 head, u32 block) {
  return s.parts + ((u64{token - s.first} * s.heads + head) * s.key_blocks + block) * (s.head_dim + 2);
}
// The keys that a token attends to: [first, last).
struct key_range {
  u32 first, last;
};
CKE_DEVICE key_range keys_of(const step& s, u32 position) {
  return {position + 1 > s.window ? position + 1 - s.window : 0, position + 1};
}

// Block (key block, kv head, token - first) computes all query heads of its kv head.
// Shared memory: q [group][head_dim], p [group][128].
template <dtype KV> struct attend_block {
  using cache = cuda::cache<KV>;
  using element = typename cache::element;
  static constexpr u32 halves = block_threads / key_block;  // each half of the threads takes every other query
  static constexpr u32 together = 4;                        // queries that reuse one load of K

  static constexpr u32 shared_bytes(const step& s) {
    const u32 group = s.heads / s.kv_heads;
    return static_cast<u32>(align_up(u64{group} * s.head_dim * 4, 16)) + group * key_block * 4;
  }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 block = at.x, head = at.y, token = s.first + at.z;
    const u32 group = s.heads / s.kv_heads, start = block * key_block;
    const segment g = segment_of(s, token);
    const key_range seen = keys_of(s, position_of(g, token));
    if (start >= seen.last || start + key_block <= seen.first) return;
    const key_range here{seen.first > start ? seen.first - start : 0,
                         seen.last - start < key_block ? seen.last - start : key_block};

    dev::shared_memory memory;
    const auto q = memory.take<float>(group * s.head_dim), p = memory.take<float>(group * key_block);
    const float* const from = row_of(s.in[0], token) + u64{head} * group * s.head_dim;
    each(group * s.head_dim, [&](u32 i) { q[i] = rounded(dev::load(from + i)); });
    const element* const k = cache::keys(s, g, head, block);
    dev::sync();
    scores(s, here, q, p, k, group);
    dev::sync();
    for (u32 i = dev::warp(); i < group; i += block_warps)
      weigh(s, p, i, part_at(s, token, head * group + i, block) + s.head_dim);
    dev::sync();
    values(s, here, p, k + key_block * cache::width(s.head_dim), group, token, head, block);
  }

 private:
  CKE_DEVICE static float rounded(float x) { return KV == dtype::bf16 ? float_of_bf16(bf16_of(x)) : x; }

  // The element that step i of a chain takes.
  CKE_DEVICE static u32 nth(u32 i) { return cache::pair == 2 ? i ^ 1u : i; }

  // p[i][key] = q_i . key, scaled for 2^x; masked keys get the least float. A thread computes one key.
  CKE_DEVICE static void scores(const step& s, key_range here, const dev::shared<float>& q, const dev::shared<float>& p,
                                const element* k, u32 group) {
    constexpr float log2e = 1.44269504f, hidden = -3.40282347e38f;
    const u32 key = dev::thread() % key_block, half = dev::thread() / key_block;
    const bool visible = key >= here.first && key < here.last;
    const float factor = (s.cap != 0 ? s.cap : s.scale) * log2e;
    for (u32 first = half; first < group; first += halves * together) {
      float dot[together]{};
      for (u32 i = 0; visible && i < s.head_dim; ++i) {
        const u32 d = nth(i);
        const float x = cache::decode(dev::load(k + cache::k_index(key, d)));
        CKE_UNROLL
        for (u32 n = 0; n < together; ++n)
          if (first + n * halves < group) dot[n] = dev::fma(x, q[(first + n * halves) * s.head_dim + d], dot[n]);
      }
      CKE_UNROLL
      for (u32 n = 0; n < together; ++n) {
        if (first + n * halves >= group) continue;
        const float soft = s.cap != 0 ? tanh(dot[n] * dev::divide(s.scale, s.cap)) : dot[n];
        p[(first + n * halves) * key_block + key] = visible ? soft * factor : hidden;
      }
    }
  }
  // One warp turns the scores of query i into weights and writes m and l to `to`.
  CKE_DEVICE static void weigh(const step&, const dev::shared<float>& p, u32 i, float* to) {
    const u32 row = i * key_block;
    float m = p[row + dev::lane()];
    for (u32 j = warp_lanes; j < key_block; j += warp_lanes) m = larger(m, p[row + j + dev::lane()]);
    for (u32 apart = warp_lanes / 2; apart > 0; apart /= 2) m = larger(m, dev::shuffle_xor(m, apart));
    for (u32 j = dev::lane(); j < key_block; j += warp_lanes) p[row + j] = rounded(exp2(p[row + j] - m));
    dev::sync_warp();
    float sum = 0;
    for (u32 j = dev::lane() % sum_lanes; j < key_block; j += sum_lanes) sum += p[row + j];
    sum = sum_of_lanes(sum);
    if (dev::lane() == 0) dev::store(to, m), dev::store(to + 1, sum);
  }
  CKE_DEVICE static float larger(float a, float b) { return a > b ? a : b; }

  // Each thread sums one dim of one query over the keys, in one chain.
  CKE_DEVICE static void values(const step& s, key_range here, const dev::shared<float>& p, const element* v, u32 group,
                                u32 token, u32 head, u32 block) {
    each(group * s.head_dim, [&](u32 n) {
      const u32 i = n / s.head_dim, d = n % s.head_dim;
      float o = 0;
      for (u32 k = here.first / cache::pair * cache::pair; k < padded(here.last, cache::pair); ++k)
        if (const u32 j = nth(k); j >= here.first && j < here.last)
          o = dev::fma(cache::decode(dev::load(v + cache::v_index(j, s.head_dim, d))), p[i * key_block + j], o);
      dev::store(part_at(s, token, head * group + i, block) + d, o);
    });
  }
};

template <dtype KV> struct attend_block_kernel {
  template <class> using on = attend_block<KV>;
};

// Block (token - first, kv head) merges the partial results of its query heads.
struct attend_join {
  static constexpr u32 shared_bytes(const step&) { return 0; }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 token = s.first + at.x, head = at.y, wide = s.heads / s.kv_heads * s.head_dim, begin = head * wide;
    const key_range seen = keys_of(s, position_of(segment_of(s, token), token));
    const auto number = [&](u32 i) { return joined(s, seen, token, (begin + i) / s.head_dim, i % s.head_dim); };
    if (s.out[0].as == dtype::q8_0) {  // a q8_0 block of 32 lies within one kv head
      for (u32 block = dev::warp(); block < wide / 32; block += block_warps)
        put_block(s.out[0], token, begin / 32 + block, number(block * 32 + dev::lane()));
      return;
    }
    each(wide, [&](u32 i) {
      if (s.out[0].as == dtype::bf16) dev::store(bf16_row_of(s.out[0], token) + begin + i, bf16_of(number(i)));
      else dev::store(row_of(s.out[0], token) + begin + i, number(i));
    });
  }

 private:
  struct sum {
    float o = 0, m = -3.40282347e38f, l = 0;
    // Rescales both sides to the greater maximum, as in online softmax.
    CKE_DEVICE void add(const sum& from) {
      const float top = m > from.m ? m : from.m;
      const float old = exp2(m - top), fresh = exp2(from.m - top);
      m = top;
      l = dev::fma(l, old, from.l * fresh);
      o = dev::fma(o, old, from.o * fresh);
    }
  };
  CKE_DEVICE static float joined(const step& s, key_range seen, u32 token, u32 head, u32 d) {
    sum all;
    const u32 end = (seen.last + key_block - 1) / key_block;
    for (u32 block = seen.first / key_block; block < end;) {
      sum run;
      for (const u32 stop = (block / run_blocks + 1) * run_blocks; block < stop && block < end; ++block) {
        const float* const part = part_at(s, token, head, block);
        run.add({dev::load(part + d), dev::load(part + s.head_dim), dev::load(part + s.head_dim + 1)});
      }
      all.add(run);
    }
    return all.o * dev::divide(1.f, all.l);
  }
};
struct attend_join_kernel {
  template <class> using on = attend_join;
};

}  // namespace cke::cuda
