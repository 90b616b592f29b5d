// SPDX-License-Identifier: MIT
// executor.hpp: a program run on a team of threads: the phases of each layer, and the kernels of each phase.
#pragma once

#include <array>
#include <vector>

#include "by_tables.hpp"
#include "hidden_rows.hpp"
#include "model_options.hpp"
#include "pass_part.hpp"
#include "run_pass.hpp"
#include "shared_attention.hpp"
#include "team.hpp"
#include "weights.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// A code at its place: its phases in both forms, and the kernels of its steps.
struct step_table {
  const code* c;
  schedule phases[2];  // decode, prefill
  const step_code* steps;
};

// Reads from top to bottom: a pass -> the layers -> the phases of a layer -> the steps of a phase. All threads make the
// same walk and meet at barriers. A step is long enough for a call, so the walk over the tables is ordinary code.
// `Ranks` says which units are this process's own.
template <class Ranks = one_rank> class executor final : public pass_executor {
 public:
  // All arguments but hints outlive this. `link`: of many_ranks. Throws out_of_memory.
  template <class... Link>
  executor(const compiled_program& m, const state_facts& states, const weights& w, team& threads, capacity k,
           const hints& how = {}, const Link&... link)
      : executor(m, states, w, threads, k, how, std::in_place, Ranks(m, k, link...)) {}

  const capacity& limits() const override { return space_.limits(); }
  u64 bytes() const override { return space_.bytes(); }
  void watch(const tracer& t) override { trace_ = t; }
  void run(u32 count, function_ref<pass_part(u32)> part_of) override;

  // The features of an image, where the program is a tower: rows of the last letters, and of the deepstack letters side
  // by side.
  struct features {
    view rows, taps;
    u32 count;
  };
  // patch(place, to) writes a patch. The views are valid until the next image; their rows are in the order of the pass.
  const patch_order& order() const { return space_.order(); }
  features encode(patch_grid g, function_ref<void(patch_place, float*)> patch);

 private:
  friend shared_pass;
  friend Ranks;
  using times = u64[max_ops];  // ns of each step of a phase, while a tracer listens
  // The hints of each place of the walk, of which the first and the last belong to no layer.
  using place_hints = std::vector<layer_hints>;

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

  executor(const compiled_program& m, const state_facts& states, const weights& w, team& threads, capacity k,
           const hints& how, std::in_place_t, Ranks ranks);

  void begin_pass() { space_.rows().clear(); }
  void add(const pass_part& p) { space_.add(p.ids, p.of, p.images); }
  void copy_row(u32 from, u32 to) { space_.copy_row(from, to); }
  void give_hidden(const pass_part& p, u32 row) { give_normed_rows(space_, weights_, p, row); }
  void run_layers(u32 first_read);
  logit_block run_footer(u32 first, u32 end);
  template <class F> void run_on_threads(u32 tokens, F body);
  void walk_layers(u32 thread, const pass& all, const pass* rest);
  stage stage_of(u32 place, const pass& now, u32 thread, u32 state) const;
  bool run_dividing(stage s, const pass& rest);
  void run_phases(const stage& s, u32 from = 0, u32 to = ~0u);
  void run_phase(const stage& s, const phase& p);
  void run_shared(const stage& s, const phase& p, u32 first, times& spent);
  static u32 rows_at_once(const phase& p, const code& c, u32 first, u32 tokens);
  work some_rows(work w, u32 first, u32 most) const;
  work prepared(const stage& s, u32 k) const;
  void run_step(const stage& s, u32 k, const work& w, u32 unit, u64& spent);
  void tell(const stage& s, const phase& p, u64 began, const u64* spent, u64 done) const;

  const program_data& p_;
  const isa_code& isa_;
  const program_data::end_of_row row_end_;
  const u32 merged_;
  const weights& weights_;
  team& team_;
  const hints how_;
  place_hints how_at_;
  workspace space_;
  std::vector<step_table> tables_;  // header, bodies, footer
  u32 widest_ = 1;                  // steps of the longest phase
  std::vector<work> works_;         // [threads][widest]: of the phase that each runs
  shared_attention attention_;
  tracer trace_{};
  [[no_unique_address]] Ranks ranks_;
};

}  // namespace cke::runtime
CKE_COLD_END

#ifdef CKE_COMPILED
extern template class cke::runtime::executor<cke::runtime::one_rank>;
#else
#include "by_tables-inl.hpp"
#endif
