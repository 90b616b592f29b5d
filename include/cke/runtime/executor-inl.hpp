// SPDX-License-Identifier: MIT
// executor-inl.hpp: the walk of executor.hpp.
#pragma once

#include <algorithm>

#include "../kernels/attention/attention_units.hpp"
#include "executor.hpp"
#include "step_facts.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

template <class Ranks>
executor<Ranks>::executor(const compiled_program& m, const state_facts& states, const weights& w, team& threads,
                          capacity k, const hints& how, std::in_place_t, Ranks ranks)
    : p_(*m.program),
      isa_(m.isa()),
      row_end_(p_.row_end()),
      merged_(p_.output().tokens),
      weights_(w),
      team_(threads),
      how_(merged(how, default_hints)),
      space_(m, states, k, threads.size(), *how_.huge_pages),
      attention_(space_.kv_heads()),
      ranks_(std::move(ranks)) {
  for (u32 place = 0; place < p_.layers + 2; ++place) how_at_.push_back(how_.at(place - 1));
  m.each_code([&](u32 index, const code& c) {
    tables_.push_back({&c, {phases_of(c, form::decode), phases_of(c, form::prefill)}, m.steps[index]});
    for (const schedule& s : tables_.back().phases)
      for (const phase& p : s.phases) widest_ = std::max(widest_, u32{p.per_thread} + p.count);
  });
  works_.resize(u64{threads.size()} * widest_);
}

template <class Ranks> void executor<Ranks>::run(u32 count, function_ref<pass_part(u32)> part_of) {
  shared_pass::run(*this, count, part_of);
}

template <class Ranks>
auto executor<Ranks>::encode(patch_grid g, function_ref<void(patch_place, float*)> patch) -> features {
  const pass all = space_.add_image(g, patch);
  run_on_threads(all.tokens, [&](u32 thread) noexcept {
    walk_layers(thread, all, nullptr);
    run_phases(stage_of(p_.layers + 1, all, thread, 0));
  });
  return {space_.logits(form_of(all.tokens)), space_.tap_rows(), all.tokens / merged_};
}

// ---- the parts of a pass

// In prefill form, rows before `first_read` stop after the last step that stores state.
template <class Ranks> void executor<Ranks>::run_layers(u32 first_read) {
  const pass all = space_.rows().all();
  const bool stops = first_read > 0 && form_of(all.tokens) == form::prefill;
  const pass rest = stops ? space_.last_rows(first_read) : all;
  run_on_threads(all.tokens, [&](u32 thread) noexcept { walk_layers(thread, all, stops ? &rest : nullptr); });
}

// Logits of stream rows [first, end), as many as there is room for.
template <class Ranks> logit_block executor<Ranks>::run_footer(u32 first, u32 end) {
  pass rows;
  rows.tokens = std::min(end - first, limits().logit_rows), rows.skip = first;
  run_on_threads(rows.tokens, [&](u32 thread) noexcept { run_phases(stage_of(p_.layers + 1, rows, thread, 0)); });
  return {space_.logits(form_of(rows.tokens)), rows.tokens};
}

// Calls body(thread) on the threads that a pass of so many tokens may use.
template <class Ranks> template <class F> void executor<Ranks>::run_on_threads(u32 tokens, F body) {
  const u32 most = *(form_of(tokens) == form::decode ? how_.decode_threads : how_.prefill_threads);
  team_.run_fitting(body, most ? most : team::max_threads);
}

// ---- the layers, on one thread

// `rest`: the rows that go on after row_end_; null: all of them do.
template <class Ranks> void executor<Ranks>::walk_layers(u32 thread, const pass& all, const pass* rest) {
  run_phases(stage_of(0, all, thread, 0));
  u32 state = 0;
  for (u32 l = 0; l < p_.layers; ++l) {
    if (!rest || l < row_end_.layer) run_phases(stage_of(l + 1, all, thread, state));
    else if (l > row_end_.layer) run_phases(stage_of(l + 1, *rest, thread, state));
    else if (!run_dividing(stage_of(l + 1, all, thread, state), *rest)) return;
    state += p_.unfused_of(l).states.size();
  }
}

