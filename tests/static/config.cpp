// SPDX-License-Identifier: MIT
// config.cpp: a config.json in a constant becomes a type, in both spellings.
#include "cke/from_config.hpp"

#include "cke/graph/program.hpp"
#include "presets.hpp"

using namespace cke;
using namespace cke::io;
using namespace cke::runtime;
using namespace cke::text;
using namespace cke::graph;

namespace {

// as published with the model, and as transformers 5 writes it
constexpr char llama_published[] = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "bos_token_id": 128000, "eos_token_id": [128001, 128008],
  "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 8192, "max_position_embeddings": 131072,
  "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
  "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0, "tie_word_embeddings": true,
  "torch_dtype": "bfloat16", "vocab_size": 128256})";
constexpr char llama_now[] = R"({
  "dtype": "bfloat16", "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 8192, "max_position_embeddings": 131072,
  "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
  "rope_parameters": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
  "rope_theta": 500000.0, "rope_type": "llama3"}, "head_dim": 64, "tie_word_embeddings": true, "vocab_size": 128256})";
static_assert(std::is_same_v<from_config<llama_published>, from_config<llama_now>>);

constexpr llama_config read = from_config<llama_published>::config, preset = Llama_3_2_1B::config;
static_assert(read.vocab == preset.vocab && read.dim == preset.dim && read.hidden == preset.hidden &&
              read.layers == preset.layers);
static_assert(read.heads == preset.heads && read.kv_heads == preset.kv_heads && read.head_dim == 64 && read.tied &&
              read.eps == preset.eps);
static_assert(read.rope.rule == rope_scaling::llama3 && read.rope.theta == preset.rope.theta &&
              read.rope.factor == preset.rope.factor);
static_assert(read.rope.low == preset.rope.low && read.rope.high == preset.rope.high &&
              read.rope.original == preset.rope.original);
static_assert(program<from_config<llama_now>, BF16>::parameters == program<Llama_3_2_1B, BF16>::parameters);

constexpr char qwen3_published[] =
    R"({"model_type": "qwen3", "attention_bias": false, "head_dim": 128, "hidden_act": "silu",
  "hidden_size": 1024, "intermediate_size": 3072, "max_position_embeddings": 40960, "max_window_layers": 28,
  "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null,
  "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})";
constexpr char qwen3_now[] = R"({"model_type": "qwen3", "head_dim": 128, "hidden_size": 1024, "intermediate_size": 3072,
  "layer_types": ["full_attention"], "max_position_embeddings": 40960, "num_attention_heads": 16, "num_hidden_layers": 28,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 1000000, "rope_type": "default"},
  "tie_word_embeddings": true, "vocab_size": 151936})";
static_assert(std::is_same_v<from_config<qwen3_published>, from_config<qwen3_now>>);
static_assert(program<from_config<qwen3_now>, Q8_0>::weight_bytes == program<Qwen3_0_6B, Q8_0>::weight_bytes);

// lists of a file live as long as the program: the config points to them
constexpr char longrope[] =
    R"({"model_type": "llama", "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4,
  "num_hidden_layers": 1, "vocab_size": 32, "rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4, "factor": 4.0,
  "original_max_position_embeddings": 32, "long_factor": [1.0, 2.5, 4, 5.5], "short_factor": [1, 1.05, 1.1, 1.15]}})";
constexpr const rope_factors& factors = *from_config<longrope>::config.rope.factors;
static_assert(factors.long_count == 4 && factors.short_count == 4 && factors.longs[1] == 2.5 &&
              factors.shorts[3] == 1.15);
static_assert(from_config<longrope>::config.kv_heads == 4 && from_config<longrope>::config.head_dim == 8);

}  // namespace
