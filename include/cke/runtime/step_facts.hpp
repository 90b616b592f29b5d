// SPDX-License-Identifier: MIT
// step_facts.hpp: what the kernels of a program's steps are compiled for, and the scratch that they use.
#pragma once

#include <algorithm>

#include "../graph/program.hpp"
#include "../kernels/kernel.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// What the kernel of a step is compiled for.
constexpr kernel_types types_of(const code& c, const instruction& i, dtype kv) {
  const typed_by by = info(i.op).types;
  if (by == typed_by::cache) return kv;
  if (by == typed_by::f32) return kernel_types(dtype::f32).with(activation_of(i.p));
  dtype of[3]{dtype::none, dtype::none, dtype::none};
  bool mixed = false;
  for (u32 k = 0; k < i.weight.count && !c.slots[i.weight[k]].bias; ++k)
    of[k] = c.formats[i.weight[k]], mixed |= of[k] != of[0];
  return (mixed ? kernel_types{of[0], of[1], of[2]} : of[0]).with(activation_of(i.p));
}

constexpr u32 row_units(const code& c, const instruction& i) {
  if (i.weight.count == 0) return 0;
  if (of_experts(c.slots[i.weight[0]].is)) return units_of_group(c.slots[i.weight[0]].group);  // of each
  u32 n = 0;
  for (u32 k = 0; k < info(i.op).products; ++k) n += units_of_slot(c.slots[i.weight[k]]);
  return n;
}

// The most scratch that a kernel of a code, or of the program, uses for a pass of at most `rows` rows.
template <const code& C, dtype KV, class Isa> constexpr u64 scratch_of_code(u32 rows) {
  u64 most = 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((most = std::max(most, scratch_of<C.ops[I].op, types_of(C, C.ops[I], KV), Isa>(C.ops[I].p, rows))), ...);
  }(std::make_index_sequence<C.ops.size()>{});
  return most;
}
template <class P, dtype KV, class Isa> constexpr u64 scratch_of_program(u32 rows) {
  return [&]<std::size_t... V>(std::index_sequence<V...>) {
    return std::max({scratch_of_code<P::header_code(), KV, Isa>(rows),
                     scratch_of_code<P::template body<V>(), KV, Isa>(rows)...,
                     scratch_of_code<P::footer_code(), KV, Isa>(rows)});
  }(std::make_index_sequence<P::body_count>{});
}

}  // namespace cke::runtime
CKE_COLD_END
