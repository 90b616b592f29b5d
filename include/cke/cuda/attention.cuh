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
  // Those of the block from `start` on, counted from there.
  CKE_DEVICE key_range within(u32 start) const {
    return {first > start ? first - start : 0, last - start < key_block ? last - start : key_block};
  }
};
CKE_DEVICE key_range keys_of(const step& s, u32 position) {
  return {position + 1 > s.window ? position + 1 - s.window : 0, position + 1};
}

inline constexpr float hidden = -3.40282347e38f;  // the score of a key that a query does not see

template <dtype KV> CKE_DEVICE float rounded(float x) { return KV == dtype::bf16 ? float_of_bf16(bf16_of(x)) : x; }
// The number of a pair that step e of a chain takes.
template <dtype KV> CKE_DEVICE u32 nth(u32 e) { return cache<KV>::pair == 2 ? e ^ 1u : e; }

// The score of a dot product, for 2^x.
CKE_DEVICE float score_of(const step& s, float dot) {
  constexpr float log2e = 1.44269504f;
  return s.cap != 0 ? tanh(dot * dev::divide(s.scale, s.cap)) * (s.cap * log2e) : dot * (s.scale * log2e);
}

// The greatest score m of some keys, and the sum l of their weights 2^(score - m).
struct softmax_part {
  float m = hidden, l = 0;

  struct factors {
    float old, fresh;
  };
  // Adds other keys, as online softmax does: both sides are rescaled to the greater maximum, by the factors returned.
  CKE_DEVICE factors add(const softmax_part& from) {
    const float top = m > from.m ? m : from.m;
    const factors by{exp2(m - top), exp2(from.m - top)};
    m = top;
    l = dev::fma(l, by.old, from.l * by.fresh);
    return by;
  }
};
// The same with sums of weight times value, in some dims.
template <u32 Dims> struct weighted_sum : softmax_part {
  float o[Dims]{};

  CKE_DEVICE void add(const weighted_sum& from) {
    const factors by = softmax_part::add(from);
    CKE_UNROLL
    for (u32 d = 0; d < Dims; ++d) o[d] = dev::fma(o[d], by.old, from.o[d] * by.fresh);
  }
};
// One warp turns the 128 scores of a query, from p[row] on, into weights.
template <dtype KV> CKE_DEVICE softmax_part weigh(const dev::shared<float>& p, u32 row) {
  const auto larger = [](float a, float b) { return a > b ? a : b; };
  float m = p[row + dev::lane()];
  for (u32 j = warp_lanes; j < key_block; j += warp_lanes) m = larger(m, p[row + j + dev::lane()]);
  for (u32 apart = warp_lanes / 2; apart > 0; apart /= 2) m = larger(m, dev::shuffle_xor(m, apart));
  for (u32 j = dev::lane(); j < key_block; j += warp_lanes) p[row + j] = rounded<KV>(exp2(p[row + j] - m));
  dev::sync_warp();
  float sum = 0;
  for (u32 j = dev::lane() % sum_lanes; j < key_block; j += sum_lanes) sum += p[row + j];
  return {m, sum_of_lanes(sum)};
}

// Loads that a thread has under way at once. A load takes hundreds of cycles, so one at a time would be all there is.
inline constexpr u32 loads_ahead = 16;

// Calls take(load(i), i) for i in [begin, end), in order.
template <class Load, class Take> CKE_DEVICE void load_ahead(u32 begin, u32 end, Load&& load, Take&& take) {
  for (; begin + loads_ahead <= end; begin += loads_ahead) {
    decltype(load(begin)) some[loads_ahead];
    CKE_UNROLL
    for (u32 j = 0; j < loads_ahead; ++j) some[j] = load(begin + j);
    CKE_UNROLL
    for (u32 j = 0; j < loads_ahead; ++j) take(some[j], begin + j);
  }
  if (begin >= end) return;
  decltype(load(begin)) some[loads_ahead];
  CKE_UNROLL
  for (u32 j = 0; j < loads_ahead; ++j) some[j] = load(begin + j < end ? begin + j : end - 1);
  CKE_UNROLL
  for (u32 j = 0; j < loads_ahead; ++j)
    if (begin + j < end) take(some[j], begin + j);
}

