// SPDX-License-Identifier: MIT
// learner.hpp: runs tapes forth and back over sequences, and adds up gradients.
#pragma once

#include "../runtime/rope_cache.hpp"
#include "parameters.hpp"
#include "pass_memory.hpp"

namespace cke::train {

struct learner_options {
  u32 context;     // positions that rope's rules go by, and the most of an example
  u32 padding;     // id whose row of an embedding learns nothing from being read; no_target: none
  bool recompute;  // values within a layer are computed again on the way back instead of kept
  bool bf16;       // products of matrices round their factors to bf16, but for parameters::row::in_f32 and routers
};

// The same bits for any number of threads, and for any cut of a list of examples into passes.
template <class Isa> class learner {
 public:
  // Throws out_of_memory, config_range.
  learner(const taped_program& n, parameters& p, team& threads, const learner_options& o)
      : net_(n), parameters_(p), team_(threads), options_(o), memory_(n, threads.size(), p.rank(), o.recompute) {
    const u32 context = o.context;
    if (context == 0 || context > most_positions)
      throw Error(errc::config_range, {}, "context", concat({"1 to ", most_positions}), concat({context}));
    for (const tape& t : net_.tapes)
      for (const tape_step& s : t.steps)
        if (const turned_head of = turned(s.i.p); of.rope) ropes_.add(*of.rope, of.head_dim, context);
  }

  // One pass forth and back: adds to all gradients `by` times those of the sum of the losses of all targets, which are
  // added to `sum` one by one. Throws token_range, context_overflow, usage, out_of_memory.
  double pass(std::span<const example> examples, float by, const loss_options& loss, double sum) {
    return run(examples, by, true, loss, sum);
  }
  // Adds the cross-entropies alone: the way forth.
  double loss(std::span<const example> examples, double sum) { return run(examples, 0, false, {}, sum); }
  // The logits of the id after `ids`, valid until the next pass. Throws as pass does; usage without ids.
  std::span<const float> logits_after(std::span<const u32> ids) {
    if (ids.empty()) throw Error(errc::usage, {}, "ids", "at least one", "none");
    const std::vector<u32> targets(ids.size(), no_target);
    const example one{ids, targets};
    run({&one, 1}, 0, false, {}, 0);
    const u32 place = net_.last_place(), row = rows_.count() - 1, at = row % memory_.logit_rows();
    return {memory_.value_of(place, net_.at(place).last, row - at, nullptr).row(at), net_.vocab};
  }
  u64 bytes() const { return memory_.bytes(); }
  u64 products() const { return net_.products(); }

 private:
  double run(std::span<const example> examples, float by, bool learns, const loss_options& loss, double sum) {
    rows_.gather(examples, net_.vocab, options_.context);
    memory_.reserve(rows_);
    losses_.assign(rows_.count(), 0.0), balance_losses_.assign(rows_.segments.size(), 0.0);
    by_ = by, learns_ = learns, loss_ = loss;
    team_.run([&](u32 thread) noexcept { everything_on(thread); });
    for (u32 i = 0; i < rows_.segments.size(); ++i) {
      const segment& s = rows_.segments[i];
      for (u32 t = s.first; t < s.first + s.tokens; ++t) sum += losses_[t];
      sum += balance_losses_[i];
    }
    return sum;
  }
  // A step of a place, on n rows from `first` on.
  step_work work_of(u32 place, const tape_step& s, u32 first, u32 n) {
    const instruction& i = s.i;
    step_work to;
    work& w = to.w;
    const auto value = [&](u32 at, u32 v) { return memory_.value_of(at, v, first, rows_.ids.data()); };
    for (u32 k = 0; k < i.in.count; ++k) {
      const auto gradient = memory_.gradient_of(place, i.in[k], first);
      w.in[k] = value(place, i.in[k]), to.din[k] = gradient.at, to.fresh[k] = gradient.own && s.first[k];
    }
    for (u32 k = 0; k < i.out.count; ++k)
      w.out[k] = value(place, i.out[k]), to.dout[k] = memory_.gradient_of(place, i.out[k], first).at;
    const auto& weights = parameters_.of(place);
    for (u32 k = 0; k < i.weight.count; ++k) {
      to.plain[k] = weights.plain[i.weight[k]], to.dweight[k] = weights.gradient[i.weight[k]];
      w.weight[k] = reinterpret_cast<const std::byte*>(to.plain[k]);
      to.added[k] = weights.added[i.weight[k]];
      to.bf16[k] = options_.bf16 && i.op != opcode::router && !weights.in_f32[i.weight[k]];
    }
    if (i.op == opcode::attend) {
      const u32 head_dim = i.p.template as<attention_params>().shape.head_dim;
      w.kv = {0, kv_cache<dtype::f32, Isa>::block_bytes(head_dim), memory_.blocks(), false};
      if (const state_shape& mine = net_.at(place).states[i.state]; mine.shared) {
        const auto& o = *memory_.owning(net_.owner_of(place, mine));
        w.in[1] = value(o.place, o.key), w.in[2] = value(o.place, o.value);
        for (u32 k = 0; k < 2; ++k) to.din[1 + k] = memory_.view_of(o.gradient[k], o.width);
      }
    } else if (i.state != absent) {
      w.kv = {0, 0, memory_.blocks(), true};
    }
    if (const turned_head of = turned(i.p); of.rope) w.rope = ropes_.find(*of.rope, of.head_dim);
    w.tokens = n, w.segments = rows_.segments, w.segment_of = rows_.segment_of.data(), w.tiles = rows_.tiles;
    to.balance = {loss_.balance_loss, by_, rows_.targets_of.data(), balance_losses_.data()};
    to.longest = rows_.longest, to.padding = options_.padding, to.low_rank_room = memory_.low_rank_room();
    return to;
  }

  void everything_on(u32 thread) noexcept {
    const crew c{team_, thread, memory_.scratch(thread)};
    const u32 n = rows_.count(), last = net_.last_place();
    memory_.each_lasting([&](const view& v) { clear(c, v, n); });
    for (u32 place = 0; place < last; ++place) {
      bring(place, c);
      forth(place, c, 0, n);
    }
    for (u32 first = 0; first < n; first += memory_.logit_rows()) {
      const u32 count = std::min(memory_.logit_rows(), n - first);
      forth(last, c, first, count);
      take_losses(c, first, count);
      if (learns_) back(last, c, first, count);
    }
    if (!learns_) return;
    for (u32 place = last; place-- > (parameters_.learns(0) ? 0u : 1u);) {
      if (place + 1 < last) bring(place, c);
      if (place + 1 < last && place > 0 && options_.recompute) forth(place, c, 0, n);
      back(place, c, 0, n);
    }
  }
  void bring(u32 place, const crew& c) {
    if (parameters_.of(place).in_file.empty()) return;
    parameters_.bring(place, c);
    c.barrier();
  }
  static void clear(const crew& c, const view& v, u32 n) {
    c.rows(n, [&](u32 t) { std::fill_n(v.row(t), v.stride, 0.f); });
  }
  void forth(u32 place, const crew& c, u32 first, u32 n) {
    for (const tape_step& s : net_.at(place).steps) {
      rules_[s.i.op].forward(s, work_of(place, s, first, n), c, memory_.shared());
      c.barrier();
    }
  }
  void back(u32 place, const crew& c, u32 first, u32 n) {
    const tape& t = net_.at(place);
    for (u32 k = t.steps.size(); k-- > 0;) {
      const tape_step& s = t.steps[k];
      for (u32 i = 0; i < s.i.in.count; ++i)
        if (const auto d = memory_.gradient_of(place, s.i.in[i], first);
            d.own && s.first[i] && !rules_[s.i.op].writes_fresh)
          clear(c, d.at, n * t.values[s.i.in[i]].rows);
      c.barrier();
      rules_[s.i.op].backward(s, work_of(place, s, first, n), c, memory_.shared());
      c.barrier();
    }
  }
  void take_losses(const crew& c, u32 first, u32 n) {
    const u32 place = net_.last_place(), v = net_.at(place).last;
    const view logits = memory_.value_of(place, v, first, nullptr), slope = memory_.gradient_of(place, v, first).at;
    c.rows(n, [&](u32 t) {
      const u32 target = rows_.targets[first + t];
      float* const x = slope.row(t);
      if (target == no_target) return void(std::fill_n(x, net_.vocab, 0.f));
      std::copy_n(logits.row(t), net_.vocab, x);
      losses_[first + t] = rules_.row_loss(x, net_.vocab, target, loss_, by_);
    });
    c.barrier();
  }

  const taped_program net_;
  const rule_table& rules_ = rules_of<Isa>();
  parameters& parameters_;
  team& team_;
  const learner_options options_;
  rope_cache ropes_;
  pass_memory<Isa> memory_;

  // The pass that runs:
  example_rows rows_;
  std::vector<double> losses_;          // [rows]
  std::vector<double> balance_losses_;  // [sequences]
  float by_{};
  bool learns_{};
  loss_options loss_;
};

}  // namespace cke::train
