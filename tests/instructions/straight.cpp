// SPDX-License-Identifier: MIT
// straight.cpp: an executor of a toy model, unrolled or over tables, whose instructions straight.py reads.
#include <cke/models/qwen3.hpp>
#include <cke/runtime/executor.hpp>
#include <cke/runtime/unrolled_executor.hpp>

namespace straight {
struct toy
    : cke::qwen3<{.vocab = 64, .dim = 64, .hidden = 96, .layers = 3, .heads = 4, .kv_heads = 2, .head_dim = 16}> {};
}  // namespace straight
template class cke::runtime::CKE_EXECUTOR<cke::graph::program<straight::toy, cke::Q8_0>, cke::dtype::bf16,
                                          cke::isa::native>;
