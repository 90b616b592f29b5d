// SPDX-License-Identifier: MIT
// schedule.cuh: a token's compile-time schedule in the persistent kernel: each part's blocks, and the barriers.
#pragma once

#include "hazards.cuh"
#include "packets.cuh"

namespace cke::cuda {

// Offsets of a code's registers in the memory shared by all blocks, and in each block's private memory. A register may
// be in both, at different times.
struct areas {
  u32 common_at[max_regs]{}, own_at[max_regs]{};
  u32 common = 0, own = 0;  // sizes in bytes
};
constexpr areas areas_of(const surveyed& s, u32 common_from) {
  areas a;
  a.common = common_from;
  // The stream has the same offset in every code.
  if (comes_in_packets(s, stream)) a.own = static_cast<u32>(register_bytes(s.c->regs[stream], 1));
  for (u32 r = first_scratch; r < s.c->regs.size(); ++r) {
    const u32 bytes = static_cast<u32>(register_bytes(s.c->regs[r], 1));
    bool common = false, own = false;
    for (u32 i = 0; i < s.c->ops.size(); ++i)
      if (s.c->ops[i].out.has(static_cast<reg>(r))) (is_own(s, i) ? own : common) = true;
    if (comes_in_packets(s, static_cast<reg>(r))) common = false, own = true;
    if (common) a.common_at[r] = a.common, a.common += bytes;
    if (own) a.own_at[r] = a.own, a.own += bytes;
  }
  return a;
}

// The schedule of a token: header, layers, footer, then the choice of the next id.
template <class P, dtype KV> struct token_schedule {
  static constexpr u32 codes = P::body_count + 2, header = 0, footer = codes - 1;  // body v has index v + 1

  // Calls f(code, layer) in the order of a token.
  template <class F> static constexpr void each_code(F f) {
    f(header, 0u);
    for (u32 l = 0; l < P::layers; ++l) f(P::variants.of[l] + 1u, l);
    f(footer, 0u);
  }

  static constexpr std::array<surveyed, codes> all = with_packets(
      []<std::size_t... V>(std::index_sequence<V...>) {
        return std::array<surveyed, codes>{survey_all<P::header_code(), KV>(),
                                           survey_all<P::template body<V>(), KV>()...,
                                           survey_all<P::footer_code(), KV>()};
      }(std::make_index_sequence<P::body_count>{}),
      [](auto f) { each_code(f); });

  // Barriers, by [code][step]. All layers of a kind share one schedule, so it has every barrier that one of them needs.
  static constexpr std::array<std::array<waiters, max_ops>, codes> wait_before = [] {
    std::array<std::array<waiters, max_ops>, codes> needed{};
    hazards now;
    u32 last = footer;
    each_code([&](u32 c, u32) {
      if (c != last) now.next_code();
      last = c;
      for (u32 i = 0; i < all[c].steps.size(); ++i)
        for (u32 k = 0; k < all[c].steps[i].parts.size(); ++k) {
          const waits who = now.before(all[c], i, k);
          if (who != waits::none) {
            u8& bits = who == waits::all ? needed[c][i].all : needed[c][i].group;
            bits = static_cast<u8>(bits | 1u << k);
          }
        }
    });
    for (auto& steps : needed)
      for (waiters& w : steps) w.group = static_cast<u8>(w.group & ~w.all);
    return needed;
  }();
  // By [code][step]: the row whose packets it receives first, or `absent`.
  static constexpr auto heard_before = turns_of(all, [](auto f) { each_code(f); }).heard;
  static constexpr u32 rows_sent = [] {  // per token
    u32 n = 0;
    each_code([&](u32 c, u32) {
      for (u32 i = 0; i < all[c].steps.size(); ++i) n += words_sent(all[c], i) > 0;
    });
    return n;
  }();
  static constexpr u32 words_of_token = [] {
    u32 n = 0;
    each_code([&](u32 c, u32) {
      for (u32 i = 0; i < all[c].steps.size(); ++i) n += words_sent(all[c], i);
    });
    return n;
  }();
  // Kv heads that are dealt out to groups: the fewest of any layer that has some, or 0.
  static constexpr u32 heads = [] {
    u32 fewest = 0;
    for (const surveyed& s : all)
      if (s.heads > 0 && (fewest == 0 || s.heads < fewest)) fewest = s.heads;
    return fewest;
  }();

  // Each block keeps its own logits of the last product. After any other last step, a barrier precedes the choice.
  static constexpr bool exchange_before_choice =
      all[footer].steps[all[footer].steps.size() - 1].parts[0].is != role::units;
  // Barriers per token: of groups (grid barriers if there are no clusters), and of the grid.
  static constexpr u32 group_exchanges = [] {
    u32 n = 0;
    each_code([&](u32 c, u32) {
      for (const waiters& w : wait_before[c]) n += static_cast<u32>(std::popcount(w.group));
    });
    return n;
  }();
  static constexpr u32 exchanges = [] {
    u32 n = 1 + exchange_before_choice;  // one makes every block's best candidate visible
    each_code([&](u32 c, u32) {
      for (const waiters& w : wait_before[c]) n += static_cast<u32>(std::popcount(w.all));
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
  static constexpr u32 shared_bytes = [] {  // for the parts
    u32 most = 0;
    for (const surveyed& s : all)
      for (const survey& step : s.steps)
        for (const part& p : step.parts) most = p.shared_bytes > most ? p.shared_bytes : most;
    return static_cast<u32>(align_up(most, 128));
  }();

  // Calls f(code, layer, step, part, matrix, second) for each matrix whose units are dealt out, in the order in which
  // blocks read them. second: the matrix whose units are read in alternation with it, or the same one.
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
  // The number of units of a step's matrix.
  static constexpr u32 units_of(u32 c, u32 step, u32 matrix) {
    const cuda::step s = unbound_of(*all[c].c, all[c].c->ops[step]).s;
    return (matrix + 1 < s.matrix_count ? s.matrices[matrix + 1].first : s.units) - s.matrices[matrix].first;
  }
  // The entry of the ring's table for it, without addresses.
  static constexpr stretch stretch_of(u32 c, u32 step, const part& p, u32 matrix) {
    const u32 heads = heads_of(all[c], step), units = units_of(c, step, matrix);
    return {nullptr, nullptr, p.unit, heads > 0 ? units / heads : units, heads};
  }
  // Bytes that the rings fetch for a token; products consume the same.
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
  // The number of formats, and the bytes of the largest tile.
  static constexpr u32 formats =
      u32{reads<dtype::q8_0>} + reads<dtype::q4_k> + reads<dtype::bf16> + reads<dtype::f16> + reads<dtype::f32>;
  static constexpr u32 slot_bytes = [] {
    u32 most = 0;
    for (const surveyed& s : all)
      for (const survey& step : s.steps)
        for (const part& p : step.parts) most = p.unit.tile_bytes > most ? p.unit.tile_bytes : most;
    return most;
  }();

  // Bytes of weights that a block of the grid reads for a token: the least, the most, the total.
  struct shares {
    u64 least, most, all;
  };
  static constexpr shares shares_of(u32 blocks, u32 group) {
    shares s{~u64{0}, 0, 0};
    for (u32 b = 0; b < blocks; ++b) {
      u64 bytes = 0;
      dealer deal(b, blocks, group);
      each_code([&](u32 c, u32) {
        for (u32 i = 0; i < all[c].steps.size(); ++i) {
          const u32 heads = heads_of(all[c], i);
          for (const part& p : all[c].steps[i].parts) {
            if (p.is != role::units) continue;
            const u32 count = heads > 0 ? p.blocks / heads * deal.heads(heads).count : p.blocks,
                      first = deal.first(heads > 0);
            bytes += first < count ? ((count - first - 1) / deal.size(heads > 0) + 1) * p.bytes : 0;
            deal.pass(heads > 0, count);
          }
        }
      });
      s.least = bytes < s.least ? bytes : s.least, s.most = bytes > s.most ? bytes : s.most, s.all += bytes;
    }
    return s;
  }
};

}  // namespace cke::cuda
