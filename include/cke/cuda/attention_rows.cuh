// SPDX-License-Identifier: MIT
// attention_rows.cuh: attention of prompts: neighbouring tokens of a sequence share the loads of keys and values.
#pragma once

#include "attention.cuh"

namespace cke::cuda {

// Each warp has some queries, of neighbouring tokens and of the query heads of one kv head, and walks through their
// keys: it scores a block of 128, weighs them, sums values, and adds the result to those before, in the order of
// attend_block and attend_join; so the bits are the same. Lane l has keys l, l + 32 ... of a block, and dims l, l + 32
// ... of the values. Warps do not wait for one another.
//
// Block (tile of tokens, kv head). Dims: numbers of a head that a lane has.
// Shared memory: of each query q [head_dim]; p [128]; o [head_dim], summed up to the last run of blocks.
template <dtype KV, u32 Dims> struct attend_rows {
  using cache = cuda::cache<KV>;
  using element = typename cache::element;
  using word = typename cache::word;
  static constexpr u32 queries = 16 / Dims, of_block = queries * block_warps;   // 16 numbers of o for each lane
  static constexpr u32 keys = key_block / warp_lanes, words = 4 / cache::pair;  // of a lane; of four numbers
  static constexpr u32 ahead = cache::pair == 2 && Dims == 4 ? 2 : 1;           // fours under way, as registers allow

  static constexpr bool takes(const step& s) {
    return s.head_dim % 32 == 0 && s.head_dim <= Dims * warp_lanes && s.heads / s.kv_heads <= of_block;
  }
  static constexpr u32 tokens_of_block(const step& s) { return of_block / (s.heads / s.kv_heads); }
  static constexpr u32 shared_bytes(const step& s) { return of_block * (2 * s.head_dim + key_block) * 4; }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 group = s.heads / s.kv_heads, of_all = of_block / group, first = at.x * of_all, left = s.tokens - first,
              all = (left < of_all ? left : of_all) * group, begin = dev::warp() * queries;
    if (begin >= all) return;
    dev::shared_memory memory;
    const auto mine = [&](u32 of_query) {
      return dev::part_of(memory.take<std::byte>(of_block * of_query * 4), begin * of_query * 4,
                          queries * of_query * 4);
    };
    const auto q = mine(s.head_dim), p = mine(key_block), o = mine(s.head_dim);
    const attend_rows me{s, q, p, o, first, begin, at.y};
    const u32 count = all - begin < queries ? all - begin : queries;
    me.load_queries(count);
    // Rows of several sequences take turns, because their keys are elsewhere.
    for (u32 i = 0, end; i < count; i = end) {
      const u32 of = dev::load(s.now.segment_of + me.token(i));
      for (end = i + 1; end < count && dev::load(s.now.segment_of + me.token(end)) == of;) ++end;
      me.of_sequence(dev::load(s.now.segments + of), i, end);
    }
  }

  const step& s;
  dev::shared<std::byte> q, p, o;
  u32 first, begin, head;  // the block's first token; this warp's first query of the block; the kv head

 private:
  CKE_DEVICE u32 token(u32 i) const { return first + (begin + i) / (s.heads / s.kv_heads); }
  CKE_DEVICE u32 head_of(u32 i) const {
    const u32 group = s.heads / s.kv_heads;
    return head * group + (begin + i) % group;
  }

  CKE_DEVICE void load_queries(u32 count) const {
    for (u32 i = 0; i < queries; ++i)  // missing ones are zeros
      for (u32 d = dev::lane(); d < s.head_dim; d += warp_lanes) {
        const float* const from = row_of(s.in[0], token(i)) + head_of(i) * s.head_dim + d;
        dev::put(q, (i * s.head_dim + d) * 4, i < count ? rounded<KV>(dev::load(from)) : 0.f);
      }
    dev::sync_warp();
  }

