// SPDX-License-Identifier: MIT
// families.cpp: each family's config.json as published and as transformers 5 writes it, which are one type.
#include "cke/from_config.hpp"

#include "cke/graph/program.hpp"
#include "presets.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::runtime;
using namespace cke::text;
using namespace cke::graph;

namespace {

#define SHAPE                                                                                                             \
  R"("vocab_size": 384, "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 8, "num_attention_heads": 6, )" \
  R"("num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-6, )"
#define NOW(theta) R"("rope_parameters": {"rope_theta": )" #theta R"(, "rope_type": "default"})"

constexpr char gemma3_old[] =
    "{" SHAPE R"("model_type": "gemma3_text", "head_dim": 24, "query_pre_attn_scalar": 24, "sliding_window": 7,
  "sliding_window_pattern": 6, "rope_theta": 1000000, "rope_local_base_freq": 20000, "rope_scaling": {"rope_type": "linear", "factor": 8},
  "hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": null, "attention_bias": false})";
constexpr char gemma3_now[] =
    "{" SHAPE R"("model_type": "gemma3_text", "head_dim": 24, "query_pre_attn_scalar": 24, "sliding_window": 7,
  "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
  "sliding_attention", "sliding_attention"], "rope_parameters": {"full_attention": {"rope_theta": 1000000, "rope_type": "linear", "factor": 8},
  "sliding_attention": {"rope_theta": 20000, "rope_type": "default"}}, "tie_word_embeddings": true})";
static_assert(std::is_same_v<from_config<gemma3_old>, from_config<gemma3_now>>);
constexpr gemma3_config gemma3_read = from_config<gemma3_now>::config;
static_assert(gemma3_read.sliding == layer_set::all_but_every(6).first(8) && gemma3_read.local_rope.theta == real{2e4});
static_assert(gemma3_read.rope.rule == rope_scaling::linear && gemma3_read.rope.factor == real{8} &&
              gemma3_read.local_rope.rule == rope_scaling::none);

// the 4B file leaves out most of it
constexpr char gemma3_4b[] =
    R"({"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
  "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024})";
static_assert(program<from_config<gemma3_4b>, BF16>::parameters == program<Gemma_3_4B, BF16>::parameters);

// published, inside what sees and hears; as transformers 5 writes it
constexpr char gemma4_old[] = R"({"model_type": "gemma4", "text_config": {)" SHAPE
                              R"("model_type": "gemma4_text", "head_dim": 24, "global_head_dim": 32,
  "sliding_window": 7, "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": 384, "final_logit_softcapping": 30.0,
  "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention",
  "sliding_attention", "full_attention"], "rope_parameters": {"full_attention": {"rope_theta": 1000000, "rope_type": "proportional",
  "partial_rotary_factor": 0.25}, "sliding_attention": {"rope_theta": 10000, "rope_type": "default"}}}})";
constexpr char gemma4_now[] =
    "{" SHAPE
    R"("model_type": "gemma4_text", "head_dim": 24, "per_layer_config": {"5": {"head_dim": 32}, "7": {"head_dim": 32}},
  "sliding_window": 7, "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": 384, "final_logit_softcapping": 30.0})";
static_assert(std::is_same_v<from_config<gemma4_old>, from_config<gemma4_now>>);
static_assert(from_config<gemma4_now>::config.rope.dims == 8 && !from_config<gemma4_now>::config.sliding.has(7));
// 15 of 35 layers have a cache: 12 of heads of 256, 3 of 512
static_assert(program<Gemma_4_E2B, Q8_0>::state_bytes({.context = 512}, dtype::f16) ==
              u64{512} * 2 * 2 * (12 * 256 + 3 * 512));
// Sequences go on behind their context where nothing lasts, and no angle depends on how long it is.
static_assert(program<Mistral_7B_v0_1, Q8_0>::slides && program<Mamba2_130M, Q8_0>::slides &&
              !program<Gemma_4_E2B, Q8_0>::slides);
static_assert(program<Gemma_4_E2B, Q8_0>::first_persistent == 4);
// Rows that nobody wants end with the last layer that has a state: 20 and 1 layers have none.
static_assert(program<Gemma_4_E2B, Q8_0>::row_end.layer == 14 && program<Nemotron_H_8B, Q8_0>::row_end.layer == 50);
// Beyond it windows of 512 take what a pass of 512 sees: 9 pages of 128 positions.
static_assert(program<Gemma_4_E2B, Q8_0>::state_bytes({.context = 4096}, dtype::f16) ==
              u64{2} * 2 * (9 * 128 * 12 * 256 + 4096 * 3 * 512));
static_assert(program<Gemma_4_E2B, Q8_0>::state_bytes({.context = 4096, .chunk = 2}, dtype::f16) ==
              u64{2} * 2 * (5 * 128 * 12 * 256 + 4096 * 3 * 512));

