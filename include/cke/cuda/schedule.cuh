// SPDX-License-Identifier: MIT
// schedule.cuh: a token as one list of parts of a kernel that stays: who runs which part, and where all blocks wait.
#pragma once

#include "../runtime/workspace.hpp"
#include "binding.cuh"
#include "emit.cuh"
#include "stream.cuh"

namespace cke::cuda {

// The launches of the graph become parts. Blocks of products, of keys and of heads are dealt out to the blocks of the
// kernel; rows that no other block needs are computed by every block for itself, so that nobody waits for them.
// (units: of matrices that every token reads, whose weights come ahead; chosen: of those that it does not, and of routers.)
enum class role : u8 { rows, units, chosen, stores, attends, joins, sums };

template <class Kernel> inline constexpr role role_of = role::rows;
template <dtype KV> inline constexpr role role_of<step_kernel<opcode::kv_store, KV>> = role::stores;
template <dtype F, u32 T> inline constexpr role role_of<multiply_kernel<F, T>> = role::units;
template <dtype KV> inline constexpr role role_of<attend_block_kernel<KV>> = role::attends;
template <> inline constexpr role role_of<attend_join_kernel> = role::joins;
template <> inline constexpr role role_of<step_kernel<opcode::router, dtype::f32>> = role::chosen;
template <dtype F, u32 T> inline constexpr role role_of<expert_kernel<F, T>> = role::chosen;
template <> inline constexpr role role_of<join_experts_kernel> = role::sums;

template <class Kernel> inline constexpr dtype format_of = dtype::none;
template <dtype F, u32 T> inline constexpr dtype format_of<multiply_kernel<F, T>> = F;

struct part {
  role is{};
  u32 blocks{}, shared_bytes{};
  u64 bytes{};    // of weights that a block reads
  bool paired{};  // each block those of two matrices
  unit_shape unit{};
};
// Emitters write down what they would launch, for one token.
struct survey {
  static constexpr bool one_token = true;
  small_vector<part, 4> parts;
  template <class Kernel> constexpr void launch(launch_shape g, const step& s) {
    part p{role_of<Kernel>, g.x * g.y * g.z, shared_bytes_of<Kernel>(s)};
    if constexpr (format_of<Kernel> != dtype::none) {
      p.unit = shape_of<format_of<Kernel>>(s.cols), p.paired = s.how == epilogue::gate;
      p.bytes = u64{p.unit.bytes} * (p.paired ? 2 : 1);
    }
    parts.push(p);
  }
};
template <const code& C, u32 I, dtype KV> constexpr survey survey_of() {
  survey found;
  step s = unbound_of(C, C.ops[I]).s;
  s.tokens = s.key_blocks = 1;
  emitter<C.ops[I].op, types_of(C, C.ops[I], KV), survey>::to(found, s, 1);
  return found;
}
// The matrices of the next product, whose weights can be on their way while blocks wait: none if formats differ.
struct coming {
  u32 step{}, units{}, first[3]{}, matrices{};
  u64 unit_bytes{};  // of one matrix
};
struct surveyed {
  const code* c{};
  small_vector<survey, max_ops> steps;
};
template <const code& C, dtype KV> constexpr surveyed survey_all() {
  surveyed all{&C, {}};
  [&]<std::size_t... I>(std::index_sequence<I...>) { (all.steps.push(survey_of<C, I, KV>()), ...); }(std::make_index_sequence<C.ops.size()>{});
  return all;
}

// Whether every block computes a step for itself, into memory of its own: rows, if they stay inside of the layer.
constexpr bool is_own(const surveyed& s, u32 step) {
  const instruction& i = s.c->ops[step];
  for (u32 k = 0; k < i.out.count; ++k)
    if (i.out[k] < first_scratch) return false;
  return s.steps[step].parts[0].is == role::rows && i.op != opcode::softcap;  // that one is as long as the vocabulary
}
// Whether step `at` finds register r in its block's own memory.
constexpr bool reads_own(const surveyed& s, u32 at, reg r) {
  for (u32 k = at; k-- > 0;)
    if (s.c->ops[k].out.has(r)) return is_own(s, k);
  return false;
}

// Of the first product from step `at` on.
constexpr coming coming_at(const surveyed& s, u32 at) {
  for (; at < s.steps.size(); ++at) {
    const part& p = s.steps[at].parts[0];
    if (p.is != role::units) continue;
    if (s.steps[at].parts.size() > 1) break;
    const step u = unbound_of(*s.c, s.c->ops[at]).s;
    coming c{at, p.blocks, {}, u.matrix_count, p.bytes * p.blocks / u.units};
    for (u32 k = 0; k < u.matrix_count; ++k) c.first[k] = p.blocks < u.units ? 0 : u.matrices[k].first;  // gate and up are read side by side
    return c;
  }
  return {};
}

// What blocks have touched since all of them last waited: a bit for each register, and one for what one part of a step leaves
// for the next. (Keys and values need none: who stores those of a head is who attends to its newest key block.)
struct hazards {
  u64 written = 0, read = 0;
  static constexpr u64 parts = u64{1} << max_regs, outlive = parts | ((u64{1} << first_scratch) - 1);

