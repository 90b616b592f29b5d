// SPDX-License-Identifier: MIT
// tape.hpp: a block as training runs it: every step writes new values, so that the way back finds what it reads.
#pragma once

#include "../graph/program.hpp"
#include "../runtime/step_facts.hpp"

namespace cke::train {

// A step of a tape; its operands are values of the tape, not registers.
struct tape_step {
  instruction i;
  upto<u8, 5> first{};  // of each input: whether this step is the first, on the way back, that adds to its gradient
  u32 row_units{};      // of its matrices or channels
};

// The steps of a code in single assignment. Values 0 to 2 are the stream at the start, the ids and the layer inputs.
struct tape {
  small_vector<tape_step, max_ops> steps;
  small_vector<value, 128> values;
  reg last = stream;              // the stream after the block; of a header its rows; of a footer the logits
  reg inputs_out = layer_inputs;  // of a header: the layer inputs that it wrote, if it did
  small_vector<weight_slot, max_slots> slots;
  small_vector<state_shape, 4> states;
};

// Only rope works in place; a step that has nothing to do with its input is a copy of it.
constexpr tape tape_of(const code& c, bool is_header) {
  tape t;
  t.slots = c.slots, t.states = c.states;
  reg now[max_regs]{};
  for (auto& r : now) r = absent;
  for (reg r = 0; r < first_scratch; ++r) now[r] = static_cast<reg>(t.values.push(c.regs[r]));
  reg written = absent;  // by split_heads: head_matmul fills the rest of it
  for (const instruction& from : c.ops) {
    if (from.op == opcode::residual_save) {
      now[from.out[0]] = now[from.in[0]];
      continue;
    }
    tape_step s{from, {}, row_units(c, from)};
    for (u32 k = 0; k < from.in.count; ++k) s.i.in.item[k] = now[from.in[k]];
    for (u32 k = 0; k < from.out.count; ++k) {
      const reg r = from.out[k];
      const bool rest = from.op == opcode::head_matmul && r == written;
      if (!rest) now[r] = static_cast<reg>(t.values.push(c.regs[r]));
      s.i.out.item[k] = now[r];
    }
    if (from.op == opcode::split_heads && from.out.count > 1) written = from.out[1];
    t.steps.push(s);
  }
  const reg result = is_header ? stream : static_cast<reg>(c.ops[c.ops.size() - 1].out[0]);
  t.last = now[result];
  t.inputs_out = now[layer_inputs];

  bool seen[128]{};
  for (u32 n = t.steps.size(); n-- > 0;) {
    tape_step& s = t.steps[n];
    for (u32 k = 0; k < s.i.in.count; ++k) {
      s.first.add(!seen[s.i.in[k]]);
      seen[s.i.in[k]] = true;
    }
  }
  return t;
}

// Operations that have a rule for the way back; each rule_*.hpp says so beside its rule.
template <opcode Op> inline constexpr bool has_rule = false;

namespace checks {
template <opcode Op, bool HasRule> struct trains {
  static_assert(HasRule, "cke: train: this operation has no gradient; see trains<opcode, ...>");
};
template <const code& C> constexpr bool trains_all() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return ((sizeof(trains < C.ops[I].op, has_rule<C.ops[I].op> || C.ops[I].op == opcode::residual_save >) > 0) && ...);
  }(std::make_index_sequence<C.ops.size()>{});
}
}  // namespace checks

// The tapes of a program: header, kinds of layers, footer.
template <class P> struct tapes_of {
  static constexpr u32 count = length<typename P::kinds> + 2;
  static constexpr std::array<tape, count> all = [] {
    std::array<tape, count> out{};
    out[0] = tape_of(P::unfused_header(), true);
    for (u32 k = 0; k + 2 < count; ++k) out[k + 1] = tape_of(P::unfused[k], false);
    out[count - 1] = tape_of(P::unfused_footer(), false);
    return out;
  }();
};

}  // namespace cke::train
