// SPDX-License-Identifier: MIT
// executor.hpp: a program run on a team of threads: the phases of each layer, and the kernels of each phase.
#pragma once

#include "../kernels/store_row.hpp"
#include "hidden_rows.hpp"
#include "pass_part.hpp"
#include "rank_link.hpp"
#include "run_pass.hpp"
#include "shared_attention.hpp"
#include "step_tables.hpp"
#include "team.hpp"
#include "weights.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Reads from top to bottom: a pass -> the layers -> the phases of a layer -> the steps of a phase. All threads make the
// same walk and meet at barriers. A step is long enough for a call, so the walk over the tables is ordinary code.
// `Ranks` says which units are this process's own.
template <class P, dtype KV, class Isa, class Ranks = one_rank> class executor {
 public:
  using slot = sequence_state<P, KV, Isa>;
  using part = pass_part<slot>;

  // `link`: of many_ranks
  template <class... Link>
  executor(const weights<P, Isa>& w, team& threads, capacity k, const hints& how = {}, const Link&... link)
      : weights_(w),
        team_(threads),
        how_(merged(how, default_hints)),
        how_at_(places_of(how_)),
        space_(k, threads.size(), *how_.huge_pages),
        attention_(space_.kv_heads()),
        ranks_(link..., k) {}

  const capacity& limits() const { return space_.limits(); }
  u64 bytes() const { return space_.bytes(); }
  page_memory* memory_of_pages() const { return nullptr; }
  void watch(const tracer& t) { trace_ = t; }
  void run(u32 count, function_ref<part(u32)> part_of) { shared_pass::run(*this, count, part_of); }

  // The features of an image, where P is a tower: rows of the last letters, and of the deepstack letters side by side.
  struct features {
    view rows, taps;
    u32 count;
  };
  // patch(place, to) writes a patch. The views are valid until the next image; their rows are in the order of the pass.
  static constexpr patch_order order = runtime::workspace<P, KV, Isa>::order;
  template <class F> features encode(patch_grid g, F&& patch) {
    const pass all = space_.add_image(g, patch);
    run_on_threads(all.tokens, [&](u32 thread) noexcept {
      walk_layers(thread, all, nullptr);
      run_phases(stage_of(P::layers + 1, all, thread, 0));
    });
    return {space_.logits(form_of(all.tokens)), space_.tap_rows(), all.tokens / P::merged};
  }

 private:
  friend shared_pass;
  friend Ranks;
  using tables = step_tables<P, KV, Isa>;
  using times = u64[tables::widest];  // ns of each step of a phase, while a tracer listens

  // ---- the parts of a pass

  void begin_pass() { space_.rows().clear(); }
  void add(const part& p) { space_.add(p.ids, p.of, p.images); }
  void copy_row(u32 from, u32 to) { space_.copy_row(from, to); }
  void give_hidden(const part& p, u32 row) { give_normed_rows(space_, weights_, p, row); }

  // In prefill form, rows before `first_read` stop after the last step that stores state.
  void run_layers(u32 first_read) {
    const pass all = space_.rows().all();
    const bool stops = first_read > 0 && form_of(all.tokens) == form::prefill;
    const pass rest = stops ? space_.last_rows(first_read) : all;
    run_on_threads(all.tokens, [&](u32 thread) noexcept { walk_layers(thread, all, stops ? &rest : nullptr); });
  }

  // Logits of stream rows [first, end), as many as there is room for.
  logit_block run_footer(u32 first, u32 end) {
    pass rows;
    rows.tokens = std::min(end - first, limits().logit_rows), rows.skip = first;
    run_on_threads(rows.tokens, [&](u32 thread) noexcept { run_phases(stage_of(P::layers + 1, rows, thread, 0)); });
    return {space_.logits(form_of(rows.tokens)), rows.tokens};
  }

  // Calls body(thread) on the threads that a pass of so many tokens may use.
  template <class F> void run_on_threads(u32 tokens, F body) {
    const u32 most = *(form_of(tokens) == form::decode ? how_.decode_threads : how_.prefill_threads);
    team_.run_fitting(body, most ? most : team::max_threads);
  }

  // The hints of each place of the walk, of which the first and the last belong to no layer.
  using place_hints = std::array<layer_hints, P::layers + 2>;
  static place_hints places_of(const hints& how) {
    place_hints all;
    for (u32 place = 0; place < all.size(); ++place) all[place] = how.at(place - 1);
    return all;
  }

  // ---- the layers, on one thread

  // `rest`: the rows that go on after P::row_end; null: all of them do.
  void walk_layers(u32 thread, const pass& all, const pass* rest) {
    run_phases(stage_of(0, all, thread, 0));
    u32 state = 0;
    for (u32 l = 0; l < P::layers; ++l) {
      if (!rest || l < P::row_end.layer) run_phases(stage_of(l + 1, all, thread, state));
      else if (l > P::row_end.layer) run_phases(stage_of(l + 1, *rest, thread, state));
      else if (!run_dividing(stage_of(l + 1, all, thread, state), *rest)) return;
      state += P::unfused[P::kind_of[l]].states.size();
    }
  }

  // A table of the program at its place in a pass.
  struct stage {
    const step_table& table;
    u32 index, place, layer;  // of the table; in the walk; 0 outside the layers
    form in;
    const pass* now;
    u32 thread;
    u32 state;  // the first state of the layer
    const schedule& phases() const { return table.phases[in == form::prefill]; }
  };
  static stage stage_of(u32 place, const pass& now, u32 thread, u32 state) {
    const u32 index = tables::index_at(place), layer = index > 0 && index <= P::body_count ? place - 1 : 0;
    return {tables::all[index], index, place, layer, form_of(now.tokens), &now, thread, state};
  }

  // The layer in which the rows before `rest` stop: its first phases run for all rows, the others for the rest of them,
  // in the same registers. False: there are none.
  bool run_dividing(stage s, const pass& rest) {
    run_phases(s, 0, P::row_end.phase);
    if (rest.tokens == 0) return false;
    pass within = rest;
    within.within = true;
    s.now = &within;
    run_phases(s, P::row_end.phase);
    return true;
  }

  // ---- the phases of a layer

  // Phases [from, to), as far as there are any.
  void run_phases(const stage& s, u32 from = 0, u32 to = ~0u) {
    const auto& phases = s.phases().phases;
    for (u32 n = from; n < phases.size() && n < to; ++n) run_phase(s, phases[n]);
  }

  // First the steps that every thread runs for itself, then those that threads share unit by unit.
  void run_phase(const stage& s, const phase& p) {
    times spent{};
    const u64 began = trace_.now();
    const u32 shared = u32{p.first} + p.per_thread;
    for (u32 k = p.first; k < shared; ++k) run_step(s, k, prepared(s, k), 0, spent[k - p.first]);
    if (p.count > 0 && ranks_.runs_apart(*s.table.c, p, shared))
      ranks_.run_apart(*this, s, p, shared, spent + p.per_thread);
    else if (p.count > 0) run_shared(s, p, shared, spent);
    const u64 done = trace_.now();
    if (p.barrier) team_.barrier(), ranks_.exchange(*this, s, shared + p.count);
    if (trace_) tell(s, p, began, spent, done);
  }

  // Steps [first, first + p.count): the threads share the units, and each unit runs through all the steps.
  void run_shared(const stage& s, const phase& p, u32 first, times& spent) {
    work w[tables::widest];
    for (u32 k = 0; k < p.count; ++k) w[k] = prepared(s, first + k);
    const code& c = *s.table.c;
    const instruction &begin = c.ops[first], &last = c.ops[first + p.count - 1];
    const pass_segments seen = s.now->seen_by(last.p);
    const u32 units = units_of(begin.p, p.by, s.now->tokens / c.tokens_of_row(begin), row_units(c, begin),
                               static_cast<u32>(seen.tiles.size()));
    const layer_hints& how = how_at_[s.place];
    const u32 cut = p.by == split::kv_heads && attends(last.op) && how.attention_decode == attention_sharing::tiled
        ? units_to_share(last.p.as<attention_params>(), seen.segments)
        : 0;
    const u32 together = cut ? p.count - 1u : p.count;  // the last step, attention, may be cut finer than the others
    u64* const ns = spent + p.per_thread;
    const auto own = ranks_.own(c, first, p.by, units);
    if (const u32 tokens = w[0].tokens, rows = rows_at_once(p, c, first, tokens); rows < tokens) {
      const u32 count = own.count();
      return team_.share(s.thread, count * ceil_div(tokens, rows), *how.units_per_claim, [&](u32 n) {
        for (u32 k = 0; k < p.count; ++k)
          run_step(s, first + k, some_rows(w[k], n / count * rows, rows), own[n % count], ns[k]);
      });
    }
    team_.share(s.thread, own.count(), *how.units_per_claim, [&](u32 n) {
      for (u32 k = 0; k < together; ++k) run_step(s, first + k, w[k], own[n], ns[k]);
      if (cut) attention_.ready(n);
    });
    if (cut == 0) return;
    w[together].cut = cut;
    const u32 heads = own.count();
    attention_.run(team_, s.thread, heads, cut, *how.units_per_claim, [&](u32 n) {  // own heads, then their parts
      const u32 unit = n < heads ? own[n] : head_units(last.p) + own[0] * cut + (n - heads);
      run_step(s, first + together, w[together], unit, ns[together]);
    });
  }

  // Products of many rows, such as those of a tower, go block by block: the next unit finds a block's rows in a cache.
  static u32 rows_at_once(const phase& p, const code& c, u32 first, u32 tokens) {
    constexpr u32 some = 512;  // of the widest input, 4,304 floats, 9 MB
    if (tokens < 2 * some || p.by != split::rows) return tokens;
    for (u32 k = first; k < first + p.count; ++k)
      if (!info(c.ops[k].op).row_by_row) return tokens;
    return static_cast<u32>(align_up(ceil_div(tokens, tokens / some), unit_tokens));
  }
  static work some_rows(work w, u32 first, u32 most) {
    for (view& v : w.in) v = from_row<Isa>(v, first);
    for (view& v : w.out) v = from_row<Isa>(v, first);
    w.tokens = std::min(w.tokens - first, most);
    return w;
  }

  // ---- the steps of a phase

  work prepared(const stage& s, u32 k) const {
    const instruction& i = s.table.c->ops[k];
    return space_.prepare(*s.table.c, s.index, s.in, i, *s.now, s.thread, weights_.row(s.place), s.layer,
                          s.state + (i.state == absent ? 0 : i.state));
  }

  void run_step(const stage& s, u32 k, const work& w, u32 unit, u64& spent) {
    const u64 start = trace_.now();
    s.table.steps[k](s.table.c->ops[k].p, w, unit);
    if (trace_) spent += trace_.now() - start;
  }

  CKE_OUT_OF_LINE void tell(const stage& s, const phase& p, u64 began, const u64* spent, u64 done) const {
    for (u32 k = 0; k < u32{p.per_thread} + p.count; began += spent[k], ++k)
      trace_.take(trace_.user, s.thread, s.index, p.first + k, began, began + spent[k]);
    if (p.barrier) trace_.take(trace_.user, s.thread, s.index, tracer::waiting, done, trace_.now());
  }

  const weights<P, Isa>& weights_;
  team& team_;
  const hints how_;
  const place_hints how_at_;
  workspace<P, KV, Isa> space_;
  shared_attention attention_;
  tracer trace_{};
  [[no_unique_address]] Ranks ranks_;
};

}  // namespace cke::runtime
CKE_COLD_END
