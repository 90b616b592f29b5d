// SPDX-License-Identifier: MIT
// lfm2.hpp: how files spell LFM2.
#pragma once

#include "../family.hpp"
#include "../lfm2.hpp"

namespace cke {

inline constexpr auto lfm2_names = common_names +
    std::array{footer_name(role::norm, "model.embedding_norm", "token_embd_norm"),
               layer_name(role::norm, "model.layers.{}.operator_norm", "blk.{}.attn_norm"),
               layer_name(role::norm, 1, "model.layers.{}.ffn_norm", "blk.{}.ffn_norm"),
               layer_name(role::o, "model.layers.{}.self_attn.out_proj", "blk.{}.attn_output"),
               layer_name(role::q_norm, "model.layers.{}.self_attn.q_layernorm", "blk.{}.attn_q_norm"),
               layer_name(role::k_norm, "model.layers.{}.self_attn.k_layernorm", "blk.{}.attn_k_norm"),
               layer_name(role::conv_in, "model.layers.{}.conv.in_proj", "blk.{}.shortconv.in_proj"),
               layer_name(role::conv, "model.layers.{}.conv.conv", "blk.{}.shortconv.conv"),
               layer_name(role::conv_out, "model.layers.{}.conv.out_proj", "blk.{}.shortconv.out_proj"),
               layer_name(role::gate, "model.layers.{}.feed_forward.w1", "blk.{}.ffn_gate"),
               layer_name(role::up, "model.layers.{}.feed_forward.w3", "blk.{}.ffn_up"),
               layer_name(role::down, "model.layers.{}.feed_forward.w2", "blk.{}.ffn_down")};

inline constexpr layer_words lfm2_attention{.in = {"full_attention"}, .out = {"conv"}};

template <class C> struct lfm2_keys : shared_keys<C> {
  using key = config_key<C>;
  static constexpr key taps = bind<&C::taps>("conv_L_cache", "shortconv.l_cache").range(1, 64);
  static constexpr key attends =
      bind<&C::attends>(either("layer_types", numbers_of("full_attn_idxs")), list_of("attention.head_count_kv"))
          .among(lfm2_attention);
  static constexpr key eps = bind<&C::eps>("norm_eps", "attention.layer_norm_rms_epsilon").range(1e-12, 1e-1);
  static constexpr key tied = bind<&C::tied>(either("tie_embedding", "tie_word_embeddings"), "tied").shown();
  static constexpr key conv_bias = bind<&C::conv_bias>("conv_bias");
};

constexpr layer_matrices lfm2_mixer(const auto& c, u32 layer) {
  layer_matrices all;
  return c.attends.has(layer) ? all.attention(c) : all.add(role::conv_in, u64{3} * c.dim);
}

template <> struct family<"lfm2"> : usual_family<lfm2_config> {
  using key = lfm2_keys<config>;
  template <config C> using type = lfm2<C>;
  using presets = list<LFM2_350M, LFM2_700M, LFM2_1_2B>;
  static constexpr std::string_view name = "lfm2", type_name = "cke::lfm2";
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      bind<&config::hidden>(either("block_ff_dim", "intermediate_size"), "feed_forward_length").range(1, 1 << 22),
      key::layers,
      key::heads,
      key::kv_heads,
      key::head_dim,
      key::taps,
      key::attends,
      bind<&config::adjust>("block_auto_adjust_ff_dim"),
      bind<&config::by>("block_ffn_dim_multiplier").range(1e-3, 1e3),
      bind<&config::multiple>("block_multiple_of").range(1, 1 << 16),
      key::eps,
      key::tied,
      key::conv_bias,
      key::images,
      key::rope};
  static constexpr requirement must_be[] = {
      {"hidden_act", "silu"}, {"use_pos_enc", "true"}, {"block_use_swiglu", "true"}};
  static constexpr config defaults{
      .vocab = 65536, .dim = 2560, .hidden = 12288, .layers = 32, .heads = 32, .adjust = true};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0};
  static constexpr config finish(config c) {
    c = usual_family::finish(c);
    c.attends = c.attends.first(c.layers);
    if (c.adjust) {
      const u32 scaled = static_cast<u32>(c.by.v * (2 * c.hidden / 3));
      c.hidden = (scaled + c.multiple - 1) / c.multiple * c.multiple;
    }
    c.adjust = false, c.by = 1, c.multiple = 256;
    return c;
  }
  static constexpr layer_matrices matrices(const config& c, u32 layer) { return lfm2_mixer(c, layer).mlp(c.hidden); }
  static constexpr model_shape shape(const config& c) {
    return {.heads = c.heads, .kv_heads = c.kv_heads, .attends = &c.attends};
  }
  static constexpr auto names = lfm2_names;
};

}  // namespace cke
