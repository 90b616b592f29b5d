// SPDX-License-Identifier: MIT
// random_code.hpp: straight-line codes that no lowering would write, for properties that hold of all.
#pragma once

#include <random>

#include "cke/graph/code.hpp"
#include "cke/graph/schedule.hpp"

namespace cke::graph {

inline bool per_thread(opcode op) { return info(op).decode.by == split::per_thread; }
// Steps that may write into a register that they read: a unit then reads only what it writes.
inline bool in_place(opcode op) {
  return op == opcode::head_norm || op == opcode::rope || op == opcode::residual_add || op == opcode::matmul_add;
}

// Each step reads up to three registers and writes a new one, one that it may change, or the stream.
// A step that every thread repeats writes a register of its own, and nobody writes into that one.
inline code random_code(std::mt19937& random, u32 steps) {
  const auto below = [&](u32 n) { return static_cast<u32>(random() % n); };
  constexpr opcode choices[]{opcode::rmsnorm,      opcode::quantize,      opcode::matmul,     opcode::matmul_add,
                             opcode::head_norm,    opcode::rope,          opcode::attend,     opcode::act_mul,
                             opcode::residual_add, opcode::residual_save, opcode::qkv_matmul, opcode::kv_store,
                             opcode::router,       opcode::gather,        opcode::expert_act};
  constexpr dtype types[]{dtype::f32, dtype::bf16, dtype::q8_0};
  builder b(1 + below(300));
  b.states.push({});
  bool is_per_thread[max_regs]{};
  for (u32 i = 0; i < steps; ++i) {
    const opcode op = choices[below(std::size(choices))];
    operands in, out;
    for (u32 n = 1 + below(3); n-- > 0;)
      if (const reg r = static_cast<reg>(below(b.regs.size())); r != token_ids && !in.has(r)) in.add(r);
    if (in.count == 0) in.add(stream);
    const u32 how = below(4);
    if (op == opcode::kv_store) {
    } else if (!per_thread(op) && how == 0 && (in_place(op) || !in.has(stream))) {
      out.add(stream);
    } else if (in_place(op) && how == 1 && !is_per_thread[in[0]]) {
      out.add(in[0]);
    } else {
      const reg made = b.temp(1 + below(300), types[below(3)]);
      is_per_thread[made] = per_thread(op);
      out.add(made);
    }
    instruction& step = b.emit(op, in, out);
    if (op == opcode::kv_store || op == opcode::attend) step.state = 0;
  }
  return b;
}

}  // namespace cke::graph
