// SPDX-License-Identifier: MIT
// letter_checks.hpp: what the adapter of a letter asks of a plan before it runs: its registers, weights, states and
// parameter blocks are those that its steps work on.
#pragma once

#include "../core/concat.hpp"
#include "step_operands.hpp"

CKE_COLD_BEGIN
namespace cke::graph {
namespace detail {

// Where a plan is wrong: a letter, and a step of it.
struct plan_place {
  const execution_plan& plan;
  u32 letter, step;

  [[noreturn]] void fail(const std::string& what, const std::string& want, const std::string& found,
                         errc code = errc::malformed) const {
    const macro_instruction& m = plan.instructions[letter];
    throw Error(code, {},
                concat({"letter ", letter, " (", name(m.op), "), step ", step, " (", name(plan.steps.ops[step].op),
                        "): ", what}),
                want, found);
  }
};

inline std::string text_of(const step_operands::row& r) {
  return concat({r.width, " ", info(r.as).name, r.rows == 1 ? std::string() : concat({", ", r.rows, " rows a token"})});
}
inline void check_rows(const plan_place& at, const char* side, const operands& regs,
                       const upto<step_operands::row, 5>& wanted) {
  if (regs.count != wanted.count)
    at.fail(concat({side, "s"}), concat({u32{wanted.count}, " registers"}), concat({u32{regs.count}}));
  const code& c = at.plan.steps;
  for (u32 n = 0; n < regs.count; ++n) {
    if (regs[n] >= c.regs.size()) at.fail(concat({side, " ", n}), "a register of the plan", concat({u32{regs[n]}}));
    const value& v = c.regs[regs[n]];
    const step_operands::row found{v.width, v.as, v.rows}, &want = wanted.item[n];
    if (found.width != want.width || found.as != want.as || found.rows != want.rows)
      at.fail(concat({side, " ", n}), text_of(want), text_of(found));
  }
}
inline void check_weights(const plan_place& at, const instruction& i, const step_operands& o) {
  if (i.weight.count != o.weight.count)
    at.fail("weights", concat({u32{o.weight.count}}), concat({u32{i.weight.count}}));
  for (u32 n = 0; n < o.weight.count; ++n) {
    if (i.weight[n] >= at.plan.steps.slots.size())
      at.fail(concat({"weight ", n}), "a weight of the plan", concat({u32{i.weight[n]}}));
    const weight_slot& w = at.plan.steps.slots[i.weight[n]];
    const auto& want = o.weight.item[n];
    if (w.rows != want.rows || w.cols != want.cols)
      at.fail(concat({"weight ", name(w.is)}), concat({want.rows, " x ", want.cols}), concat({w.rows, " x ", w.cols}));
  }
}
inline void check_state(const plan_place& at, const instruction& i, const step_operands& o) {
  constexpr std::string_view words[]{"kv", "conv", "delta", "ssm"};
  const auto text = [&](const state_shape& s) {
    return concat({words[static_cast<u8>(s.what)], " of ", s.heads, " heads of ", s.head_dim, ", ",
                   s.rows == everything ? std::string("all") : concat({s.rows}), " rows"});
  };
  if (o.state.heads == 0) {
    if (i.state != absent) at.fail("state", "none", concat({u32{i.state}}));
    return;
  }
  if (i.state >= at.plan.steps.states.size())
    at.fail("state", text(o.state), i.state == absent ? std::string("none") : concat({u32{i.state}}));
  state_shape found = at.plan.steps.states[i.state], want = o.state;
  if (want.rows == 0) want.rows = found.rows;
  if (!found.like(want)) at.fail("state", text(want), text(found));
}

// The letter's block says what its steps compute.
inline void check_block(const plan_place& at, const macro_instruction& m) {
  bool needed = m.op == opcode::multihead_attention;
  for (u32 k = m.first; k <= m.last; ++k)
    needed = needed || (m.op == opcode::rmsnorm && at.plan.steps.ops[k].op == opcode::rmsnorm);
  if (m.param_block == macro_instruction::no_params) {
    if (needed) at.fail("param block", "one", "none", errc::invalid_param_block);
    return;
  }
  if (m.param_block >= at.plan.param_blocks.size())
    at.fail("param block", "one of the plan", concat({u32{m.param_block}}), errc::invalid_param_block);
  const param_block& b = at.plan.param_blocks[m.param_block];
  if (b.op != m.op)
    at.fail("param block", concat({"one of opcode ", u32{static_cast<u8>(m.op)}}),
            concat({"one of opcode ", u32{static_cast<u8>(b.op)}}), errc::invalid_param_block);
  const execution_plan again = contract(at.plan.steps);
  const u16 wanted = again.instructions[at.letter].param_block;
  const auto differ = [&] { at.fail("param block", "the numbers of its steps", "others", errc::invalid_param_block); };
  if (m.op == opcode::rmsnorm && !(decode<rmsnorm_v1>(b) == decode<rmsnorm_v1>(again.param_blocks[wanted]))) differ();
  if (m.op == opcode::multihead_attention &&
      !(decode<attention_v1>(b) == decode<attention_v1>(again.param_blocks[wanted])))
    differ();
}

}  // namespace detail

// Throws malformed, naming letter, step and operand; invalid_param_block.
inline void check_letters(const execution_plan& plan) {
  for (u32 l = 0; l < plan.instructions.size(); ++l) {
    const macro_instruction& m = plan.instructions[l];
    if (m.last < m.first || m.last >= plan.steps.ops.size())
      throw Error(errc::malformed, {}, concat({"letter ", l}), "steps of the plan",
                  concat({u32{m.first}, " to ", u32{m.last}}));
    detail::check_block({plan, l, m.first}, m);
    for (u32 k = m.first; k <= m.last; ++k) {
      const detail::plan_place at{plan, l, k};
      const instruction& i = plan.steps.ops[k];
      const step_operands o = operands_of(plan.steps, i);
      if (!o.known) continue;
      detail::check_rows(at, "input", i.in, o.in);
      detail::check_rows(at, "output", i.out, o.out);
      detail::check_weights(at, i, o);
      detail::check_state(at, i, o);
    }
  }
}

}  // namespace cke::graph
CKE_COLD_END