// null: one matrix of q, all experts in one group
#define LATENT                                                                                                                                   \
  R"("kv_lora_rank": 20, "qk_rope_head_dim": 8, "qk_nope_head_dim": 12, "v_head_dim": 10, "moe_intermediate_size": 20, "n_routed_experts": 6, )" \
  R"("num_experts_per_tok": 2, "first_k_dense_replace": 1, )"
constexpr char deepseek_old[] =
    "{" SHAPE LATENT
    R"("model_type": "deepseek_v2", "q_lora_rank": null, "n_group": null, "topk_group": null, "rope_theta": 10000,
  "topk_method": "greedy", "scoring_func": "softmax", "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
  "beta_fast": 32, "beta_slow": 1, "original_max_position_embeddings": 32}})";
constexpr char deepseek_now[] =
    "{" SHAPE LATENT R"("model_type": "deepseek_v2", "q_lora_rank": null, "topk_method": "greedy", "rope_parameters":
  {"rope_theta": 10000, "rope_type": "yarn", "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707, "original_max_position_embeddings": 32}})";
static_assert(std::is_same_v<from_config<deepseek_old>, from_config<deepseek_now>>);
static_assert(from_config<deepseek_now>::config.q_rank == 0 &&
              from_config<deepseek_now>::config.rope.pairs == pairing::adjacent);
// mission.md 2.0: 192^-1/2 (0.1 ln 40 + 1)^2
static_assert(deepseek_scale(DeepSeek_V3::config).v > 0.13523 && deepseek_scale(DeepSeek_V3::config).v < 0.13524);
// a latent and a turned key of each token, as key and as value
static_assert(program<DeepSeek_V3, Q8_0>::state_bytes({.context = 4096}, dtype::f16) == u64{4096} * 61 * 2 * 576 * 2);

constexpr char gemma2_old[] =
    "{" SHAPE
    R"("model_type": "gemma2", "head_dim": 24, "query_pre_attn_scalar": 24, "sliding_window": 7, "rope_theta": 5000,
  "attn_logit_softcapping": 50.0, "final_logit_softcapping": null, "hidden_act": "gelu_pytorch_tanh"})";
constexpr char gemma2_now[] =
    "{" SHAPE NOW(5000) R"(, "model_type": "gemma2", "head_dim": 24, "query_pre_attn_scalar": 24, "sliding_window": 7,
  "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention",
  "sliding_attention", "full_attention"], "attn_logit_softcapping": 50.0, "final_logit_softcapping": null})";
static_assert(std::is_same_v<from_config<gemma2_old>, from_config<gemma2_now>>);
static_assert(from_config<gemma2_now>::config.logit_cap == real{0} &&
              from_config<gemma2_now>::config.score_cap == real{50});

constexpr char glm4_old[] =
    "{" SHAPE
    R"("model_type": "glm4", "head_dim": 24, "rope_theta": 10000, "partial_rotary_factor": 0.5, "attention_bias": true})";
constexpr char glm4_now[] =
    "{" SHAPE R"("model_type": "glm4", "head_dim": 24, "rope_parameters": {"rope_theta": 10000, "rope_type": "default",
  "partial_rotary_factor": 0.5}})";
constexpr char glm4_silent[] = "{" SHAPE NOW(10000) R"(, "model_type": "glm4", "head_dim": 24})";
constexpr char glm4_whole[] =
    "{" SHAPE R"("model_type": "glm4", "head_dim": 24, "rope_theta": 10000, "partial_rotary_factor": 1.0})";
static_assert(std::is_same_v<from_config<glm4_old>, from_config<glm4_now>> &&
              std::is_same_v<from_config<glm4_old>, from_config<glm4_silent>>);
static_assert(from_config<glm4_old>::config.rope.dims == 12 && from_config<glm4_whole>::config.rope.dims == 24);

constexpr char phi3_old[] =
    "{" SHAPE R"("model_type": "phi3", "rope_theta": 10000, "partial_rotary_factor": 0.75, "sliding_window": null,
  "original_max_position_embeddings": 32, "rope_scaling": {"type": "su", "short_factor": [1, 1, 1, 1, 1, 1], "long_factor": [1, 2, 3, 4, 5, 6]}})";
constexpr char phi3_now[] =
    "{" SHAPE R"("model_type": "phi3", "original_max_position_embeddings": 32, "rope_parameters": {"rope_theta": 10000,
  "partial_rotary_factor": 0.75, "rope_type": "longrope", "short_factor": [1, 1, 1, 1, 1, 1], "long_factor": [1, 2, 3, 4, 5, 6]}})";
constexpr phi3_config old_phi3 = from_config<phi3_old>::config, now_phi3 = from_config<phi3_now>::config;
static_assert(old_phi3.rope.dims == 12 && now_phi3.rope.dims == 12 && old_phi3.rope.original == 32 &&
              now_phi3.rope.original == 32);
static_assert(old_phi3.rope.rule == rope_scaling::longrope && now_phi3.rope.rule == rope_scaling::longrope &&
              old_phi3.window == everything);
static_assert(old_phi3.rope.factors->longs[5] == 6 && now_phi3.rope.factors->longs[5] == 6);

