// SPDX-License-Identifier: MIT
// unrolled_executor.hpp: the executor of unrolled models.
#pragma once

#include "hidden_rows.hpp"
#include "model_options.hpp"
#include "run_pass.hpp"
#include "team.hpp"
#include "unrolled_pass.hpp"

namespace cke::runtime {

// Runs an unrolled_pass. Whoever feeds is the one thread that runs it.
template <class P, dtype KV, class Isa> class unrolled_executor final : public pass_executor {
  using straight = unrolled_pass<P, KV, Isa>;
  using plan = typename straight::plan;
  using sequence_rows = typename straight::sequence_rows;

 public:
  unrolled_executor(const compiled_program& m, const state_facts& states, const weights& w, capacity k)
      : weights_(w), space_(m, states, plan::limits(k.context), 1), begin_(space_.begin()) {
    for (u32 i = 0; i < plan::ropes.all.size(); ++i)
      ropes_[i] = space_.rope(*plan::ropes.all[i].rope, plan::ropes.all[i].head_dim);
  }

  const capacity& limits() const override { return space_.limits(); }
  u64 bytes() const override { return space_.bytes(); }
  // Throws unsupported: straight-line code has no place for a tracer.
  void watch(const tracer& t) override {
    if (t)
      throw Error(errc::unsupported, {}, "watch", "a model that runs over tables, without cke::unrolled",
                  "an unrolled one");
  }
  void run(u32 count, function_ref<pass_part(u32)> part_of) override { shared_pass::run(*this, count, part_of); }

 private:
  friend shared_pass;

  void begin_pass() { space_.rows().clear(); }
  void add(const pass_part& p) { space_.add(p.ids, p.of, p.images); }
  void copy_row(u32 from, u32 to) { space_.copy_row(from, to); }
  void give_hidden(const pass_part& p, u32 row) { give_normed_rows(space_, weights_, p, row); }

  typename straight::weights_of_place first_weight() const {
    if constexpr (plan::sized) return weights_.memory().data();
    else return weights_.row(0);
  }
  // Rows [first, first + tokens) of the stream, which belong to one sequence.
  sequence_rows rows_of(u32 first, u32 tokens, const u32* ids, const segment& of) const {
    return {begin_, ropes_, ids, {0, tokens, of.position + (first - of.first), {of.pages[0], of.pages[1]}}, first};
  }
  // Every row goes through all layers, whether it is read or not.
  void run_layers(u32) {
    const kernel_float_mode mode;
    const pass now = space_.rows().all();
    for (const segment& s : now.segments) {
      if (s.tokens == plan::rows)
        straight::template layers<plan::rows>(rows_of(s.first, s.tokens, now.ids + s.first, s), first_weight());
      else
        for (u32 r = s.first; r < s.first + s.tokens; ++r)
          straight::template layers<1>(rows_of(r, 1, now.ids + r, s), first_weight());
    }
  }
  logit_block run_footer(u32 first, u32) {
    const kernel_float_mode mode;
    straight::footer(rows_of(first, 1, nullptr, {first, 1, 0, {}}), first_weight());
    return {space_.logits(form::decode), 1};
  }

  const weights& weights_;
  workspace space_;
  pass_addresses begin_;
  rope_view ropes_[std::max<std::size_t>(plan::ropes.all.size(), 1)];
};

struct unrolled {
  template <class P, dtype KV, class Isa>
  static constexpr auto executor = +[](const compiled_program& m, const state_facts& states, const weights& w, team&,
                                       const model_options& o) -> std::unique_ptr<pass_executor> {
    return std::make_unique<unrolled_executor<P, KV, Isa>>(m, states, w, o.limits());
  };
};

}  // namespace cke::runtime
