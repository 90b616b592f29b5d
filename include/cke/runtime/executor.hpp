// SPDX-License-Identifier: MIT
// executor.hpp: a program run on a team of threads: the phases of each layer, and the kernels of each phase.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "../kernels/experts.hpp"
#include "../kernels/gated_delta.hpp"
#include "../kernels/attention/attention_steps.hpp"
#include "../kernels/attention/latent.hpp"
#include "../kernels/linear.hpp"
#include "../kernels/rows.hpp"
#include "../kernels/short_conv.hpp"
#include "../kernels/state_scan.hpp"
#include "pass_part.hpp"
#include "team.hpp"
#include "trace.hpp"
#include "weights.hpp"
#include "workspace.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// The compiler picks the kernels: each kind of block is one table of them, however many layers repeat
// it. A step is long enough for a call, so the walk over the tables is ordinary code, compiled once.
template <class P, dtype KV, class Isa> class executor {
 public:
  using slot = sequence_state<P, KV, Isa>;

  executor(const weights<P, Isa>& w, team& threads, capacity k)
      : weights_(w), team_(threads), space_(k, threads.size()), progress_(std::make_unique<std::atomic<u32>[]>(space_.kv_heads())) {}

  const capacity& limits() const { return space_.limits(); }
  u64 bytes() const { return space_.bytes(); }
  page_memory* memory_of_pages() const { return nullptr; }  // the host's
  // Not while a pass runs.
  void watch(const tracer& t) { trace_ = t; }

  // Both functions throw cache_full, before anything has happened.
  // One pass: at most `chunk` ids go through all layers and into the slot's caches; then logits of
  // the last `rows` of them, at most `logit_rows` at a time: take(first row, rows, view).
  template <class Take> void run(std::span<const u32> ids, u32 rows, slot& s, Take&& take) {
    const u32 tokens = static_cast<u32>(ids.size());
    s.reserve(tokens);
    space_.rows().clear();
    space_.add(ids, s);
    run_layers(tokens - rows);
    s.advance(tokens);
    for (u32 first = tokens - rows, n; first < tokens; first += n) {
      n = run_footer(first, tokens);
      take(first, n, space_.logits(form_of(n)));
    }
  }

  using part = pass_part<slot>;
  // One pass for different slots: part_of(i), i < count, with at most `chunk` ids in all.
  template <class PartOf> void run_together(u32 count, PartOf&& part_of) {
    space_.rows().clear();
    for (u32 i = 0; i < count; ++i) {
      const part p = part_of(i);
      p.of.reserve(static_cast<u32>(p.ids.size()));
      space_.add(p.ids, p.of);
    }
    const u32 all = space_.rows().tokens();
    if (all == 0) return;
    u32 first_wanted = all;
    for (u32 i = count, end = all; i-- > 0;) {
      const part p = part_of(i);
      const u32 ids = static_cast<u32>(p.ids.size()), rows = p.hidden ? ids - p.first : p.wanted();
      if (rows > 0) first_wanted = end - rows;
      end -= ids;
    }
    run_layers(first_wanted);
    // The rows whose logits somebody wants move to the front of the stream.
    u32 wanted = 0;
    for (u32 i = 0, end = 0; i < count; ++i) {
      const part p = part_of(i);
      if (p.hidden) give_hidden(p, end);
      end += static_cast<u32>(p.ids.size());
      for (u32 r = end - p.wanted(); r < end; ++r) space_.copy_row(r, wanted++);
      p.of.advance(static_cast<u32>(p.ids.size()));
    }
    logits_giver give;
    for (u32 first = 0, n; first < wanted; first += n) {
      n = run_footer(first, wanted);
      give(space_.logits(form_of(n)), n, part_of);
    }
  }

 private:
  using step = void (*)(const params&, const work&, u32 unit);

  // A code's kernels, in the order of its steps, and its phases in both forms.
  template <const code& C> struct compiled {
    static constexpr schedule phases[]{phases_of(C, form::decode), phases_of(C, form::prefill)};
    static constexpr auto steps = []<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<step, sizeof...(I)>{kernel_of<C.ops[I].op, types_of(C, C.ops[I], KV), Isa>()...};
    }(std::make_index_sequence<C.ops.size()>{});
  };
  struct code_ref {
    const code* c;
    const schedule* phases;  // decode, prefill
    const step* steps;
  };
  template <const code& C> static constexpr code_ref ref{&C, compiled<C>::phases, compiled<C>::steps.data()};

  // As in workspace: header, bodies, footer.
  static constexpr std::array<code_ref, P::body_count + 2> codes = []<std::size_t... V>(std::index_sequence<V...>) {
    return std::array<code_ref, P::body_count + 2>{ref<P::header_code()>, ref<P::template body<V>()>..., ref<P::footer_code()>};
  }(std::make_index_sequence<P::body_count>{});

  static constexpr u32 widest = [] {  // steps of one phase
    u32 most = 1;
    for (const code_ref& r : codes)
      for (const schedule* s : {&r.phases[0], &r.phases[1]})
        for (const phase& ph : s->phases) most = std::max(most, u32{ph.per_thread} + ph.count);
    return most;
  }();

  // A pass walks from 0, the header, over layer l at l + 1, to the footer at P::layers + 1.
  static constexpr u32 code_at(u32 at) { return at == 0 ? 0 : at > P::layers ? P::body_count + 1 : P::variants.of[at - 1] + 1u; }

  // Of a prompt, rows before the first that somebody wants end with their last state.
  void run_layers(u32 first_wanted) {
    const pass all = space_.rows().all();
    const bool ends = first_wanted > 0 && form_of(all.tokens) == form::prefill;
    const pass wanted = ends ? space_.last_rows(first_wanted) : all;
    team_.run_fitting([&](u32 thread) noexcept {
      run_code(0, all, thread, 0);
      u32 state = 0;
      for (u32 l = 0; l < P::layers; ++l) {
        if (ends && l == P::row_end.layer) {
          run_phases(l + 1, form::prefill, 0, P::row_end.phase, all, thread, state);
          if (wanted.tokens == 0) return;
          pass rest = wanted;
          rest.within = true;
          run_phases(l + 1, form::prefill, P::row_end.phase, ~0u, rest, thread, state);
        } else {
          run_code(l + 1, ends && l > P::row_end.layer ? wanted : all, thread, state);
        }
        state += P::unfused[P::kind_of[l]].states.size();
      }
    });
  }
  // Logits of rows [first, end) of the stream, as many as there is room for; returns how many.
  u32 run_footer(u32 first, u32 end) {
    pass last;
    last.tokens = std::min(end - first, limits().logit_rows), last.skip = first;
    team_.run_fitting([&](u32 thread) noexcept { run_code(P::layers + 1, last, thread, 0); });
    return last.tokens;
  }

  // A part's rows of the stream, from `row` on, after the last norm: in place, as nothing else comes of them.
  void give_hidden(const part& p, u32 row) {
    static constexpr const instruction& norm = P::unfused_footer().ops[0];
    static_assert(norm.op == opcode::rmsnorm && norm.p.scale.v == 0);
    const auto* const w = reinterpret_cast<const float*>(weights_.row(P::layers + 1)[norm.weight[0]]);
    for (u32 r = p.first; r < p.ids.size(); ++r) {
      float* const x = space_.row(row + r);
      rms_norm_kernel<Isa>::row(x, w, norm.p.cols, norm.p.eps, norm.p.offset, x);
      p.hidden.take(p.hidden.user, p.index + r - p.first, x);
    }
  }

  void run_code(u32 at, const pass& now, u32 thread, u32 state) { run_phases(at, form_of(now.tokens), 0, ~0u, now, thread, state); }
  // Phases [from, to), as far as there are any.
  void run_phases(u32 at, form f, u32 from, u32 to, const pass& now, u32 thread, u32 state) {
    const u32 index = code_at(at), layer = index > 0 && index <= P::body_count ? at - 1 : 0;
    const auto [c, phases_of_form, steps] = codes[index];
    const auto& phases = phases_of_form[f == form::prefill].phases;
    for (u32 n = from; n < phases.size() && n < to; ++n) {
      const phase& ph = phases[n];
      const auto prepared = [&](u32 k) {
        const instruction& i = c->ops[k];
        return space_.prepare(*c, index, f, i, now, thread, weights_.row(at), layer, state + (i.state == absent ? 0 : i.state));
      };
      u64 spent[widest]{};  // ns of each step, when somebody wants to know
      const u64 began = trace_.now();
      const auto timed = [&](u32 k, const work& w, u32 unit) {
        const u64 start = trace_.now();
        steps[k](c->ops[k].p, w, unit);
        spent[k - ph.first] += trace_.now() - start;
      };
      const u32 first = u32{ph.first} + ph.per_thread;
      for (u32 k = ph.first; k < first; ++k) timed(k, prepared(k), 0);
      if (ph.count > 0) {
        work w[widest];
        for (u32 k = 0; k < ph.count; ++k) w[k] = prepared(first + k);
        const instruction &i = c->ops[first], &last = c->ops[first + ph.count - 1];
        const u32 cut = ph.by == split::kv_heads && attends(last.op) ? units_to_share(last.p, now.segments) : 0;
        const auto tiles = static_cast<u32>(now.tiles.size());
        team_.share(thread, units_of(i.p, ph.by, now.tokens, row_units(*c, i), tiles), [&](u32 unit) {
          for (u32 k = 0; k + (cut > 0) < ph.count; ++k) timed(first + k, w[k], unit);
          if (cut) advance(unit);
        });
        if (cut) {
          const u32 k = ph.count - 1u, heads = last.p.kv_heads;
          w[k].cut = cut;
          team_.share(thread, heads * cut, [&](u32 unit) {
            const u32 h = unit / cut;
            team_.wait_while(progress_[h], 0);
            timed(first + k, w[k], heads + unit);
            if (advance(h) != cut) return;
            timed(first + k, w[k], h);
            progress_[h].store(0, std::memory_order_relaxed);
          });
        }
      }
      const u64 done = trace_.now();
      if (ph.barrier) team_.barrier();
      if (trace_) tell(thread, index, ph, began, spent, done);
    }
  }

  CKE_OUT_OF_LINE void tell(u32 thread, u32 index, const phase& ph, u64 began, const u64* spent, u64 done) const {
    for (u32 k = 0; k < u32{ph.per_thread} + ph.count; began += spent[k], ++k)
      trace_.take(trace_.user, thread, index, ph.first + k, began, began + spent[k]);
    if (ph.barrier) trace_.take(trace_.user, thread, index, tracer::waiting, done, trace_.now());
  }

  // One step forward of a kv head; returns how many it had made.
  u32 advance(u32 head) {
    const u32 before = progress_[head].fetch_add(1, std::memory_order_acq_rel);
    if (before == 0) progress_[head].notify_all();
    return before;
  }

  const weights<P, Isa>& weights_;
  team& team_;
  workspace<P, KV, Isa> space_;
  tracer trace_{};
  // Attention that is shared needs no barrier: the units of a kv head wait for its keys and queries, which
  // count 1, and who finishes the last of them puts its runs together. 0 between phases.
  std::unique_ptr<std::atomic<u32>[]> progress_;
};

}  // namespace cke::runtime
CKE_COLD_END
