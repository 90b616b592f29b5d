// SPDX-License-Identifier: MIT
// mamba2.hpp: how files spell Mamba 2.
#pragma once

#include "../family.hpp"
#include "../mamba2.hpp"

namespace cke {

// A rope that rotates nothing; it holds only the length that a model was trained for.
constexpr rotary no_rope(const rotary& r) { return {.theta = 1e4, .max_position = r.max_position}; }

inline constexpr std::array backbone_rules{
    header_name(role::embed, either("backbone.embeddings", "backbone.embedding"), "token_embd"),
    footer_name(role::norm, "backbone.norm_f", "output_norm"),
    layer_name(role::norm, "backbone.layers.{}.norm", "blk.{}.attn_norm"),
    layer_name(role::ssm_gate, part(0, "backbone.layers.{}.mixer.in_proj"), part(0, "blk.{}.ssm_in")),
    layer_name(role::ssm_in, part(1, "backbone.layers.{}.mixer.in_proj"), part(1, "blk.{}.ssm_in")),
    layer_name(role::ssm_step, part(2, "backbone.layers.{}.mixer.in_proj"), part(2, "blk.{}.ssm_in")),
    layer_name(role::conv, "backbone.layers.{}.mixer.conv1d", "blk.{}.ssm_conv1d"),
    layer_name(role::decay, exact("backbone.layers.{}.mixer.A_log"), exact("blk.{}.ssm_a")).in_gguf(change::minus_exp),
    layer_name(role::step_bias, exact("backbone.layers.{}.mixer.dt_bias"), exact("blk.{}.ssm_dt.bias")),
    layer_name(role::skip, exact("backbone.layers.{}.mixer.D"), exact("blk.{}.ssm_d")),
    layer_name(role::ssm_norm, "backbone.layers.{}.mixer.norm", "blk.{}.ssm_norm"),
    layer_name(role::ssm_out, "backbone.layers.{}.mixer.out_proj", "blk.{}.ssm_out")};

// Hybrids use these too.
template <class C> struct mamba_keys : shared_keys<C> {
  using key = config_key<C>;
  static constexpr key eps =
      bind<&C::eps>(either("layer_norm_epsilon", "rms_norm_eps"), "attention.layer_norm_rms_epsilon")
          .range(1e-12, 1e-1);
  static constexpr key state =
      bind<&C::state>(either("state_size", "ssm_state_size", "mamba_d_state"), "ssm.state_size").range(1, 4096);
  static constexpr key ssm_groups =
      bind<&C::ssm_groups>(either("n_groups", "mamba_n_groups"), "ssm.group_count").range(1, 4096);
  static constexpr key taps = bind<&C::taps>(either("conv_kernel", "mamba_d_conv"), "ssm.conv_kernel").range(1, 64);
  static constexpr key least_step =
      bind<&C::least_step>(either(element(0, "time_step_limit"), element(0, "mamba_dt_limit"))).range(0, 1e300);
  static constexpr key most_step =
      bind<&C::most_step>(either(element(1, "time_step_limit"), element(1, "mamba_dt_limit"))).range(0, 1e300);
  static constexpr key conv_bias = bind<&C::conv_bias>(either("use_conv_bias", "mamba_conv_bias"));
  static constexpr key bias = bind<&C::bias>("use_bias");
};
template <class C> inline constexpr relation<C> steps_in_order{
    member_name<&C::least_step>(), [](const C& c) { return c.least_step.v <= c.most_step.v; }, "the least step first"};
constexpr layer_matrices mamba2_matrices(u64 heads, u64 head_dim, u64 groups, u64 state) {
  return layer_matrices{}
      .add(role::ssm_gate, heads * head_dim)
      .add(role::ssm_in, heads * head_dim + 2 * groups * state)
      .add(role::ssm_step, heads);
}

template <> struct family<"mamba2"> {
  using config = mamba2_config;
  using key = mamba_keys<config>;
  template <config C> using type = mamba2<C>;
  using presets = list<Mamba2_130M, Mamba2_370M, Mamba2_780M, Mamba2_1_3B, Mamba2_2_7B>;
  static constexpr std::string_view name = "mamba2", type_name = "cke::mamba2";
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      key::layers,
      bind<&config::heads>("num_heads", "ssm.time_step_rank").range(1, 65536),
      bind<&config::head_dim>("head_dim", "ssm.head_dim").range(1, 4096).shown(),
      key::state,
      key::ssm_groups,
      key::taps,
      key::eps,
      key::least_step,
      key::most_step,
      key::conv_bias,
      key::bias,
      key::tied,
      key::no_rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 32768, .dim = 4096, .layers = 64, .heads = 128, .ssm_groups = 8};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .layers = 0, .heads = 0};
  static constexpr config finish(config c) {
    c.rope = no_rope(c.rope);
    return c;
  }
  static constexpr relation<config> relations[] = {divisor_of<&config::ssm_groups, &config::heads>,
                                                   steps_in_order<config>, even<&config::head_dim>};
  static constexpr layer_matrices matrices(const config& c, u32) {
    return mamba2_matrices(c.heads, c.head_dim, c.ssm_groups, c.state);
  }
  static constexpr model_shape shape(const config& c) { return {.heads = c.heads, .ssm_groups = c.ssm_groups}; }
  static void to_gguf(const config& c, json, auto put) {
    put("ssm.inner_size", c.heads * c.head_dim);
    put("context_length", 1u << 20);  // the context has no limit
    put("feed_forward_length", 0u);
    put("attention.head_count", 0u);
  }
  static constexpr auto names = common_names + backbone_rules;
};

}  // namespace cke