constexpr char smollm3_old[] =
    "{" SHAPE
    R"("model_type": "smollm3", "rope_theta": 5000000, "no_rope_layer_interval": 4, "use_sliding_window": false,
  "sliding_window": null, "tie_word_embeddings": true})";
constexpr char smollm3_now[] = "{" SHAPE NOW(
    5000000) R"(, "model_type": "smollm3", "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0], "layer_types": ["full_attention"],
  "tie_word_embeddings": true})";
static_assert(std::is_same_v<from_config<smollm3_old>, from_config<smollm3_now>>);

constexpr char olmo2_old[] = "{" SHAPE R"("model_type": "olmo2", "rope_theta": 500000, "rope_scaling": null})";
constexpr char olmo2_now[] = "{" SHAPE NOW(500000) R"(, "model_type": "olmo2"})";
static_assert(std::is_same_v<from_config<olmo2_old>, from_config<olmo2_now>>);

constexpr char granite_old[] =
    "{" SHAPE
    R"("model_type": "granite", "rope_theta": 1e7, "embedding_multiplier": 12, "attention_multiplier": 0.015625,
  "residual_multiplier": 0.22, "logits_scaling": 8})";
constexpr char granite_now[] =
    "{" SHAPE NOW(1e7) R"(, "model_type": "granite", "embedding_multiplier": 12.0, "attention_multiplier": 0.015625,
  "residual_multiplier": 0.22, "logits_scaling": 8.0})";
static_assert(std::is_same_v<from_config<granite_old>, from_config<granite_now>>);
static_assert(from_config<granite_old>::config.residual_multiplier == real{0.22});

constexpr char qwen2_old[] =
    "{" SHAPE
    R"("model_type": "qwen2", "rope_theta": 1e6, "use_sliding_window": false, "sliding_window": 64, "max_window_layers": 4})";
constexpr char qwen2_now[] =
    "{" SHAPE NOW(1e6) R"(, "model_type": "qwen2", "use_sliding_window": false, "sliding_window": null})";
static_assert(std::is_same_v<from_config<qwen2_old>, from_config<qwen2_now>>);

// layers by letter, and by word
#define SSM \
  R"("mamba_num_heads": 6, "mamba_head_dim": 10, "ssm_state_size": 20, "conv_kernel": 4, "layer_norm_epsilon": 1e-5, )"
constexpr char nemotron_old[] =
    "{" SHAPE SSM
    R"("model_type": "nemotron_h", "n_groups": 3, "hybrid_override_pattern": "M-*EM-*E", "time_step_limit": [0.0, Infinity],
  "attention_head_dim": 12, "n_routed_experts": 6, "num_experts_per_tok": 2, "rope_theta": 10000, "sliding_window": null})";
constexpr char nemotron_now[] =
    "{" SHAPE SSM
    R"("model_type": "nemotron_h", "n_groups": 3, "layers_block_type": ["linear_attention", "mlp", "full_attention",
  "moe", "linear_attention", "mlp", "full_attention", "moe"], "time_step_limit": [0.0, {"__float__": "Infinity"}], "head_dim": 12, "n_routed_experts": 6})";
static_assert(std::is_same_v<from_config<nemotron_old>, from_config<nemotron_now>>);
static_assert(program<from_config<nemotron_now>, F32>::body_count == 4 &&
              program<from_config<nemotron_now>, F32>::kind_of[4] == 0);

constexpr char granite4_old[] =
    "{" SHAPE
    R"("model_type": "granitemoehybrid", "layer_types": ["mamba", "mamba", "attention", "mamba", "mamba", "mamba", "attention",
  "mamba"], "mamba_n_heads": 6, "mamba_d_head": 32, "mamba_d_state": 20, "position_embedding_type": "nope", "rope_theta": 10000, "num_local_experts": 0})";
constexpr char granite4_now[] = "{" SHAPE NOW(
    5000) R"(, "model_type": "granitemoehybrid", "layer_types": ["linear_attention", "linear_attention", "full_attention",
  "linear_attention", "linear_attention", "linear_attention", "full_attention", "linear_attention"], "mamba_n_heads": 6, "mamba_d_state": 20,
  "position_embedding_type": null, "num_local_experts": 0, "time_step_limit": [0.0, {"__float__": "Infinity"}]})";
static_assert(std::is_same_v<from_config<granite4_old>, from_config<granite4_now>>);

// absent, a window is Mistral's own; null, there is none
constexpr char mistral_window[] = "{" SHAPE NOW(1e4) R"(, "model_type": "mistral", "sliding_window": 7})";
constexpr char mistral_absent[] = "{" SHAPE NOW(1e4) R"(, "model_type": "mistral"})";
constexpr char mistral_null[] =
    "{" SHAPE R"("rope_theta": 1e4, "model_type": "mistral", "sliding_window": null, "head_dim": null})";
static_assert(from_config<mistral_window>::config.window == 7 && from_config<mistral_absent>::config.window == 4096);
static_assert(from_config<mistral_null>::config.window == everything &&
              from_config<mistral_null>::config.head_dim == 16);

}  // namespace
