// SPDX-License-Identifier: MIT
// ranks.hpp: one model over several processes: each runs its units of every step, and gets the others' results.
#pragma once

#include <cstring>
#include <vector>

#include "../graph/exchanges.hpp"
#include "../kernels/columns.hpp"
#include "executor-inl.hpp"
#include "loaded.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

inline share_of_rank share_of(const rank_link& link) { return {link.rank, link.count}; }

// f(bytes) for every part of an output of step `at` that a rank writes; `w`: the step's.
template <class Isa, class F>
void each_own_part(const code& c, u32 at, u32 output, const work& w, share_of_rank who, F f) {
  const instruction& i = c.ops[at];
  const view& v = w.out[output];
  const cut_step how = cut_of(c, at);
  if (how.by == rank_cut::ids) {
    const u32* const ids = reinterpret_cast<const u32*>(w.in[0].data);
    for (u32 t = 0; t < w.tokens; ++t)
      if (who.of(how.parts).has(ids[t] / unit_rows)) each_part_of_columns<Isa>(from_row<Isa>(v, t), 1, 0, v.width, f);
    return;
  }
  for_own_columns(c, at, output, who, [&](u32 first, u32 count) {
    if (how.by != rank_cut::experts) return each_part_of_columns<Isa>(v, w.tokens, first, count, f);
    const expert_rows rows(w.in[0], i.p.as<expert_params>().route, w.tokens);
    for (u32 e = 0; e < rows.count(); ++e)
      each_part_of_columns<Isa>(from_row<Isa>(v, rows.first()[e]), rows.size(e), first, count, f);
  });
}