  // Whether all blocks must wait before part k of a step; it is then as if they had.
  constexpr bool exchange_before(const surveyed& s, u32 step, u32 k) {
    const instruction& i = s.c->ops[step];
    const auto& of_step = s.steps[step].parts;
    const role is = of_step[k].is, last = of_step[of_step.size() - 1].is;
    const bool joined = last == role::joins || last == role::sums, takes = joined && k + 1 == of_step.size(), leaves = joined && !takes;
    u64 reads = takes ? parts : 0, writes = leaves ? parts : 0;
    if (is != role::joins)
      for (u32 n = 0; n < i.in.count; ++n) reads |= u64{!reads_own(s, step, i.in[n])} << i.in[n];
    if (!leaves)
      for (u32 n = 0; n < i.out.count; ++n) writes |= u64{!is_own(s, step)} << i.out[n];
    const bool wait = (reads & written) || (writes & (written | read));
    if (wait) written = read = 0;
    written |= writes, read |= reads;
    return wait;
  }
};

// Where a code's registers lie: in memory that all blocks share, and in each block's own. A register may be in both, at
// different times.
struct areas {
  u32 common_at[max_regs]{}, own_at[max_regs]{};
  u32 common = 0, own = 0;  // bytes
};
constexpr areas areas_of(const surveyed& s, u32 common_from) {
  areas a;
  a.common = common_from;
  for (u32 r = first_scratch; r < s.c->regs.size(); ++r) {
    const u32 bytes = static_cast<u32>(register_bytes(s.c->regs[r], 1));
    bool common = false, own = false;
    for (u32 i = 0; i < s.c->ops.size(); ++i)
      if (s.c->ops[i].out.has(static_cast<reg>(r))) (is_own(s, i) ? own : common) = true;
    if (common) a.common_at[r] = a.common, a.common += bytes;
    if (own) a.own_at[r] = a.own, a.own += bytes;
  }
  return a;
}

// The schedule of a token: header, layers, footer, and the choice of the next id.
template <class P, dtype KV> struct token_schedule {
  static constexpr u32 codes = P::body_count + 2, header = 0, footer = codes - 1;  // body v is code v + 1
  static constexpr std::array<surveyed, codes> all = []<std::size_t... V>(std::index_sequence<V...>) {
    return std::array<surveyed, codes>{survey_all<P::head(), KV>(), survey_all<P::template body<V>(), KV>()..., survey_all<P::foot(), KV>()};
  }(std::make_index_sequence<P::body_count>{});

  // f(code, layer) in the order of a token.
  template <class F> static constexpr void each_code(F f) {
    f(header, 0u);
    for (u32 l = 0; l < P::layers; ++l) f(P::variants.of[l] + 1u, l);
    f(footer, 0u);
  }

  // Bit k of [code][step]: all blocks wait before its part k. What one layer of a kind needs, all layers of it do.
  static constexpr std::array<std::array<u8, max_ops>, codes> exchange_before = [] {
    std::array<std::array<u8, max_ops>, codes> needed{};
    hazards now;
    u32 last = footer;
    each_code([&](u32 c, u32) {
      if (c != last) now.written &= hazards::outlive, now.read &= hazards::outlive;  // registers of different codes share no memory
      last = c;
      for (u32 i = 0; i < all[c].steps.size(); ++i)
        for (u32 k = 0; k < all[c].steps[i].parts.size(); ++k)
          if (now.exchange_before(all[c], i, k)) needed[c][i] = static_cast<u8>(needed[c][i] | 1u << k);
    });
    return needed;
  }();

  // The last product leaves a block's logits with it; behind anything else all wait before they look for the best one.
  static constexpr bool exchange_before_choice = all[footer].steps[all[footer].steps.size() - 1].parts[0].is != role::units;
  static constexpr u32 exchanges = [] {  // of a token
    u32 n = 1 + exchange_before_choice;  // all hear of each block's best
    each_code([&](u32 c, u32) {
      for (const u8 bits : exchange_before[c]) n += static_cast<u32>(std::popcount(bits));
    });
    return n;
  }();

  static constexpr std::array<areas, codes> memory = [] {
    std::array<areas, codes> of;
    u32 common = 0;
    for (u32 c = 0; c < codes; ++c) of[c] = areas_of(all[c], common), common = of[c].common;
    return of;
  }();
  static constexpr u32 common_bytes = memory[footer].common;
  static constexpr u32 own_bytes = [] {
    u32 most = 0;
    for (const areas& a : memory) most = a.own > most ? a.own : most;
    return most;
  }();
  static constexpr u32 shared_bytes = [] {  // of the parts
    u32 most = 0;
    for (const surveyed& s : all)
      for (const survey& step : s.steps)
        for (const part& p : step.parts) most = p.shared_bytes > most ? p.shared_bytes : most;
    return static_cast<u32>(align_up(most, 128));
  }();

  // f(code, layer, step, part, matrix, second) of each matrix whose units are dealt out, in the order in which blocks read;
  // second: the one whose units are read together with it, or the same.
  template <class F> static constexpr void each_matrix(F f) {
    each_code([&](u32 c, u32 layer) {
      for (u32 i = 0; i < all[c].steps.size(); ++i) {
        const survey& step = all[c].steps[i];
        const u32 matrices = unbound_of(*all[c].c, all[c].c->ops[i]).s.matrix_count;
        for (u32 k = 0; k < step.parts.size(); ++k) {
          const part& p = step.parts[k];
          if (p.is != role::units) continue;
          if (p.paired) f(c, layer, i, p, 0u, 1u);
          else if (step.parts.size() > 1) f(c, layer, i, p, k, k);
          else
            for (u32 m = 0; m < matrices; ++m) f(c, layer, i, p, m, m);
        }
      }
    });
  }
  // The units of a matrix of a step.
  static constexpr u32 units_of(u32 c, u32 step, u32 matrix) {
    const cuda::step s = unbound_of(*all[c].c, all[c].c->ops[step]).s;
    return (matrix + 1 < s.matrix_count ? s.matrices[matrix + 1].first : s.units) - s.matrices[matrix].first;
  }
  // What the rings bring of a token, and what products take: they are the same.
  static constexpr u64 bytes_brought = [] {
    u64 bytes = 0;
    each_matrix([&](u32 c, u32, u32 i, const part& p, u32 matrix, u32) { bytes += units_of(c, i, matrix) * p.bytes; });
    return bytes;
  }();
  static constexpr u32 matrices = [] {
    u32 n = 0;
    each_matrix([&](u32, u32, u32, const part&, u32, u32) { ++n; });
    return n;
  }();
  template <dtype F> static constexpr bool reads = [] {
    bool found = false;
    for (const surveyed& s : all)
      for (const survey& step : s.steps)
        for (const part& p : step.parts) found = found || (p.is == role::units && p.unit.as == F);
    return found;
  }();
  // How many formats, and the bytes of the largest tile.
  static constexpr u32 formats = u32{reads<dtype::q8_0>} + reads<dtype::q4_k> + reads<dtype::bf16> + reads<dtype::f16> + reads<dtype::f32>;
  static constexpr u32 slot_bytes = [] {
    u32 most = 0;
    for (const surveyed& s : all)
      for (const survey& step : s.steps)
        for (const part& p : step.parts) most = p.unit.tile_bytes > most ? p.unit.tile_bytes : most;
    return most;
  }();

  // Bytes of weights that the blocks of a grid read for a token, each its share: dealing goes on where the last product ended.
  struct shares {
    u64 least, most, all;
  };
  static constexpr u32 most_blocks = 1024;
  static constexpr shares shares_of(u32 blocks) {
    std::array<u64, most_blocks> bytes{};
    u32 begin = 0;
    each_code([&](u32 c, u32) {
      for (const survey& step : all[c].steps)
        for (const part& p : step.parts) {
          if (p.is != role::units) continue;
          for (u32 b = 0; b < blocks; ++b) bytes[b] += p.blocks / blocks * p.bytes;
          for (u32 k = 0; k < p.blocks % blocks; ++k) bytes[(begin + k) % blocks] += p.bytes;
          begin = (begin + p.blocks) % blocks;
        }
    });
    shares s{bytes[0], bytes[0], 0};
    for (u32 b = 0; b < blocks; ++b) {
      s.least = bytes[b] < s.least ? bytes[b] : s.least, s.most = bytes[b] > s.most ? bytes[b] : s.most;
      s.all += bytes[b];
    }
    return s;
  }
};

}  // namespace cke::cuda
