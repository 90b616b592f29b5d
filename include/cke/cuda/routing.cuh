// SPDX-License-Identifier: MIT
// routing.cuh: selects the experts of each token, and sorts the rows of a pass by expert.
#pragma once

#include <limits>

#include "../kernels/routing.hpp"
#include "matmul.cuh"

namespace cke::cuda {

// Block (x, y): unit x of the router, tokens from 8 y on, one warp per token. A row is one chain over all of k, as on
// CPUs, so that both choose the same experts.
template <> struct kernel<opcode::router, dtype::f32, sm75> {
  static constexpr u32 shared_bytes(const step&) { return 0; }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const u32 token = at.y * block_warps + dev::warp();
    if (token >= s.tokens) return;
    const matrix& m = s.matrices[0];
    const auto* const weights =
        reinterpret_cast<const dev::quad*>(m.packed + at.x * unit_bytes<dtype::f32>(s.cols)) + dev::lane();
    const float* const x = row_of(s.in[0], token);
    float sum = 0;
    for (u32 k = 0; k < s.cols; k += 4) {
      const dev::quad w = dev::stream(weights + k / 4 * unit_rows);
      CKE_UNROLL
      for (u32 j = 0; j < 4; ++j)
        if (k + j < s.cols) sum = dev::fma(dev::bits<float>(w.word[j]), dev::load(x + k + j), sum);
    }
    const row_range rows = rows_of_unit(m.group, at.x);
    if (dev::lane() < rows.count) dev::store(row_of(m.out, token) + rows.first + dev::lane(), sum);
  }
};

// One block per token, as routing::token on CPUs. An expert's rank is the number of experts with a greater key.
// Shared memory: scores and keys of experts, keys of groups, the chosen experts and their weights.
template <> struct kernel<opcode::route, dtype::f32, sm75> {
  static constexpr u32 shared_bytes(const step& s) {
    const router& r = s.route;
    return static_cast<u32>(align_up(r.experts * 4, 16) + align_up(r.experts * 8, 16) + align_up(r.groups * 8, 16) +
                            2 * align_up(r.active * 4, 16));
  }

  CKE_DEVICE static void run(const step& s, dev::place at) {
    const router& r = s.route;
    dev::shared_memory memory;
    const auto scores = memory.take<float>(r.experts);
    const auto keys = memory.take<u64>(r.experts), groups = memory.take<u64>(r.groups);
    const auto chosen = memory.take<u32>(r.active);
    const auto weights = memory.take<float>(r.active);

    const float* const logits = row_of(s.in[0], at.x);
    each(r.experts, [&](u32 e) {
      scores[e] = r.score == scoring::sigmoid ? sigmoid(dev::load(logits + e)) : dev::load(logits + e);
    });
    dev::sync();
    if (r.score == scoring::softmax) softmax(scores, r.experts);
    const auto ranked = [&](u32 e) { return r.bias ? scores[e] + dev::load(s.weight[0] + e) : float{scores[e]}; };
    each(r.experts, [&](u32 e) { keys[e] = ranking_key(ranked(e), e); });
    if (r.groups_kept < r.groups) leave_best_groups(r, ranked, keys, groups);
    dev::sync();
    each(r.experts, [&](u32 e) {
      const u64 key = keys[e];
      const u32 place = greater(keys, r.experts, key);
      if (key != 0 && place < r.active) chosen[place] = e, weights[place] = float{scores[e]};
    });
    dev::sync();
    if (r.score == scoring::softmax_of_chosen) softmax(weights, r.active);
    float sum = r.floor;
    for (u32 k = 0; k < r.active; ++k) sum += weights[k];
    const float* const of_expert = s.weight[r.bias];
    float* const out = row_of(s.out[0], at.x);
    each(r.active, [&](u32 k) {
      const float counts = (r.renormalise ? dev::divide(weights[k], sum) : float{weights[k]}) * r.scale;
      dev::store(out + k, static_cast<float>(u32{chosen[k]}));
      dev::store(out + r.active + k, r.expert_scale ? counts * dev::load(of_expert + chosen[k]) : counts);
    });
  }

 private:
  CKE_DEVICE static float sigmoid(float x) { return dev::divide(1.f, 1.f + rounded_exp(-x)); }
  // Adds in the order of the index, as the CPU does.
  CKE_DEVICE static void softmax(const dev::shared<float>& x, u32 n) {
    float most = x[0], sum = 0;
    for (u32 i = 1; i < n; ++i) most = most < x[i] ? float{x[i]} : most;
    dev::sync();
    each(n, [&](u32 i) { x[i] = rounded_exp(x[i] - most); });
    dev::sync();
    for (u32 i = 0; i < n; ++i) sum += x[i];
    dev::sync();
    each(n, [&](u32 i) { x[i] = dev::divide(x[i], sum); });
    dev::sync();
  }
  CKE_DEVICE static u32 greater(const dev::shared<u64>& keys, u32 n, u64 than) {
    u32 count = 0;
    for (u32 i = 0; i < n; ++i) count += keys[i] > than;
    return count;
  }
  // Drops the experts of all but the best groups.
  template <class Ranked>
  CKE_DEVICE static void leave_best_groups(const router& r, Ranked&& ranked, const dev::shared<u64>& keys,
                                           const dev::shared<u64>& groups) {
    const u32 size = r.experts / r.groups;
    each(r.groups, [&](u32 g) {
      float best = -std::numeric_limits<float>::infinity(), second = best;
      for (u32 e = g * size; e < (g + 1) * size; ++e) {
        const float x = ranked(e), lower = x < best ? x : best;
        second = second < lower ? lower : second, best = best < x ? x : best;
      }
      groups[g] = ranking_key(r.group_by == group_score::best ? best : best + second, g);
    });
    dev::sync();
    each(r.experts, [&](u32 e) {
      if (greater(groups, r.groups, groups[e / size]) >= r.groups_kept) keys[e] = u64{0};
    });
  }
};