// The part of an executor that knows of other ranks. E is the executor, S its place in a pass.
template <class Isa> class many_ranks {
 public:
  // Throws out_of_memory.
  many_ranks(const compiled_program& m, capacity k, const rank_link& link) : link_(link), sizes_(link.count) {
    m.each_code([&](u32, const code& c) { exchanged_.push_back(exchanges_of(c)); });
    const u64 room = largest_exchange(m, k);
    memory_ = arena(2 * room, false);
    sent_ = memory_.take(room), received_ = memory_.take(room);
  }

  // The units of a step that this rank runs.
  own_units own(const code& c, u32 step, split by, u32 units) const {
    return own_units(c, step, by, share_of(link_), units);
  }

  // Whether the steps of a phase, from `first` on, have different units here: they then run step by step.
  static bool runs_apart(const code& c, const phase& p, u32 first) {
    const cut_step begin = cut_of(c, first);
    for (u32 k = first; k < first + p.count; ++k)
      if (const cut_step how = cut_of(c, k);
          how != begin || how.by == rank_cut::ids || (how.by == rank_cut::heads && p.by == split::tokens))
        return true;
    return false;
  }
  template <class E, class S> void run_apart(E& on, const S& s, const phase& p, u32 first, u64* spent) {
    const code& c = *s.table.c;
    for (u32 k = first; k < first + p.count; ++k, ++spent) {
      const instruction& i = c.ops[k];
      work w = on.prepared(s, k);
      if (const cut_step how = cut_of(c, k); how.by == rank_cut::ids) {
        const share_of_rank::range mine = share_of(link_).of(how.parts);
        const u32* const ids = reinterpret_cast<const u32*>(w.in[0].data);
        on.team_.share(s.thread, w.tokens, [&](u32 token) {
          if (!mine.has(ids[token] / unit_rows)) return;
          work one = w;
          one.tokens = 1, one.in[0].data += token * sizeof(u32), one.out[0] = from_row<Isa>(w.out[0], token);
          on.run_step(s, k, one, 0, *spent);
        });
      } else {
        if (how.by == rank_cut::heads && p.by == split::tokens) w.by = split::kv_heads;
        const auto tiles = static_cast<u32>(s.now->seen_by(i.p).tiles.size());
        const own_units mine = own(c, k, w.by, units_of(i.p, w.by, w.tokens, row_units(c, i), tiles));
        on.team_.share(s.thread, mine.count(), *on.how_at_[s.place].units_per_claim,
                       [&](u32 n) { on.run_step(s, k, w, mine[n], *spent); });
      }
      if (k + 1 < first + p.count) on.team_.barrier(), exchange(on, s, k + 1);
    }
  }

  // After the barrier that ends step end - 1: all ranks get what the steps since the exchange before have written in
  // parts, if the others may wait no longer for it. Ends with a barrier, if there was anything.
  template <class E, class S> void exchange(E& on, const S& s, u32 end) {
    if (link_.count == 1) return;
    const exchange_table& what = exchanged_[s.index];
    u32 first = end;
    for_each_run(*s.table.c, s.phases(), [&](u32 from, u32 to) { first = to == end ? from : first; });
    if (!what.any(first, end)) return;
    if (s.thread == 0)
      gather([&](share_of_rank who, auto f) {
        for (u32 k = first; k < end; ++k) {
          if (!what.outputs[k]) continue;
          const work w = on.prepared(s, k);
          for (u32 o = 0; o < s.table.c->ops[k].out.count; ++o)
            if (what.outputs[k] >> o & 1) each_own_part<Isa>(*s.table.c, k, o, w, who, f);
        }
      });
    on.team_.barrier();
  }

 private:
  // visit(share, f) calls f(bytes) for every part that the share's rank has written, in one order on all ranks.
  template <class Visit> void gather(Visit visit) {
    for (u32 r = 0; r < link_.count; ++r) {
      sizes_[r] = 0;
      visit(share_of_rank{r, link_.count}, [&](std::span<std::byte> part) {
        if (r == link_.rank) std::memcpy(sent_ + sizes_[r], part.data(), part.size());
        sizes_[r] += part.size();
      });
    }
    link_.all_gather(link_.user, sent_, received_, sizes_.data());
    const std::byte* from = received_;
    for (u32 r = 0; r < link_.count; ++r) {
      if (r == link_.rank) from += sizes_[r];
      else
        visit(share_of_rank{r, link_.count}, [&](std::span<std::byte> part) {
          std::memcpy(part.data(), from, part.size());
          from += part.size();
        });
    }
  }

  // Bytes of the registers of the largest exchange.
  u64 largest_exchange(const compiled_program& m, capacity k) const {
    u64 most = 0;
    m.each_code([&](u32 index, const code& c) {
      const u32 rows = index + 1 == m.codes() ? k.logit_rows : k.chunk;
      for (const form f : {form::decode, form::prefill})
        for_each_run(c, phases_of(c, f), [&](u32 first, u32 end) {
          u64 bytes = 0;
          for (u32 i = first; i < end; ++i)
            for (u32 o = 0; o < c.ops[i].out.count; ++o)
              if (exchanged_[index].outputs[i] >> o & 1) bytes += register_bytes(c.regs[c.ops[i].out[o]], rows);
          most = std::max(most, bytes);
        });
    });
    return align_up(most);
  }

  rank_link link_;
  std::vector<exchange_table> exchanged_;  // of each code
  arena memory_;
  std::byte *sent_{}, *received_{};
  std::vector<u64> sizes_;  // of the ranks' parts
};

// How a model runs as one of several ranks: every rank makes the same sequences and feeds them the same ids, in one
// order. A rank packs its own units only.
struct by_ranks {
  template <class P, dtype KV, class Isa>
  static constexpr auto executor = +[](const compiled_program& m, const state_facts& states, const weights& w,
                                       team& threads, const model_options& o) -> std::unique_ptr<pass_executor> {
    return std::make_unique<runtime::executor<many_ranks<Isa>>>(m, states, w, threads, o.limits(), o.hints, o.ranks);
  };

  static bool has_unit(const program_data& p, const weight& w, u32 unit, const rank_link& link) {
    const code& c = p.code_of(w);
    for (u32 s = 0; s < c.slots.size(); ++s)
      if (const weight_slot& o = c.slots[s]; o.is == w.slot.is && o.bias == w.slot.bias && o.nth == w.slot.nth)
        return own_rows_of(c, s, share_of(link)).has(unit);
    return true;
  }
};

}  // namespace cke::runtime
CKE_COLD_END
