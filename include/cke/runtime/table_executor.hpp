// SPDX-License-Identifier: MIT
// table_executor.hpp: a program run one step at a time from run-time tables: the executor to debug with.
#pragma once

#include <exception>
#include <functional>

#include "counters.hpp"
#include "dump.hpp"
#include "executor.hpp"

namespace cke::runtime {

// What a hook sees after a step, while all threads wait.
template <class Isa> struct step_report {
  u32 number;  // in the order of program::for_each_op
  place where;
  u32 layer;  // 0 outside the layers
  const instruction& step;
  u32 tokens, position;  // rows of the pass; position of the first
  std::span<const view> outputs;

  view_desc describe(u32 output) const {
    const u32 shape[]{tokens, outputs[output].width};
    return describe_view(outputs[output].as, shape, outputs[output].stride);
  }
  // If rows are (token, expert), only the first `tokens` of them, and exact only for f32: other types are tiled by
  // expert.
  std::vector<float> values(u32 output) const { return values_of<Isa>(outputs[output], tokens); }
  // Writes a CKDMP record for each output.
  void dump(std::ostream& to) const {
    for (u32 o = 0; o < outputs.size(); ++o) {
      const u32 shape[]{tokens, outputs[o].width};
      write_ckdmp(to, where == place::body ? static_cast<i32>(layer) : -1, name(step.op), static_cast<i32>(position),
                  shape, values(o));
    }
  }
};

// Walks vectors of function pointers (the runtime contract's adapters), with a barrier after every step and registers
// placed by the contract's linear scan. It shares kernels, weights and states with `executor`, but neither its phases
// nor its memory plan, and has the same bits.
template <class P, dtype KV, class Isa> class table_executor {
 public:
  using slot = sequence_state<P, KV, Isa>;
  using part = pass_part<slot>;
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
  u64 bytes() const { return space_.bytes() + memory_.size(); }
  page_memory* memory_of_pages() const { return nullptr; }
  void watch(const tracer&) {}  // a hook sees more
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

  // As executor::run, of one slot; false when it was told to stop: the slot is then truncated to where it was.
  // Throws cache_full; batch_unsupported; malformed when a kernel wrote beyond its register; what how.after throws.
  bool run(u32 count, function_ref<part(u32)> part_of, const debugging& how = {}) {
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

  // ---- the parts of a pass

  friend shared_pass;
  struct stopped {};  // thrown between two runs of the team, when a step or a hook has ended the pass

  void begin_pass() { space_.rows().clear(); }
  void add(const part& p) { space_.add(p.ids, p.of, p.images); }
  void copy_row(u32 from, u32 to) { space_.copy_row(from, to); }
  void give_hidden(const part& p, u32 row) { give_normed_rows(space_, weights_, p, row); }

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
      state += t.plan.states.size();
    }
  }

  // Runs the steps of one code; returns the number of the step after it.
  u32 walk(const table& t, place where, u32 layer, u32 number, const pass& now, u32 thread, const std::byte* const* row,
           u32 state) {
    const form f = form_of(now.tokens);
    for (const table_step& step : t.steps) {
      if (halted_) break;
      const instruction& i = step.i;
      work w =
          space_.prepare(t.plan, t.index, f, i, now, thread, row, layer, state + (i.state == absent ? 0 : i.state));
      for (u32 k = 0; k < i.in.count; ++k)
        if (i.in[k] >= first_scratch) w.in[k] = register_view(t, i.in[k]);
      for (u32 k = 0; k < i.out.count; ++k)
        if (i.out[k] >= first_scratch) w.out[k] = register_view(t, i.out[k]);
      const auto tiles = static_cast<u32>(now.tiles.size());
      team_.share(thread, units_of(i.p, w.by, now.tokens, step.row_units, tiles),
                  [&](u32 unit) { step.run(i.p, w, unit); });
      team_.barrier();
      if (thread == 0)
        finish_step(t, {number, where, layer, i, now.tokens, now.segments[0].position, {w.out, i.out.count}});
      team_.barrier();
      ++number;
    }
    return number;
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

  static constexpr u32 footer_first_ = P::count() - P::footer_code().ops.size();

  const weights<P, Isa>& weights_;
  team& team_;
  workspace<P, KV, Isa> space_;
  adapters table_;
  arena memory_;
  std::vector<table> codes_;  // header, bodies, footer
  dispatch_counters counters_;
  const debugging* how_{};                // of the run that is going on
  std::vector<u32> sequences_, lengths_;  // its slots and their positions before it
  bool halted_{};                         // written by thread 0 between two barriers
  std::exception_ptr failure_{};
};

}  // namespace cke::runtime
