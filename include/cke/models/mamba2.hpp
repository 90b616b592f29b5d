// SPDX-License-Identifier: MIT
// mamba2.hpp: Mamba 2: every layer is a selective state space; nothing attends.
#pragma once

#include "family.hpp"

namespace cke {

struct mamba2_config {
  u32 vocab, dim, layers, heads, head_dim = 64, state = 128, ssm_groups = 1, taps = 4;
  real eps = 1e-5, least_step{}, most_step = 1e300;
  bool conv_bias = true, bias{}, tied{};
  rotary rope{.theta = 1e4};  // nothing turns; the length that it was trained for is here
};

template <mamba2_config C> struct mamba2 : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<residual<rms_norm<C.dim, C.eps>, mamba_mixer<mamba_options{
        .dim = C.dim, .heads = C.heads, .head_dim = C.head_dim, .state = C.state, .groups = C.ssm_groups, .taps = C.taps, .eps = C.eps,
        .least_step = C.least_step, .most_step = C.most_step, .conv_bias = C.conv_bias, .bias = C.bias}>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"mamba2">;
  static constexpr mamba2_config config = C;
};

// Of hybrids too.
constexpr small_vector<layer_matrix, 8> mamba2_matrices(u64 heads, u64 head_dim, u64 groups, u64 state) {
  small_vector<layer_matrix, 8> all;
  for (const layer_matrix& m : {layer_matrix{role::ssm_gate, heads * head_dim}, {role::ssm_in, heads * head_dim + 2 * groups * state}, {role::ssm_step, heads}}) all.push(m);
  return all;
}
constexpr config_problem mamba2_problem(u32 heads, u32 groups, real least, real most) {
  if (heads % groups) return {trouble::unsupported, "n_groups", {}, 0, 0, "a divisor of the number of heads"};
  if (least.v > most.v) return {trouble::unsupported, "time_step_limit", {}, 0, 0, "the least step first"};
  return {};
}
// A rope that turns nothing, but for the length that a model was trained for.
constexpr rotary no_rope(const rotary& r) { return {.theta = 1e4, .max_position = r.max_position}; }

inline constexpr std::array backbone_rules{
    name_rule{place::header, role::embed, 0, "backbone.embeddings|backbone.embedding", "token_embd"},
    name_rule{place::footer, role::norm, 0, "backbone.norm_f", "output_norm"},
    name_rule{place::body, role::norm, 0, "backbone.layers.{}.norm", "blk.{}.attn_norm"},
    name_rule{place::body, role::ssm_gate, 0, "backbone.layers.{}.mixer.in_proj[0]", "blk.{}.ssm_in[0]"},
    name_rule{place::body, role::ssm_in, 0, "backbone.layers.{}.mixer.in_proj[1]", "blk.{}.ssm_in[1]"},
    name_rule{place::body, role::ssm_step, 0, "backbone.layers.{}.mixer.in_proj[2]", "blk.{}.ssm_in[2]"},
    name_rule{place::body, role::conv, 0, "backbone.layers.{}.mixer.conv1d", "blk.{}.ssm_conv1d"},
    name_rule{place::body, role::decay, 0, "=backbone.layers.{}.mixer.A_log", "=blk.{}.ssm_a", change::minus_exp},
    name_rule{place::body, role::step_bias, 0, "=backbone.layers.{}.mixer.dt_bias", "=blk.{}.ssm_dt.bias"},
    name_rule{place::body, role::skip, 0, "=backbone.layers.{}.mixer.D", "=blk.{}.ssm_d"},
    name_rule{place::body, role::ssm_norm, 0, "backbone.layers.{}.mixer.norm", "blk.{}.ssm_norm"},
    name_rule{place::body, role::ssm_out, 0, "backbone.layers.{}.mixer.out_proj", "blk.{}.ssm_out"}};

namespace key {
inline constexpr config_key mamba_eps{"eps", "layer_norm_epsilon|rms_norm_eps", "attention.layer_norm_rms_epsilon", true, 1e-12, 1e-1},
    ssm_state{"state", "state_size|ssm_state_size|mamba_d_state", "ssm.state_size", true, 1, 4096},
    ssm_groups{"ssm_groups", "n_groups|mamba_n_groups", "ssm.group_count", true, 1, 4096},
    ssm_taps{"taps", "conv_kernel|mamba_d_conv", "ssm.conv_kernel", true, 1, 64},
    least_step{"least_step", "time_step_limit.0|mamba_dt_limit.0", "", true, 0, 1e300},
    most_step{"most_step", "time_step_limit.1|mamba_dt_limit.1", "", true, 0, 1e300},
    ssm_conv_bias{"conv_bias", "use_conv_bias|mamba_conv_bias", "", true, 0, 1},
    ssm_bias{"bias", "use_bias", "", true, 0, 1},
    unturned{"rope", "", "", true, 1, 1};
}  // namespace key

template <> struct family<"mamba2"> {
  using config = mamba2_config;
  template <config C> using type = mamba2<C>;
  static constexpr std::string_view name = "mamba2", header = "cke/models/mamba2.hpp", type_name = "cke::mamba2";
  static constexpr config_key keys[] = {
      key::vocab.or_default(), key::dim.or_default(), key::layers.or_default(), {"heads", "num_heads", "ssm.time_step_rank", true, 1, 65536},
      {"head_dim", "head_dim", "ssm.head_dim", true, 1, 4096}, key::ssm_state, key::ssm_groups, key::ssm_taps, key::mamba_eps,
      key::least_step, key::most_step, key::ssm_conv_bias, key::ssm_bias, key::tied, key::unturned};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 32768, .dim = 4096, .layers = 64, .heads = 128, .ssm_groups = 8};
  static constexpr config gguf_defaults{.vocab = 0, .dim = 0, .layers = 0, .heads = 0};
  static constexpr config finish(config c) {
    c.rope = no_rope(c.rope);
    return c;
  }
  static constexpr config_problem refuses(json, naming, const config& c) { return mamba2_problem(c.heads, c.ssm_groups, c.least_step, c.most_step); }
  static constexpr auto matrices(const config& c, u32) { return mamba2_matrices(c.heads, c.head_dim, c.ssm_groups, c.state); }
  static void to_gguf(const config& c, json, auto put) {
    put("ssm.inner_size", c.heads * c.head_dim);
    put("context_length", 1u << 20);  // there is no end
    put("feed_forward_length", 0u);
    put("attention.head_count", 0u);
  }
  static constexpr auto names = common_names + backbone_rules;
};

struct Mamba2_130M : mamba2<mamba2_config{.vocab = 50288, .dim = 768, .layers = 24, .heads = 24, .tied = true}> {};
struct Mamba2_370M : mamba2<mamba2_config{.vocab = 50288, .dim = 1024, .layers = 48, .heads = 32, .tied = true}> {};
struct Mamba2_780M : mamba2<mamba2_config{.vocab = 50288, .dim = 1536, .layers = 48, .heads = 48, .tied = true}> {};
struct Mamba2_1_3B : mamba2<mamba2_config{.vocab = 50288, .dim = 2048, .layers = 48, .heads = 64, .tied = true}> {};
struct Mamba2_2_7B : mamba2<mamba2_config{.vocab = 50288, .dim = 2560, .layers = 64, .heads = 80, .tied = true}> {};

}  // namespace cke