// Block (key block, kv head, token - first) computes all query heads of its kv head.
// Shared memory: q [group][head_dim], p [group][128].
template <dtype KV> struct attend_block {
  using cache = cuda::cache<KV>;
  using element = typename cache::element;
  using word = typename cache::word;
  static constexpr u32 halves = block_threads / key_block;  // each half of the threads takes every other query

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
    const key_range here = seen.within(start);

    dev::shared_memory memory;
    const auto q = memory.take<float>(group * s.head_dim), p = memory.take<float>(group * key_block);
    const float* const from = row_of(s.in[0], token) + u64{head} * group * s.head_dim;
    each_of(
        group * s.head_dim, [&](u32 i) { return dev::load(from + i); }, [&](u32 i, float x) { q[i] = rounded<KV>(x); });
    const element* const k = cache::keys(s, g, head, block);
    dev::sync();
    if (const u32 key = dev::thread() % key_block; key >= here.first && key < here.last) scores(s, key, q, p, k, group);
    else
      for (u32 i = dev::thread() / key_block; i < group; i += halves) p[i * key_block + key] = hidden;
    dev::sync();
    for (u32 i = dev::warp(); i < group; i += block_warps) {
      const softmax_part w = weigh<KV>(p, i * key_block);
      float* const to = part_at(s, token, head * group + i, block) + s.head_dim;
      if (dev::lane() == 0) dev::store(to, w.m), dev::store(to + 1, w.l);
    }
    dev::sync();
    values(s, here, p, k + key_block * cache::width(s.head_dim), group, token, head, block);
  }

 private:
  // p[i][key] = q_i . key, scaled for 2^x. A thread computes one key.
  CKE_DEVICE static void scores(const step& s, u32 key, const dev::shared<float>& q, const dev::shared<float>& p,
                                const element* k, u32 group) {
    u32 i = dev::thread() / key_block;
    for (; i + halves < group; i += 2 * halves) scores_of<2>(s, key, q, p, k, i);
    if (i < group) scores_of<1>(s, key, q, p, k, i);
  }
  // Of queries first, first + halves ..., which share the loads of the key.
  template <u32 N> CKE_DEVICE static void scores_of(const step& s, u32 key, const dev::shared<float>& q,
                                                    const dev::shared<float>& p, const element* k, u32 first) {
    float dot[N]{};
    const word* const of_key = reinterpret_cast<const word*>(k + cache::k_index(key, 0));
    load_ahead(
        0, s.head_dim / cache::pair, [&](u32 w) { return dev::load(of_key + w * key_block); },
        [&](word x, u32 w) {
          CKE_UNROLL
          for (u32 e = 0; e < cache::pair; ++e) CKE_UNROLL
          for (u32 n = 0; n < N; ++n) {
            const u32 d = nth<KV>(e);
            dot[n] = dev::fma(cache::decode(x, d), q[(first + n * halves) * s.head_dim + w * cache::pair + d], dot[n]);
          }
        });
    CKE_UNROLL
    for (u32 n = 0; n < N; ++n) p[(first + n * halves) * key_block + key] = score_of(s, dot[n]);
  }

  // Each thread sums one dim of one query over the keys, in one chain. Of a pair at either end one key may be hidden.
  CKE_DEVICE static void values(const step& s, key_range here, const dev::shared<float>& p, const element* v, u32 group,
                                u32 token, u32 head, u32 block) {
    each(group * s.head_dim, [&](u32 n) {
      const u32 i = n / s.head_dim, d = n % s.head_dim, width = cache::width(s.head_dim);
      float o = 0;
      const auto add = [&](float x, u32 key) { o = dev::fma(x, p[i * key_block + key], o); };
      const auto add_alone = [&](u32 key) {
        add(cache::decode(dev::load(v + cache::v_index(key, s.head_dim, d))), key);
      };
      if (here.first % cache::pair != 0) add_alone(here.first);
      const word* const of_dim = reinterpret_cast<const word*>(v) + d;
      load_ahead((here.first + cache::pair - 1) / cache::pair, here.last / cache::pair,
                 [&](u32 w) { return dev::load(of_dim + w * width); },
                 [&](word x, u32 w) {
                   CKE_UNROLL
                   for (u32 e = 0; e < cache::pair; ++e)
                     add(cache::decode(x, nth<KV>(e)), w * cache::pair + nth<KV>(e));
                 });
      if (here.last % cache::pair != 0) add_alone(here.last - 1);
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
  CKE_DEVICE static float joined(const step& s, key_range seen, u32 token, u32 head, u32 d) {
    weighted_sum<1> all;
    const u32 end = (seen.last + key_block - 1) / key_block;
    for (u32 block = seen.first / key_block; block < end;) {
      const u32 stop = (block / run_blocks + 1) * run_blocks, here = (stop < end ? stop : end) - block;
      weighted_sum<1> run, parts[run_blocks];
      CKE_UNROLL
      for (u32 i = 0; i < run_blocks; ++i) {
        if (i >= here) continue;
        const float* const part = part_at(s, token, head, block + i);
        parts[i].o[0] = dev::load(part + d);
        parts[i].m = dev::load(part + s.head_dim), parts[i].l = dev::load(part + s.head_dim + 1);
      }
      CKE_UNROLL
      for (u32 i = 0; i < run_blocks; ++i)
        if (i < here) run.add(parts[i]);
      all.add(run);
      block += here;
    }
    return all.o[0] * dev::divide(1.f, all.l);
  }
};
struct attend_join_kernel {
  template <class> using on = attend_join;
};

}  // namespace cke::cuda