// The rows (token, expert) of a pass, sorted by expert and then by token, and cut into tiles of one expert and at most
// rows_of_tile rows; it lies in the register of `order`. A row's place is found from its token and the rank of its
// expert among the token's experts, ascending.
struct expert_rows {
  u32* words;
  u32 all;  // number of rows, which bounds the number of tiles

  CKE_DEVICE expert_rows(const view& order, const router& r, u32 tokens)
      : words(reinterpret_cast<u32*>(order.data)), all(tokens * r.active) {}
  CKE_DEVICE u32* tiles() const { return words; }                                       // their number
  CKE_DEVICE u32* expert() const { return words + 1; }                                  // [tiles]
  CKE_DEVICE u32* first() const { return expert() + all; }                              // [tiles + 1]: first row
  CKE_DEVICE u32* place() const { return first() + all + 1; }                           // [all]
  CKE_DEVICE float* weight() const { return reinterpret_cast<float*>(place() + all); }  // [all], by place
};
// Tiles are wide if experts have, on average, more rows than a narrow tile holds.
constexpr u32 rows_of_tile(const step& s) {
  return s.tokens * s.route.active > most_tokens * s.route.experts ? wide_tokens : most_tokens;
}
constexpr u32 most_tiles(const step& s) {
  const u32 all = s.tokens * s.route.active, listed = all < s.route.experts ? all : s.route.experts,
            rows = rows_of_tile(s);
  const u32 most = (all + (rows - 1) * listed) / rows;
  return most < all ? most : all;
}

// One block. Each warp counts the rows of a run of tokens, then places them. The experts of a token differ, so its
// lanes count without conflicts. Shared memory: per warp and expert the number of rows, which then becomes the next
// row's index; and totals.
template <> struct kernel<opcode::sort_by_expert, dtype::f32, sm75> {
  static constexpr u32 shared_bytes(const step& s) {
    return static_cast<u32>(align_up((block_warps + 1) * s.route.experts * 4, 16));
  }

  CKE_DEVICE static void run(const step& s, dev::place) {
    const router& r = s.route;
    const expert_rows rows(s.out[0], r, s.tokens);
    dev::shared_memory memory;
    const auto next = memory.take<u32>((block_warps + 1) * r.experts);
    const u32 mine = dev::warp() * r.experts, sizes = block_warps * r.experts, of_tile = rows_of_tile(s);
    each(block_warps * r.experts, [&](u32 i) { next[i] = 0u; });
    dev::sync();
    each_row(s, next, mine, [](u32, u32, u32, u32) {});
    dev::sync();
    each(r.experts, [&](u32 e) {
      u32 size = 0;
      for (u32 w = 0; w < block_warps; ++w) size += next[w * r.experts + e];
      next[sizes + e] = size;
    });
    dev::sync();
    each(r.experts, [&](u32 e) {
      u32 row = 0, tile = 0;
      for (u32 lower = 0; lower < e; ++lower)
        row += next[sizes + lower], tile += (next[sizes + lower] + of_tile - 1) / of_tile;
      for (u32 w = 0, at = row; w < block_warps; ++w) {
        const u32 size = next[w * r.experts + e];
        next[w * r.experts + e] = at, at += size;
      }
      const u32 end = row + next[sizes + e];
      for (; row < end; row += of_tile, ++tile)
        dev::store(rows.expert() + tile, e), dev::store(rows.first() + tile, row);
      if (e + 1 == r.experts) dev::store(rows.tiles(), tile), dev::store(rows.first() + tile, end);
    });
    dev::sync();
    each_row(s, next, mine, [&](u32 token, u32 k, u32 expert, u32 row) {
      const float* const chosen = row_of(s.in[0], token);
      u32 place = token * r.active;
      for (u32 other = 0; other < r.active; ++other) place += dev::load(chosen + other) < static_cast<float>(expert);
      dev::store(rows.place() + row, place);
      dev::store(rows.weight() + place, dev::load(chosen + r.active + k));
    });
  }

 private:
  // f(token, k, expert k of the token, row) for the warp's tokens; rows are counted token by token.
  template <class F> CKE_DEVICE static void each_row(const step& s, const dev::shared<u32>& next, u32 mine, F&& f) {
    const u32 active = s.route.active, run = (s.tokens + block_warps - 1) / block_warps;
    const u32 begin = dev::warp() * run, end = begin + run < s.tokens ? begin + run : s.tokens;
    for (u32 first = begin * active; first < end * active; first += warp_lanes) {
      const u32 i = first + dev::lane(), token = i / active, k = i % active;
      const u32 expert = token < end ? static_cast<u32>(dev::load(row_of(s.in[0], token) + k)) : 0;
      u32 row = 0;
      for (u32 now = first / active; now <= (first + warp_lanes - 1) / active && now < end; ++now) {
        if (token == now) {
          row = next[mine + expert];
          next[mine + expert] = row + 1;
        }
        dev::sync_warp();
      }
      if (token < end) f(token, k, expert, row);
    }
  }
};

}  // namespace cke::cuda
