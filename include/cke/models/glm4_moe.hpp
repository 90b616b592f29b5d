// SPDX-License-Identifier: MIT
// glm4_moe.hpp: GLM-4.5: dense layers first, then experts chosen by sigmoid scores, with a shared one beside them.
#pragma once

#include "family.hpp"

namespace cke {

struct glm4_moe_config {
  u32 vocab, dim, hidden, expert_hidden, layers, heads, kv_heads, head_dim = 128, experts = 128, active = 8, shared = 1;
  u32 groups = 1, groups_kept = 1, dense_layers = 1;
  real weights_scale = 1;
  bool renormalise = true, qk_norm{};
  real eps = 1e-5;
  bool tied{}, attention_bias = true;  // of q, k and v
  rotary rope{.theta = 1e6};           // dims 0: half of head_dim
};

constexpr attention_options glm4_moe_attend(const glm4_moe_config& c) {
  rotary rope = c.rope;
  rope.dims = rope.dims ? rope.dims : c.head_dim / 2;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .rope = rope,
          .qk_norm = {c.qk_norm ? c.eps : real{}}, .qkv_bias = c.attention_bias};
}

template <glm4_moe_config C, class Mlp> using glm4_moe_layer = block<
    residual<rms_norm<C.dim, C.eps>, attention<glm4_moe_attend(C)>>,
    residual<rms_norm<C.dim, C.eps>, Mlp>>;

template <glm4_moe_config C> struct glm4_moe : network<
    embedding<C.vocab, C.dim>,
    arrange<order_of<C.layers>(layer_set::up_to(C.dense_layers)),
        glm4_moe_layer<C, moe<moe_options{
            .dim = C.dim, .hidden = C.expert_hidden,
            .route = {.experts = C.experts, .active = C.active, .score = scoring::sigmoid, .bias = true, .groups = C.groups,
                      .groups_kept = C.groups_kept, .group_by = group_score::best_two, .renormalise = C.renormalise, .scale = C.weights_scale},
            .shared = C.shared * C.expert_hidden}>>,
        glm4_moe_layer<C, gated_mlp<C.dim, C.hidden, activation::silu>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"glm4_moe">;
  static constexpr glm4_moe_config config = C;
};

template <> struct family<"glm4_moe"> {
  using config = glm4_moe_config;
  template <config C> using type = glm4_moe<C>;
  static constexpr std::string_view name = "glm4_moe", gguf_name = "glm4moe", header = "cke/models/glm4_moe.hpp", type_name = "cke::glm4_moe";
  static void to_gguf(const config&, json, auto put) { put("expert_gating_func", 2u); }  // sigmoid
  static constexpr bool predicts_ahead = true;  // files have layers after the last, for speculation
  static constexpr config_key keys[] = {
      key::vocab, key::dim, key::hidden, key::expert_hidden, key::layers, key::heads, key::kv_heads, key::head_dim, key::experts, key::active,
      {"shared", "n_shared_experts", "expert_shared_count", true, 1, 4096}, key::groups, key::groups_kept, key::dense_layers, key::weights_scale,
      key::renormalise, {"qk_norm", "use_qk_norm", "qk_norm", true, 0, 1}, key::eps, key::tied, key::attention_bias, key::partial_rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .hidden = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 8, .head_dim = 0,
                                   .attention_bias = false, .rope = {.theta = 1e4}};
  static constexpr config finish(config c) {
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    c.rope.dims = c.rope.dims ? c.rope.dims : c.head_dim / 2;
    return c;
  }
  static constexpr auto names = expert_names + std::array{
      name_rule{place::body, role::norm, 1, "model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"}};
};

struct GLM_4_5_Air : glm4_moe<glm4_moe_config{.vocab = 151552, .dim = 4096, .hidden = 10944, .expert_hidden = 1408, .layers = 46, .heads = 96, .kv_heads = 8}> {};
struct GLM_4_5 : glm4_moe<glm4_moe_config{.vocab = 151552, .dim = 5120, .hidden = 12288, .expert_hidden = 1536, .layers = 92, .heads = 96, .kv_heads = 8, .experts = 160, .dense_layers = 3, .weights_scale = 2.5, .qk_norm = true}> {};

}  // namespace cke
