// SPDX-License-Identifier: MIT
// table_executor.hpp: a program run one step at a time from run-time tables: the executor to debug with.
#pragma once

#include <exception>
#include <functional>

#include "../graph/letter_checks.hpp"
#include "compile_program.hpp"
#include "counters.hpp"
#include "dump.hpp"
#include "executor.hpp"
#include "state_layout.hpp"

namespace cke::runtime {

// What a hook sees after a step, while all threads wait.
template <class Isa> struct step_report {
  u32 number;  // in the order of the plans: table_executor::steps() in all
  place where;
  u32 layer;        // 0 outside the layers
  u32 code, index;  // of the plan's codes (header, bodies, footer), and of its steps
  const instruction& step;
  u32 tokens, position;  // rows of the pass; position of the first
  std::span<const view> outputs;
  std::span<const u32> rows_of_token;  // of each output

  u32 rows(u32 output) const { return tokens * rows_of_token[output]; }  // (token, expert) pairs: expert by expert
  // Whether values() can say it: not an order of rows, nor rows of several a token that are tiled by expert.
  bool readable(u32 output) const {
    return step.op != opcode::sort_by_expert && (outputs[output].as == dtype::f32 || rows_of_token[output] == 1);
  }
  view_desc describe(u32 output) const {
    const u32 shape[]{rows(output), outputs[output].width};
    return describe_view(outputs[output].as, shape, outputs[output].stride);
  }
  // [rows][width], of a readable output. A single token is gathered once, for all its experts.
  std::vector<float> values(u32 output) const {
    const bool once = step.op == opcode::gather && tokens == 1;
    std::vector<float> out = values_of<Isa>(outputs[output], once ? 1 : rows(output));
    for (u32 row = 1; once && row < rows(output); ++row)
      for (u32 i = 0; i < outputs[output].width; ++i) out.push_back(out[i]);
    return out;
  }
  // Writes a CKDMP record for each readable output.
  void dump(std::ostream& to) const {
    for (u32 o = 0; o < outputs.size(); ++o) {
      const u32 shape[]{rows(o), outputs[o].width};
      if (readable(o))
        write_ckdmp(to, where == place::body ? static_cast<i32>(layer) : -1, name(step.op), static_cast<i32>(position),
                    shape, values(o));
    }
  }
};

// What the adapter of a letter is given, on every thread. It leaves the letter's outputs in their registers.
struct letter_call {
  const execution_plan& plan;
  const macro_instruction& letter;
  std::span<const view> in, out;             // its registers
  std::span<const std::byte* const> weight;  // packed, as kernels read them
  u32 tokens, thread;
  function_ref<void()> steps;  // runs the letter's steps, one kernel after the other
};
using letter_adapter = void(const letter_call&);
using letter_adapters = std::array<letter_adapter*, 256>;  // by opcode; null: the backend has none

// The runtime contract as something that runs. An unfused program is walked letter by letter: its macro instructions
// are checked when it is loaded (letter_checks.hpp), and run by the adapters of their letters. Those run the steps of a
// letter through adapters of their own, vectors of function pointers, with a barrier after every step and registers
// placed by the contract's linear scan. A fused program, whose steps cross the borders of letters, is walked step by
// step. It shares kernels, weights and states with `executor`, but neither its phases nor its memory plan, and has the
// same bits.
template <class P, dtype KV, class Isa> class table_executor : public pass_executor {
 public:
  using adapter = void(const params&, const work&, u32 unit);
  using adapters = adapter_table<adapter>;
  using hook = std::function<void(const step_report<Isa>&)>;

  struct debugging {
    u32 stop_after = everything;  // number of the last step that runs
    hook after{};                 // called after every step; what it throws leaves run()
  };

  // Throws unsupported_opcode, malformed, invalid_param_block, out_of_memory.
  table_executor(const compiled_program& m, const state_facts& states, const weights& w, team& threads, capacity k,
                 const adapters& known = all_adapters(), const letter_adapters& letters = all_letters())
      : weights_(w), team_(threads), space_(m, states, k, threads.size()), table_(known), letters_(letters) {
    u64 bytes = 0;
    m.each_code([&](u32 index, const code& c) { bytes += load(index, c); });
    for (u32 l = 0; l < P::layers; ++l) steps_ += static_cast<u32>(codes_[P::variants.of[l] + 1u].steps.size());
    footer_first_ = steps_ += static_cast<u32>(codes_.front().steps.size());
    steps_ += static_cast<u32>(codes_.back().steps.size());
    memory_ = arena(bytes);
    for (table& t : codes_)
      for (place_of_register& r : t.registers) {
        r.data = memory_.take(r.bytes + guard);
        std::memset(r.data, 0xff, r.bytes + guard);  // NaN until something is written
      }
  }

  const capacity& limits() const override { return space_.limits(); }
  u64 bytes() const override { return space_.bytes() + memory_.size(); }
  void watch(const tracer&) override {}                            // a hook sees more
  u32 steps() const { return steps_; }                             // of a pass with logits
  const dispatch_counters& counters() const { return counters_; }  // of steps
  dispatch_counters& counters() { return counters_; }
  const dispatch_counters& letter_counters() const { return letter_counters_; }  // of letters, by whatever adapter

  // Every adapter that P needs. A missing kernel does not compile.
  static adapters all_adapters() {
    adapters t;
    add_code<P::header_code()>(t);
    [&]<std::size_t... V>(std::index_sequence<V...>) {
      (add_code<P::template body<V>()>(t), ...);
    }(std::make_index_sequence<P::body_count>{});
    add_code<P::footer_code()>(t);
    return t;
  }

  // Every letter by its steps.
  static letter_adapters all_letters() {
    letter_adapters t{};
    for (const code* c : unfused_codes())
      for (const instruction& i : c->ops) t[static_cast<u8>(i.letter)] = [](const letter_call& l) { l.steps(); };
    return t;
  }

  // Asks every adapter of the program whether it takes such a pass. Throws batch_unsupported.
  void route(const execution_context& now) const {
    for (const table& t : codes_)
      for (const table_step& s : t.steps) table_.route(s.i.op, now);
  }

  void run(u32 count, function_ref<pass_part(u32)> part_of) override { run(count, part_of, {}); }
  // As executor::run, of one slot; false when it was told to stop: the slot is then truncated to where it was.
  // Throws cache_full; batch_unsupported; malformed when a kernel wrote beyond its register; what how.after throws.
  bool run(u32 count, function_ref<pass_part(u32)> part_of, const debugging& how) {
    how_ = &how, halted_ = false, failure_ = nullptr, sequences_.clear(), lengths_.clear();
    for (u32 i = 0; i < count; ++i) sequences_.push_back(i), lengths_.push_back(part_of(i).of.position());
    try {
      shared_pass::run(*this, count, part_of);
      return true;
    } catch (...) {
      for (u32 i = 0; i < count; ++i) part_of(i).of.truncate(lengths_[i]);
      if (!halted_) throw;
    }
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }

 private:
  static constexpr u64 guard = 64;  // bytes after each register that must stay untouched
  struct table_step {
    instruction i;
    adapter* run;
    u32 row_units;
  };
  struct place_of_register {
    u64 bytes;
    std::byte* data;
  };
  struct table {
    u32 index;
    execution_plan plan;  // without letters, where the program is fused
    std::vector<table_step> steps;
    physical_mapping map;
    std::vector<place_of_register> registers;  // physical
  };

  template <const code& C> static void add_code(adapters& t) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (t.add(C.ops[I].op, types_of(C, C.ops[I], KV), kernel_of<C.ops[I].op, types_of(C, C.ops[I], KV), Isa>()), ...);
    }(std::make_index_sequence<C.ops.size()>{});
  }

  static std::vector<const code*> unfused_codes() {
    std::vector<const code*> all{&P::unfused_header(), &P::unfused_footer()};
    for (const code& c : P::unfused) all.push_back(&c);
    return all;
  }

  // The plan of an executed code: without letters where fusion may have crossed their borders.
  static execution_plan plan_of(const code& c) {
    if (!P::fused) return contract(c);
    execution_plan p;
    p.steps = c;
    return p;
  }

  // Copies a code into tables; returns the bytes of its registers.
  u64 load(u32 index, const code& executed) {
    const bool footer = index == space_.compiled().codes() - 1;
    table t{index, plan_of(executed), {}, {}, {}};
    const code& c = t.plan.steps;
    check_letters(t.plan);
    for (const macro_instruction& m : t.plan.instructions)
      if (!letters_[static_cast<u8>(m.op)])
        throw Error(errc::unsupported_opcode, {}, concat({"letter ", name(m.op)}), "an adapter", "none");
    t.map = map_registers(compile(c), footer ? limits().logit_rows : limits().chunk);
    for (const instruction& i : c.ops) t.steps.push_back({i, table_.find(i.op, types_of(c, i, KV)), row_units(c, i)});
    u64 bytes = 0;
    for (u32 r = 0; r < t.map.count; ++r) {
      t.registers.push_back({t.map.bytes[r], nullptr});
      bytes += align_up(t.map.bytes[r] + guard);
    }
    codes_.push_back(std::move(t));
    return bytes;
  }

  view register_view(const table& t, reg r) const {
    const value& v = t.plan.steps.regs[r];
    return {t.registers[t.map.of[r]].data, v.width, row_stride(v.width), v.as};
  }

  // ---- the parts of a pass

  friend shared_pass;
  struct stopped {};  // thrown between two runs of the team, when a step or a hook has ended the pass

  void begin_pass() { space_.rows().clear(); }
  void add(const pass_part& p) { space_.add(p.ids, p.of, p.images); }
  void copy_row(u32 from, u32 to) { space_.copy_row(from, to); }
  void give_hidden(const pass_part& p, u32 row) { give_normed_rows(space_, weights_, p, row); }

  void run_layers(u32) {  // every row: a hook sees all of them
    const pass now = space_.rows().all();
    route({form_of(now.tokens), sequences_, lengths_, now.tokens});
    team_.run([&](u32 thread) noexcept { layers(now, thread); });
    if (halted_) throw stopped();
  }
  logit_block run_footer(u32 first, u32 end) {
    const u32 n = std::min(end - first, limits().logit_rows);
    const segment rows[]{{0, n, lengths_[0] + space_.rows().tokens() - end + first, {}}};  // the last ones of the slot
    pass last;
    last.tokens = n, last.skip = first, last.segments = rows;
    team_.run([&](u32 thread) noexcept {
      walk(codes_.back(), place::footer, 0, footer_first_, last, thread, weights_.row(P::layers + 1), 0);
    });
    if (halted_) throw stopped();
    return {register_view(codes_.back(), static_cast<reg>(P::footer_code().regs.size() - 1)), n};
  }

  void layers(const pass& now, u32 thread) {
    u32 number = 0, state = 0;
    number = walk(codes_.front(), place::header, 0, number, now, thread, weights_.row(0), 0);
    for (u32 l = 0; l < P::layers; ++l) {
      const table& t = codes_[P::variants.of[l] + 1u];
      number = walk(t, place::body, l, number, now, thread, weights_.row(l + 1), state);
      state += t.plan.steps.states.size();
    }
  }

  // One code at its place in a pass, on one thread.
  struct visit {
    const table& t;
    place where;
    u32 layer, number;  // number: of its first step
    const pass& now;
    u32 thread;
    const std::byte* const* row;
    u32 state;  // the first of the layer
  };

  // Runs the steps of one code; returns the number of the step after it.
  u32 walk(const table& t, place where, u32 layer, u32 number, const pass& now, u32 thread, const std::byte* const* row,
           u32 state) {
    const visit v{t, where, layer, number, now, thread, row, state};
    if (t.plan.instructions.size() == 0) run_steps(v, 0, static_cast<u32>(t.steps.size()));
    for (const macro_instruction& m : t.plan.instructions) run_letter(v, m);
    return number + static_cast<u32>(t.steps.size());
  }

  void run_letter(const visit& v, const macro_instruction& m) {
    if (halted_) return;
    view in[std::extent_v<decltype(m.in.item)>], out[std::extent_v<decltype(m.out.item)>];
    const std::byte* weight[std::extent_v<decltype(m.weight.item)>];
    for (u32 k = 0; k < m.in.count; ++k) in[k] = view_in(v, m, m.in[k]);
    for (u32 k = 0; k < m.out.count; ++k) out[k] = view_in(v, m, m.out[k]);
    for (u32 k = 0; k < m.weight.count; ++k) weight[k] = v.row[m.weight[k]];
    if (v.thread == 0) letter_counters_.count(m.op);
    const auto steps = [&] { run_steps(v, m.first, m.last + 1u); };
    letters_[static_cast<u8>(m.op)](
        {v.t.plan, m, {in, m.in.count}, {out, m.out.count}, {weight, m.weight.count}, v.now.tokens, v.thread, steps});
    team_.barrier();
  }

  // A register of a letter, as the step that reads or writes it sees it.
  view view_in(const visit& v, const macro_instruction& m, reg r) const {
    if (r >= first_scratch) return register_view(v.t, r);
    for (u32 k = m.first; k <= m.last; ++k) {
      const instruction& i = v.t.steps[k].i;
      const work w = prepared(v, i);
      for (u32 n = 0; n < i.in.count; ++n)
        if (i.in[n] == r) return w.in[n];
      for (u32 n = 0; n < i.out.count; ++n)
        if (i.out[n] == r) return w.out[n];
    }
    return {};
  }

  work prepared(const visit& v, const instruction& i) const {
    work w = space_.prepare(v.t.plan.steps, v.t.index, form_of(v.now.tokens), i, v.now, v.thread, v.row, v.layer,
                            v.state + (i.state == absent ? 0 : i.state));
    for (u32 k = 0; k < i.in.count; ++k)
      if (i.in[k] >= first_scratch) w.in[k] = register_view(v.t, i.in[k]);
    for (u32 k = 0; k < i.out.count; ++k)
      if (i.out[k] >= first_scratch) w.out[k] = register_view(v.t, i.out[k]);
    return w;
  }

  // Steps [first, end) of a code.
  void run_steps(const visit& v, u32 first, u32 end) {
    const auto tiles = static_cast<u32>(v.now.tiles.size());
    for (u32 at = first; at < end && !halted_; ++at) {
      const table_step& step = v.t.steps[at];
      const instruction& i = step.i;
      const work w = prepared(v, i);
      team_.share(v.thread, units_of(i.p, w.by, v.now.tokens, step.row_units, tiles),
                  [&](u32 unit) { step.run(i.p, w, unit); });
      team_.barrier();
      if (v.thread == 0) {
        u32 rows[std::extent_v<decltype(operands::item)>]{};
        for (u32 k = 0; k < i.out.count; ++k) rows[k] = v.t.plan.steps.regs[i.out[k]].rows;
        finish_step(v.t,
                    {v.number + at,
                     v.where,
                     v.layer,
                     v.t.index,
                     at,
                     i,
                     v.now.tokens,
                     v.now.segments[0].position,
                     {w.out, i.out.count},
                     {rows, i.out.count}});
      }
      team_.barrier();
    }
  }

  // On one thread, while the others wait.
  void finish_step(const table& t, const step_report<Isa>& report) noexcept {
    try {
      counters_.count(report.step.op);
      for (const place_of_register& r : t.registers)
        for (u64 i = 0; i < guard; ++i)
          if (r.data[r.bytes + i] != std::byte{0xff})
            throw Error(errc::malformed, {},
                        "step " + std::to_string(report.number) + " (" + std::string(name(report.step.op)) + ")",
                        "no byte after a register", "byte " + std::to_string(i));
      if (how_->after) how_->after(report);
      halted_ = report.number >= how_->stop_after;
    } catch (...) {
      failure_ = std::current_exception();
      halted_ = true;
    }
  }

  const weights& weights_;
  team& team_;
  workspace space_;
  adapters table_;
  letter_adapters letters_;
  arena memory_;
  std::vector<table> codes_;      // header, bodies, footer
  u32 steps_{}, footer_first_{};  // footer_first_: the number of its first step
  dispatch_counters counters_, letter_counters_;
  const debugging* how_{};                // of the run that is going on
  std::vector<u32> sequences_, lengths_;  // its slots and their positions before it
  bool halted_{};                         // written by thread 0 between two barriers
  std::exception_ptr failure_{};
};

}  // namespace cke::runtime
