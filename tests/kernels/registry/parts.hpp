// SPDX-License-Identifier: MIT
// parts.hpp: which file has the parity tests of which kernels; those with matrices share what is compiled for a format.
#pragma once

#include "cke/kernels/registry.hpp"

namespace parity {

using namespace cke;
using namespace cke::kernels;

enum class part : u8 { rows, heads, recurrent, floats, blocks_of_32, blocks_of_256 };
constexpr part part_of(opcode op, kernel_types t) {
  if (registry::summary_of(op)->matrices > 0) {
    const u32 block = std::max(info(t.first).block, t.second == dtype::none ? 1 : info(t.second).block);
    return block == 1 ? part::floats : block == 32 ? part::blocks_of_32 : part::blocks_of_256;
  }
  const split by = info(op).decode.by;
  if (by == split::kv_heads && !info(op).decode.local) return part::recurrent;
  if (op == opcode::gated_conv || op == opcode::causal_conv) return part::recurrent;
  return by == split::kv_heads || op == opcode::latent_key || op == opcode::split_heads ? part::heads : part::rows;
}

// Instantiated in one file for each part, which includes the drivers that it needs. registry.cpp calls them all: a part
// without a file does not link.
template <part P> struct tests_of {
  static void run();
};

}  // namespace parity
