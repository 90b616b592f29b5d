// SPDX-License-Identifier: MIT
// qwen3_next.hpp: Qwen3-Next: the mixers and experts of Qwen3.5 with another arrangement of the checkpoint.
#pragma once

#include "qwen3_5_moe.hpp"
// clang-format off
namespace cke {

template <qwen3_5_moe_config C> struct qwen3_next : qwen3_5_list<C, qwen3_5_experts<C>> {
  using family = cke::family<"qwen3_next">;
  static constexpr qwen3_5_moe_config config = C;
};

struct Qwen3_Next_80B_A3B : qwen3_next<qwen3_5_moe_config{
    .vocab = 151936, .dim = 2048, .expert_hidden = 512, .shared_hidden = 512, .layers = 48, .heads = 16,
    .kv_heads = 2, .experts = 512, .active = 10}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen3_next.hpp"
#endif
