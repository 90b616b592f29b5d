// SPDX-License-Identifier: MIT
// table_executor.hpp: the same program as run-time tables, one step at a time: the executor to debug with.
#pragma once

#include <exception>
#include <functional>

#include "counters.hpp"
#include "dump.hpp"
#include "executor.hpp"

namespace cke::runtime {

// What a hook is shown after a step, while all threads wait.
template <class Isa> struct step_report {
  u32 number;               // in the order of program::for_each_op
  place where;
  u32 layer;                // 0 outside the layers
  const instruction& step;
  u32 tokens, position;     // rows of the pass; position of the first
  std::span<const view> outputs;

  view_desc describe(u32 output) const {
    const u32 shape[]{tokens, outputs[output].width};
    return describe_view(outputs[output].as, shape, outputs[output].stride);
  }
  // Of rows (token, expert) the first ones, and only of f32 rows what they are: tiles follow experts.
  std::vector<float> values(u32 output) const { return values_of<Isa>(outputs[output], tokens); }
  // A CKDMP record of each output.
  void dump(std::ostream& to) const {
    for (u32 o = 0; o < outputs.size(); ++o) {
      const u32 shape[]{tokens, outputs[o].width};
      write_ckdmp(to, where == place::body ? static_cast<i32>(layer) : -1, name(step.op), static_cast<i32>(position), shape, values(o));
    }
  }
};

// Walks plain vectors through function pointers (the runtime contract's adapters), with a barrier
// after every step and registers placed by the contract's linear scan. It shares kernels, weights
// and states with `executor`, and neither its phases nor its memory plan: both give the same bits.
template <class P, dtype KV, class Isa> class table_executor {
 public:
  using slot = sequence_state<P, KV, Isa>;
  using adapter = void(const params&, const work&, u32 unit);
  using adapters = adapter_table<adapter>;
  using hook = std::function<void(const step_report<Isa>&)>;

  struct debugging {
    u32 stop_after = everything;  // number of the last step that runs
    hook after{};                 // called after every step; what it throws leaves run()
  };

  // Throws unsupported_opcode, malformed, invalid_param_block, out_of_memory.
  table_executor(const weights<P, Isa>& w, team& threads, capacity k, const adapters& known = all_adapters())
      : weights_(w), team_(threads), space_(k, threads.size()), table_(known) {
    u64 bytes = 0;
    space_.each_code([&](u32 index, const code& c) { bytes += load(index, c); });
    for (const code* plain : unfused_codes())
      for (const param_block& b : contract(*plain).param_blocks) validate(b);
    memory_ = arena(bytes);
    for (table& t : codes_)
      for (place_of_register& r : t.registers) {
        r.data = memory_.take(r.bytes + guard);
        std::memset(r.data, 0xff, r.bytes + guard);  // NaN until something is written
      }
  }

  const capacity& limits() const { return space_.limits(); }
  const dispatch_counters& counters() const { return counters_; }
  dispatch_counters& counters() { return counters_; }

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

  // Asks every adapter of the program whether it takes such a pass. Throws batch_unsupported.
  void route(const execution_context& now) const {
    for (const table& t : codes_)
      for (const table_step& s : t.steps) table_.route(s.i.op, now);
  }

  // As executor::run; false when it was told to stop: the slot is then truncated to where it was.
  // Throws cache_full; malformed when a kernel wrote beyond its register.
  template <class Take> bool run(std::span<const u32> ids, u32 rows, slot& s, Take&& take, const debugging& how = {}) {
    s.reserve(static_cast<u32>(ids.size()));
    space_.rows().clear();
    space_.add(ids, s);
    const pass now = space_.rows().all();
    const u32 slots[]{0}, lengths[]{s.position()};
    route({form_of(now.tokens), slots, lengths, now.tokens});
    halted_ = false, failure_ = nullptr;
    const u32 start = s.position();
    team_.run([&](u32 thread) noexcept { layers(now, thread, how); });
    s.advance(now.tokens);
    for (u32 first = now.tokens - rows; first < now.tokens && !halted_;) {
      const u32 left = now.tokens - first, n = left < limits().logit_rows ? left : limits().logit_rows;
      const segment rows_of_it[]{{0, n, start + first, {}}};
      pass last;
      last.tokens = n, last.skip = first, last.segments = rows_of_it;
      team_.run([&](u32 thread) noexcept {
        walk(codes_.back(), place::footer, 0, footer_first_, last, thread, weights_.row(P::layers + 1), 0, how);
      });
      if (halted_) break;
      take(first, n, register_view(codes_.back(), static_cast<reg>(P::footer_code().regs.size() - 1)));
      first += n;
    }
    if (halted_) s.truncate(start);
    if (failure_) std::rethrow_exception(failure_);
    return !halted_;
  }

 private:
  static constexpr u64 guard = 64;  // bytes after each register that nobody may write
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
    code plan;
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

  // Copies a code into tables; returns the bytes of its registers.
  u64 load(u32 index, const code& c) {
    const bool footer = index == workspace<P, KV, Isa>::codes - 1;
    const compiled_plan plan = compile(c);
    table t{index, c, {}, map_registers(plan, footer ? limits().logit_rows : limits().chunk), {}};
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
    const value& v = t.plan.regs[r];
    return {t.registers[t.map.of[r]].data, v.width, row_stride(v.width), v.as};
  }

  void layers(const pass& now, u32 thread, const debugging& how) {
    u32 number = 0, state = 0;
    number = walk(codes_.front(), place::header, 0, number, now, thread, weights_.row(0), 0, how);
    for (u32 l = 0; l < P::layers; ++l) {
      const table& t = codes_[P::variants.of[l] + 1u];
      number = walk(t, place::body, l, number, now, thread, weights_.row(l + 1), state, how);
      state += t.plan.states.size();
    }
  }

  // Runs the steps of one code; returns the number of the step after it.
  u32 walk(const table& t, place where, u32 layer, u32 number, const pass& now, u32 thread, const std::byte* const* row,
           u32 state, const debugging& how) {
    const form f = form_of(now.tokens);
    for (const table_step& step : t.steps) {
      if (halted_) break;
      const instruction& i = step.i;
      work w = space_.prepare(t.plan, t.index, f, i, now, thread, row, layer, state + (i.state == absent ? 0 : i.state));
      for (u32 k = 0; k < i.in.count; ++k)
        if (i.in[k] >= first_scratch) w.in[k] = register_view(t, i.in[k]);
      for (u32 k = 0; k < i.out.count; ++k)
        if (i.out[k] >= first_scratch) w.out[k] = register_view(t, i.out[k]);
      const auto tiles = static_cast<u32>(now.tiles.size());
      team_.share(thread, units_of(i.p, w.by, now.tokens, step.row_units, tiles), [&](u32 unit) { step.run(i.p, w, unit); });
      team_.barrier();
      if (thread == 0) finish_step(t, {number, where, layer, i, now.tokens, now.segments[0].position, {w.out, i.out.count}}, how);
      team_.barrier();
      ++number;
    }
    return number;
  }

  // On one thread, while the others wait.
  void finish_step(const table& t, const step_report<Isa>& report, const debugging& how) noexcept {
    try {
      counters_.count(report.step.op);
      for (const place_of_register& r : t.registers)
        for (u64 i = 0; i < guard; ++i)
          if (r.data[r.bytes + i] != std::byte{0xff})
            throw Error(errc::malformed, {}, "step " + std::to_string(report.number) + " (" + std::string(name(report.step.op)) + ")",
                        "no byte after a register", "byte " + std::to_string(i));
      if (how.after) how.after(report);
      halted_ = report.number >= how.stop_after;
    } catch (...) {
      failure_ = std::current_exception();
      halted_ = true;
    }
  }

  static constexpr u32 footer_first_ = P::count() - P::footer_code().ops.size();

  const weights<P, Isa>& weights_;
  team& team_;
  workspace<P, KV, Isa> space_;
  adapters table_;
  arena memory_;
  std::vector<table> codes_;  // header, bodies, footer
  dispatch_counters counters_;
  bool halted_{};             // written by thread 0 between two barriers
  std::exception_ptr failure_{};
};

}  // namespace cke::runtime