  // What queries [from, end) of one sequence see; the others see nothing. All of them see `common`, some see `any`.
  struct sight {
    key_range of[queries], common, any;
    CKE_DEVICE bool sees(u32 i, u32 begin, u32 end) const { return begin < of[i].last && end > of[i].first; }
  };
  CKE_DEVICE void of_sequence(const segment& g, u32 from, u32 end) const {
    sight seen;
    CKE_UNROLL
    for (u32 i = 0; i < queries; ++i)
      seen.of[i] = i >= from && i < end ? keys_of(s, position_of(g, token(i))) : key_range{~0u, 0};
    const key_range low = keys_of(s, position_of(g, token(from))), high = keys_of(s, position_of(g, token(end - 1)));
    seen.common = {high.first, low.last}, seen.any = {low.first, high.last};

    weighted_sum<Dims> run[queries];
    softmax_part all[queries];
    CKE_UNROLL
    for (u32 i = 0; i < queries; ++i) CKE_UNROLL
    for (u32 d = 0; d < Dims; ++d)
      if (d * warp_lanes < s.head_dim) dev::put(o, place(i, d), 0.f);
    const u32 stop = (seen.any.last + key_block - 1) / key_block;
    for (u32 block = seen.any.first / key_block; block < stop; ++block) {
      const u32 start = block * key_block, behind = start + key_block;
      const element* const k = cache::keys(s, g, head, block);
      if (seen.any.first <= start && seen.any.last >= behind) score<true>(k, seen, start);
      else score<false>(k, seen, start);
      weighted_sum<Dims> here[queries];
      CKE_UNROLL
      for (u32 i = 0; i < queries; ++i) {
        if (!seen.sees(i, start, behind)) continue;
        static_cast<softmax_part&>(here[i]) = weigh<KV>(dev::as<float>(p), i * key_block);
      }
      const element* const v = k + key_block * s.head_dim;
      if (seen.common.first <= start && seen.common.last >= behind) sum_values<true>(v, seen, start, here);
      else sum_values<false>(v, seen, start, here);
      const u32 of_run = block / run_blocks * run_blocks * key_block;
      const bool ends = (block + 1) % run_blocks == 0 || block + 1 == stop;
      CKE_UNROLL
      for (u32 i = 0; i < queries; ++i) {
        if (seen.sees(i, start, behind)) run[i].add(here[i]);
        if (!ends) continue;
        if (seen.sees(i, of_run, behind)) add(i, all[i], run[i]);
        run[i] = {};
      }
    }
    CKE_UNROLL
    for (u32 i = 0; i < queries; ++i)
      if (seen.of[i].last > 0) put(i, all[i].l);
  }
  // Where o of dim d of a lane is.
  CKE_DEVICE u32 place(u32 i, u32 d) const { return (i * s.head_dim + d * warp_lanes + dev::lane()) * 4; }
  // weighted_sum::add, with o in shared memory.
  CKE_DEVICE void add(u32 i, softmax_part& all, const weighted_sum<Dims>& run) const {
    const softmax_part::factors by = all.add(run);
    CKE_UNROLL
    for (u32 d = 0; d < Dims; ++d)
      if (d * warp_lanes < s.head_dim)
        dev::put(o, place(i, d), dev::fma(dev::get<float>(o, place(i, d)), by.old, run.o[d] * by.fresh));
  }

  // Four numbers of each key or dim that a lane has: dims of a key, or keys of a dim.
  template <u32 N> struct fours {
    word of[words][N];
    CKE_DEVICE float number(u32 e, u32 n) const { return cache::decode(of[e / cache::pair][n], e % cache::pair); }
  };
  // Calls take(load(i), i) for i = begin, begin + 4 ... end; the next ones are under way.
  template <class Load, class Take> CKE_DEVICE static void each_four(u32 begin, u32 end, Load&& load, Take&& take) {
    if constexpr (ahead == 1) {
      for (; begin < end; begin += 4) take(load(begin), begin);
    } else {
      decltype(load(begin)) next[ahead];
      CKE_UNROLL
      for (u32 j = 0; j < ahead; ++j)
        if (begin + 4 * j < end) next[j] = load(begin + 4 * j);
      for (; begin < end; begin += 4 * ahead) CKE_UNROLL
      for (u32 j = 0; j < ahead; ++j) {
        const u32 i = begin + 4 * j;
        if (i >= end) continue;
        take(next[j], i);
        if (i + 4 * ahead < end) next[j] = load(i + 4 * ahead);
      }
    }
  }
  // The place in a four of the number that step n of a chain takes.
  CKE_DEVICE static u32 in_order(u32 n) { return n / cache::pair * cache::pair + nth<KV>(n % cache::pair); }

