// SPDX-License-Identifier: MIT
// deepseek.hpp: DeepSeek-V2 and V3: latent attention; dense layers first, then experts in groups beside a shared one.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct deepseek_config {
  // head_dim: of the rotated part
  u32 vocab, dim, hidden, expert_hidden, layers, heads, q_rank = 1536, kv_rank = 512, nope = 128, head_dim = 64,
      value = 128;
  u32 experts = 256, active = 8, shared = 1, groups = 1, groups_kept = 1, dense_layers{};
  real weights_scale = 1;
  bool renormalise{};
  real eps = 1e-6;
  bool tied{};
  rotary rope{.theta = 1e4, .pairs = pairing::adjacent};
};

// Yarn's temperature, squared, also scales the scores.
constexpr real deepseek_scale(const deepseek_config& c) {
  const rotary& r = c.rope;
  const double stretched = r.factor.v != 0 || r.original == 0 ? r.factor.v
      : static_cast<double>(r.max_position) / r.original;
  const double m = r.rule == rope_scaling::none || stretched <= 1 ? 1
      : 0.1 * r.mscale_all.v * natural_log(stretched) + 1;
  return m * m / root(c.nope + c.head_dim);
}
constexpr latent_attention_options deepseek_latent(const deepseek_config& c) {
  rotary rope = c.rope;
  rope.dims = c.head_dim;
  return {.dim = c.dim, .heads = c.heads, .q_rank = c.q_rank, .kv_rank = c.kv_rank, .nope = c.nope, .value = c.value,
          .rope = rope,
          .scale = deepseek_scale(c)};
}
// V3 chooses experts by sigmoid scores and a bias, and groups by their best two experts; V2 chooses by softmax scores,
// and groups by their best expert.
constexpr router deepseek_router(const deepseek_config& c, bool v3) {
  return {.experts = c.experts, .active = c.active, .score = v3 ? scoring::sigmoid : scoring::softmax, .bias = v3,
          .groups = c.groups,
          .groups_kept = c.groups_kept, .group_by = v3 ? group_score::best_two : group_score::best,
          .renormalise = c.renormalise,
          .scale = c.weights_scale};
}

template <deepseek_config C, class Mlp> using deepseek_layer = block<
    residual<rms_norm<C.dim, C.eps>, latent_attention<deepseek_latent(C)>>,
    residual<rms_norm<C.dim, C.eps>, Mlp>>;

template <deepseek_config C,
    bool V3> using deepseek_layers = arrange<order_of<C.layers>(layer_set::up_to(C.dense_layers)),
    deepseek_layer<C, moe<moe_options{.dim = C.dim, .hidden = C.expert_hidden, .route = deepseek_router(C, V3),
        .shared = C.shared * C.expert_hidden}>>,
    deepseek_layer<C, gated_mlp<C.dim, C.hidden, activation::silu>>>;

template <deepseek_config C> struct deepseek_v2 : network<
    embedding<C.vocab, C.dim>, deepseek_layers<C, false>, rms_norm<C.dim, C.eps>, head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"deepseek_v2">;
  static constexpr deepseek_config config = C;
};
template <deepseek_config C> struct deepseek_v3 : network<
    embedding<C.vocab, C.dim>, deepseek_layers<C, true>, rms_norm<C.dim, C.eps>, head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"deepseek_v3">;
  static constexpr deepseek_config config = C;
};

struct DeepSeek_V2_Lite : deepseek_v2<deepseek_config{
    .vocab = 102400, .dim = 2048, .hidden = 10944, .expert_hidden = 1408, .layers = 27, .heads = 16, .q_rank = 0,
    .experts = 64, .active = 6, .shared = 2, .dense_layers = 1,
    .rope = {.theta = 1e4, .pairs = pairing::adjacent, .rule = rope_scaling::yarn, .factor = 40, .mscale = 0.707,
    .mscale_all = 0.707, .original = 4096, .max_position = 163840}}> {};
struct DeepSeek_V3 : deepseek_v3<deepseek_config{
    .vocab = 129280, .dim = 7168, .hidden = 18432, .expert_hidden = 2048, .layers = 61, .heads = 128, .groups = 8,
    .groups_kept = 4, .dense_layers = 3, .weights_scale = 2.5, .renormalise = true,
    .rope = {.theta = 1e4, .pairs = pairing::adjacent, .rule = rope_scaling::yarn, .factor = 40, .mscale = 1,
    .mscale_all = 1, .original = 4096, .max_position = 163840}}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/deepseek.hpp"
#endif
