// SPDX-License-Identifier: MIT
// straight.cpp: an unrolled pass of a toy model, whose instructions straight.py reads; or what it has to complain of.
#include <cke/models/qwen3.hpp>
#include <cke/runtime/by_tables.hpp>
#include <cke/runtime/compile_program.hpp>
#include <cke/runtime/unrolled_executor.hpp>

namespace straight {

struct toy
    : cke::qwen3<{.vocab = 64, .dim = 64, .hidden = 96, .layers = 3, .heads = 4, .kv_heads = 2, .head_dim = 16}> {};
using program = cke::graph::program<toy, cke::Q8_0>;

#ifdef CKE_TABLES
// A step that is found in a table, with its parameters in memory.
void walk_layers(const cke::kernels::work& w, cke::u32 step) {
  const auto& m =
      cke::runtime::compiled_program_of<program, cke::dtype::bf16, cke::isa::native, cke::runtime::by_tables>;
  m.steps[1][step].run(program::bodies[0]->ops[step].p, w, 0);
}
#endif

}  // namespace straight

#ifndef CKE_TABLES
template class cke::runtime::unrolled_executor<straight::program, cke::dtype::bf16, cke::isa::native>;
#endif