template <class Ranks> auto executor<Ranks>::stage_of(u32 place, const pass& now, u32 thread, u32 state) const
    -> stage {
  const bool inside = place > 0 && place <= p_.layers;
  const u32 layer = inside ? place - 1 : 0, index = inside ? p_.variant_of[layer] + 1u : place ? p_.body_count + 1 : 0;
  return {tables_[index], index, place, layer, form_of(now.tokens), &now, thread, state};
}

// The layer in which the rows before `rest` stop: its first phases run for all rows, the others for the rest of them,
// in the same registers. False: there are none.
template <class Ranks> bool executor<Ranks>::run_dividing(stage s, const pass& rest) {
  run_phases(s, 0, row_end_.phase);
  if (rest.tokens == 0) return false;
  pass within = rest;
  within.within = true;
  s.now = &within;
  run_phases(s, row_end_.phase);
  return true;
}

// ---- the phases of a layer

// Phases [from, to), as far as there are any.
template <class Ranks> void executor<Ranks>::run_phases(const stage& s, u32 from, u32 to) {
  const auto& phases = s.phases().phases;
  for (u32 n = from; n < phases.size() && n < to; ++n) run_phase(s, phases[n]);
}

// First the steps that every thread runs for itself, then those that threads share unit by unit.
template <class Ranks> void executor<Ranks>::run_phase(const stage& s, const phase& p) {
  times spent;
  std::fill_n(spent, p.per_thread + p.count, u64{0});
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
template <class Ranks> void executor<Ranks>::run_shared(const stage& s, const phase& p, u32 first, times& spent) {
  work* const w = &works_[u64{s.thread} * widest_];
  for (u32 k = 0; k < p.count; ++k) w[k] = prepared(s, first + k);
  const code& c = *s.table.c;
  const instruction &begin = c.ops[first], &last = c.ops[first + p.count - 1];
  const pass_segments seen = s.now->seen_by(last.p);
  const u32 units = units_of(begin.p, p.by, s.now->tokens / c.tokens_of_row(begin), row_units(c, begin),
                             static_cast<u32>(seen.tiles.size()));
  const layer_hints& how = how_at_[s.place];
  // A query that each thread norms for itself is turned in one thread's copy alone: no other can attend with it.
  const bool own_queries = attends(last.op) && graph::is_per_thread(c, graph::form::decode, last.in[0]);
  const u32 cut =
      p.by == split::kv_heads && attends(last.op) && !own_queries && how.attention_decode == attention_sharing::tiled
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
template <class Ranks> u32 executor<Ranks>::rows_at_once(const phase& p, const code& c, u32 first, u32 tokens) {
  constexpr u32 some = 512;  // of the widest input, 4,304 floats, 9 MB
  if (tokens < 2 * some || p.by != split::rows) return tokens;
  for (u32 k = first; k < first + p.count; ++k)
    if (!info(c.ops[k].op).row_by_row) return tokens;
  return static_cast<u32>(align_up(ceil_div(tokens, tokens / some), unit_tokens));
}
template <class Ranks> work executor<Ranks>::some_rows(work w, u32 first, u32 most) const {
  for (view& v : w.in) v = isa_.from_row(v, first);
  for (view& v : w.out) v = isa_.from_row(v, first);
  w.tokens = std::min(w.tokens - first, most);
  return w;
}

// ---- the steps of a phase

template <class Ranks> work executor<Ranks>::prepared(const stage& s, u32 k) const {
  const instruction& i = s.table.c->ops[k];
  return space_.prepare(*s.table.c, s.index, s.in, i, *s.now, s.thread, weights_.row(s.place), s.layer,
                        s.state + (i.state == absent ? 0 : i.state));
}

template <class Ranks> void executor<Ranks>::run_step(const stage& s, u32 k, const work& w, u32 unit, u64& spent) {
  const u64 start = trace_.now();
  s.table.steps[k].run(s.table.c->ops[k].p, w, unit);
  if (trace_) spent += trace_.now() - start;
}

template <class Ranks> void executor<Ranks>::tell(const stage& s, const phase& p, u64 began, const u64* spent,
                                                  u64 done) const {
  for (u32 k = 0; k < u32{p.per_thread} + p.count; began += spent[k], ++k)
    trace_.take(trace_.user, s.thread, s.index, p.first + k, began, began + spent[k]);
  if (p.barrier) trace_.take(trace_.user, s.thread, s.index, tracer::waiting, done, trace_.now());
}

}  // namespace cke::runtime
CKE_COLD_END