  // p [query][key], of the block of keys from `start` on. Whole: some query sees each of them.
  template <bool Whole> CKE_DEVICE void score(const element* k, const sight& seen, u32 start) const {
    const word* const of_lane = reinterpret_cast<const word*>(k) + dev::lane();
    const auto load = [&](u32 d) {
      fours<keys> x{};
      CKE_UNROLL
      for (u32 w = 0; w < words; ++w) CKE_UNROLL
      for (u32 j = 0; j < keys; ++j)
        if (const u32 key = start + j * warp_lanes + dev::lane();
            Whole || (key >= seen.any.first && key < seen.any.last))
          x.of[w][j] = dev::load(of_lane + (d / cache::pair + w) * key_block + j * warp_lanes);
      return x;
    };
    float dot[keys][queries]{};
    each_four(0, s.head_dim, load, [&](const fours<keys>& x, u32 d) {
      CKE_UNROLL
      for (u32 i = 0; i < queries; ++i) {
        const dev::quad four = dev::get<dev::quad>(q, (i * s.head_dim + d) * 4);
        CKE_UNROLL
        for (u32 n = 0; n < 4; ++n) CKE_UNROLL
        for (u32 j = 0; j < keys; ++j)
          dot[j][i] = dev::fma(x.number(in_order(n), j), dev::bits<float>(four.word[in_order(n)]), dot[j][i]);
      }
    });
    CKE_UNROLL
    for (u32 j = 0; j < keys; ++j) CKE_UNROLL
    for (u32 i = 0; i < queries; ++i) {
      const u32 at = j * warp_lanes + dev::lane(), key = start + at;
      const bool sees = key >= seen.of[i].first && key < seen.of[i].last;
      dev::put(p, (i * key_block + at) * 4, sees ? score_of(s, dot[j][i]) : hidden);
    }
    dev::sync_warp();
  }

  // o of each query: the sum of its p v, key by key. Whole: every query sees every key.
  template <bool Whole> CKE_DEVICE void sum_values(const element* v, const sight& seen, u32 start,
                                                   weighted_sum<Dims> (&to)[queries]) const {
    const key_range any = Whole ? key_range{0, key_block} : seen.any.within(start);
    const word* const of_lane = reinterpret_cast<const word*>(v) + dev::lane();
    const auto load = [&](u32 key) {
      fours<Dims> x{};
      CKE_UNROLL
      for (u32 w = 0; w < words; ++w) CKE_UNROLL
      for (u32 d = 0; d < Dims; ++d)
        if (const u32 at = key + w * cache::pair;
            d * warp_lanes < s.head_dim && (Whole || (at + cache::pair > any.first && at < any.last)))
          x.of[w][d] = dev::load(of_lane + at / cache::pair * s.head_dim + d * warp_lanes);
      return x;
    };
    each_four(any.first / 4 * 4, any.last, load, [&](const fours<Dims>& x, u32 key) {
      CKE_UNROLL
      for (u32 i = 0; i < queries; ++i) {
        const dev::quad four = dev::get<dev::quad>(p, (i * key_block + key) * 4);
        CKE_UNROLL
        for (u32 n = 0; n < 4; ++n) {
          const u32 e = in_order(n), at = start + key + e;
          if (!Whole && (at < seen.of[i].first || at >= seen.of[i].last)) continue;
          CKE_UNROLL
          for (u32 d = 0; d < Dims; ++d)
            to[i].o[d] = dev::fma(x.number(e, d), dev::bits<float>(four.word[e]), to[i].o[d]);
        }
      }
    });
    dev::sync_warp();  // p can be written again
  }

  CKE_DEVICE void put(u32 i, float l) const {
    const float by = dev::divide(1.f, l);
    CKE_UNROLL
    for (u32 d = 0; d < Dims; ++d)
      if (d * warp_lanes < s.head_dim)
        put_block(s.out[0], token(i), head_of(i) * s.head_dim / 32 + d, dev::get<float>(o, place(i, d)) * by);
  }
};

template <dtype KV, u32 Dims> struct attend_rows_kernel {
  template <class> using on = attend_rows<KV, Dims>;
};

}  // namespace cke::cuda
