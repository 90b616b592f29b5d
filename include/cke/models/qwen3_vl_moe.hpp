// SPDX-License-Identifier: MIT
// qwen3_vl_moe.hpp: the decoder of Qwen3-VL with experts: some layers may have a plain mlp. Its tower:
// towers/qwen3_vl.hpp.
#pragma once

#include "qwen3_vl.hpp"
// clang-format off
namespace cke {

struct qwen3_vl_moe_config {
  u32 vocab, dim, hidden, expert_hidden, layers, heads, kv_heads, head_dim = 128, experts = 128, active = 8;
  u32 taps = 3;  // layers of the tower whose features the first layers add
  u32 section_t = 24, section_h = 20, section_w = 20;  // frequencies that each axis turns
  layer_set dense{};  // layers with an mlp in place of experts
  real eps = 1e-6;
  bool tied{}, attention_bias{}, interleaved = true;
  rotary rope{.theta = 5e6};
};

template <qwen3_vl_moe_config C> struct qwen3_vl_moe_layers {
  using attend = residual<rms_norm<C.dim, C.eps>, attention<qwen3_vl_attend(C)>>;
  using mlp = residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>>;
  using experts = residual<rms_norm<C.dim, C.eps>, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = {
      .experts = C.experts, .active = C.active, .renormalise = true}}>>;
  using add = deepstack_add<C.dim>;
  static constexpr auto order = order_of<C.layers>([](u32 i) { return C.dense.has(i) + 2 * (i < C.taps); });
  using type = arrange<order, block<attend, experts>, block<attend, mlp>, block<attend, experts, add>,
                       block<attend, mlp, add>>;
};
template <qwen3_vl_moe_config C> struct qwen3_vl_moe : network<
    embedding<C.vocab, C.dim>,
    image_rows<C.dim, C.taps>,
    typename qwen3_vl_moe_layers<C>::type,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"qwen3_vl_moe_text">;
  static constexpr qwen3_vl_moe_config config = C;
};

struct Qwen3_VL_30B_A3B : qwen3_vl_moe<qwen3_vl_moe_config{
    .vocab = 151936, .dim = 2048, .hidden = 6144, .expert_hidden = 768, .layers = 48, .heads = 32, .kv_heads = 4}> {};
struct Qwen3_VL_235B_A22B : qwen3_vl_moe<qwen3_vl_moe_config{
    .vocab = 151936, .dim = 4096, .hidden = 12288, .expert_hidden = 1536, .layers = 94, .heads = 64, .kv_heads = 4}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/qwen3_vl_moe.hpp"
#endif
