// SPDX-License-Identifier: MIT
// configs.hpp: the models' config.json as constants, written by make_configs.py.
#pragma once

namespace configs {

inline constexpr char deepseek_v3_fp8[] = R"json({
  "architectures": [
    "DeepseekV3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "first_k_dense_replace": 1,
  "head_dim": 8,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "kv_lora_rank": 20,
  "max_position_embeddings": 128,
  "model_type": "deepseek_v3",
  "moe_intermediate_size": 20,
  "n_group": 3,
  "n_routed_experts": 6,
  "n_shared_experts": 1,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts_per_tok": 2,
  "num_hidden_layers": 3,
  "num_key_value_heads": 6,
  "num_nextn_predict_layers": 0,
  "output_router_logits": false,
  "pad_token_id": 1,
  "pretraining_tp": 1,
  "q_lora_rank": 28,
  "qk_head_dim": 20,
  "qk_nope_head_dim": 12,
  "qk_rope_head_dim": 8,
  "rms_norm_eps": 1e-05,
  "rope_interleave": true,
  "rope_parameters": {
    "factor": 4.0,
    "mscale": 0.8,
    "mscale_all_dim": 0.8,
    "original_max_position_embeddings": 16,
    "rope_theta": 5000.0,
    "rope_type": "yarn"
  },
  "routed_scaling_factor": 1.7,
  "tie_word_embeddings": false,
  "topk_group": 2,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "v_head_dim": 10,
  "vocab_size": 288,
  "quantization_config": {
    "activation_scheme": "dynamic",
    "fmt": "e4m3",
    "quant_method": "fp8",
    "weight_block_size": [
      128,
      128
    ]
  }
})json";
inline constexpr char llama_bias[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": true,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 8,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 40,
  "max_position_embeddings": 128,
  "mlp_bias": true,
  "model_type": "llama",
  "num_attention_heads": 4,
  "num_hidden_layers": 1,
  "num_key_value_heads": 2,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 10000.0,
    "rope_type": "default"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 64
})json";
inline constexpr char llama_sharded[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 12,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 24,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 4,
  "num_hidden_layers": 2,
  "num_key_value_heads": 2,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 10000.0,
    "rope_type": "default"
  },
  "tie_word_embeddings": true,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 64
})json";
inline constexpr char llama_tied[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 8,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 24,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 4,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 10000.0,
    "rope_type": "default"
  },
  "tie_word_embeddings": true,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 64
})json";
inline constexpr char llama_untied[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 285,
  "dtype": "float32",
  "eos_token_id": 287,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 64,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 10000.0,
    "rope_type": "default"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char qwen3_bf16[] = R"json({
  "architectures": [
    "Qwen3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 40,
  "layer_types": [
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "max_window_layers": 28,
  "model_type": "qwen3",
  "num_attention_heads": 4,
  "num_hidden_layers": 1,
  "num_key_value_heads": 2,
  "pad_token_id": null,
  "rms_norm_eps": 1e-06,
  "rope_parameters": {
    "rope_theta": 10000.0,
    "rope_type": "default"
  },
  "sliding_window": null,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 32
})json";
inline constexpr char qwen3_f16[] = R"json({
  "architectures": [
    "Qwen3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "float16",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 40,
  "layer_types": [
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "max_window_layers": 28,
  "model_type": "qwen3",
  "num_attention_heads": 4,
  "num_hidden_layers": 1,
  "num_key_value_heads": 2,
  "pad_token_id": null,
  "rms_norm_eps": 1e-06,
  "rope_parameters": {
    "rope_theta": 10000.0,
    "rope_type": "default"
  },
  "sliding_window": null,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 32
})json";
inline constexpr char qwen3_odd[] = R"json({
  "architectures": [
    "Qwen3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "head_dim": 24,
  "hidden_act": "silu",
  "hidden_size": 96,
  "initializer_range": 0.02,
  "intermediate_size": 160,
  "layer_types": [
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "max_window_layers": 28,
  "model_type": "qwen3",
  "num_attention_heads": 6,
  "num_hidden_layers": 1,
  "num_key_value_heads": 2,
  "pad_token_id": null,
  "rms_norm_eps": 1e-06,
  "rope_parameters": {
    "rope_theta": 10000.0,
    "rope_type": "default"
  },
  "sliding_window": null,
  "tie_word_embeddings": true,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 384
})json";
inline constexpr char qwen3_tied[] = R"json({
  "architectures": [
    "Qwen3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 285,
  "dtype": "float32",
  "eos_token_id": 287,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "layer_types": [
    "full_attention",
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "max_window_layers": 28,
  "model_type": "qwen3",
  "num_attention_heads": 4,
  "num_hidden_layers": 2,
  "num_key_value_heads": 2,
  "pad_token_id": null,
  "rms_norm_eps": 1e-06,
  "rope_parameters": {
    "rope_theta": 10000.0,
    "rope_type": "default"
  },
  "sliding_window": null,
  "tie_word_embeddings": true,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 288
})json";
inline constexpr char qwen3_untied[] = R"json({
  "architectures": [
    "Qwen3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 40,
  "layer_types": [
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "max_window_layers": 28,
  "model_type": "qwen3",
  "num_attention_heads": 4,
  "num_hidden_layers": 1,
  "num_key_value_heads": 2,
  "pad_token_id": null,
  "rms_norm_eps": 1e-06,
  "rope_parameters": {
    "rope_theta": 10000.0,
    "rope_type": "default"
  },
  "sliding_window": null,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 64
})json";
inline constexpr char qwen3_yarn[] = R"json({
  "architectures": [
    "Qwen3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 40,
  "layer_types": [
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "max_window_layers": 28,
  "model_type": "qwen3",
  "num_attention_heads": 4,
  "num_hidden_layers": 1,
  "num_key_value_heads": 2,
  "pad_token_id": null,
  "rms_norm_eps": 1e-06,
  "rope_parameters": {
    "factor": 4.0,
    "original_max_position_embeddings": 32,
    "rope_theta": 1000000.0,
    "rope_type": "yarn"
  },
  "sliding_window": null,
  "tie_word_embeddings": true,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 32
})json";
inline constexpr char rope_dynamic[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "max_position_embeddings": 32,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "factor": 3.0,
    "rope_theta": 10000.0,
    "rope_type": "dynamic"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 32
})json";
inline constexpr char rope_linear[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "factor": 4.0,
    "rope_theta": 10000.0,
    "rope_type": "linear"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 32
})json";
inline constexpr char rope_llama3[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 32,
    "rope_theta": 10000.0,
    "rope_type": "llama3"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 32
})json";
inline constexpr char rope_llama3_published[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_scaling": {
    "rope_type": "llama3",
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 32
  },
  "rope_theta": 10000.0,
  "tie_word_embeddings": false,
  "torch_dtype": "float32",
  "transformers_version": "4.51.0",
  "use_cache": true,
  "vocab_size": 32
})json";
inline constexpr char rope_longrope[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "factor": 4.0,
    "long_factor": [
      1.0,
      2.5,
      4.0,
      5.5,
      7.0,
      8.5,
      10.0,
      11.5
    ],
    "original_max_position_embeddings": 32,
    "rope_theta": 10000.0,
    "rope_type": "longrope",
    "short_factor": [
      1.0,
      1.05,
      1.1,
      1.15,
      1.2,
      1.25,
      1.3,
      1.35
    ]
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 32
})json";
inline constexpr char rope_longrope_short[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "max_position_embeddings": 80,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "attention_factor": 1.2,
    "long_factor": [
      1.0,
      2.5,
      4.0,
      5.5,
      7.0,
      8.5,
      10.0,
      11.5
    ],
    "original_max_position_embeddings": 80,
    "rope_theta": 10000.0,
    "rope_type": "longrope",
    "short_factor": [
      3.0,
      3.1500000000000004,
      3.3000000000000003,
      3.4499999999999997,
      3.5999999999999996,
      3.75,
      3.9000000000000004,
      4.050000000000001
    ]
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 32
})json";
inline constexpr char rope_yarn[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "factor": 4.0,
    "original_max_position_embeddings": 32,
    "rope_theta": 10000.0,
    "rope_type": "yarn"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 32
})json";
inline constexpr char rope_yarn_exact[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "attention_factor": 0.8,
    "beta_fast": 4.0,
    "beta_slow": 0.5,
    "factor": 8.0,
    "original_max_position_embeddings": 16,
    "rope_theta": 10000.0,
    "rope_type": "yarn",
    "truncate": false
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 32
})json";
inline constexpr char rope_yarn_mscale[] = R"json({
  "architectures": [
    "LlamaForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 1,
  "dtype": "float32",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 32,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "num_key_value_heads": 1,
  "pad_token_id": null,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "factor": 8.0,
    "mscale": 1.5,
    "mscale_all_dim": 0.6,
    "original_max_position_embeddings": 16,
    "rope_theta": 10000.0,
    "rope_type": "yarn"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 32
})json";
inline constexpr char deepseek_v2[] = R"json({
  "architectures": [
    "DeepseekV2ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "first_k_dense_replace": 1,
  "head_dim": 8,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "kv_lora_rank": 20,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "deepseek_v2",
  "moe_intermediate_size": 20,
  "n_group": 2,
  "n_routed_experts": 6,
  "n_shared_experts": 2,
  "norm_topk_prob": false,
  "num_attention_heads": 6,
  "num_experts_per_tok": 2,
  "num_hidden_layers": 3,
  "num_key_value_heads": 6,
  "output_router_logits": false,
  "pad_token_id": 1,
  "pretraining_tp": 1,
  "q_lora_rank": null,
  "qk_head_dim": 20,
  "qk_nope_head_dim": 12,
  "qk_rope_head_dim": 8,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "factor": 4.0,
    "mscale": 0.7,
    "mscale_all_dim": 0.7,
    "original_max_position_embeddings": 16,
    "rope_theta": 5000.0,
    "rope_type": "yarn"
  },
  "routed_scaling_factor": 1.7,
  "tie_word_embeddings": false,
  "topk_group": 1,
  "topk_method": "group_limited_greedy",
  "transformers_version": "5.23.0",
  "use_cache": true,
  "v_head_dim": 10,
  "vocab_size": 288
})json";
inline constexpr char deepseek_v3[] = R"json({
  "architectures": [
    "DeepseekV3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "first_k_dense_replace": 1,
  "head_dim": 8,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "kv_lora_rank": 20,
  "max_position_embeddings": 128,
  "model_type": "deepseek_v3",
  "moe_intermediate_size": 20,
  "n_group": 3,
  "n_routed_experts": 6,
  "n_shared_experts": 1,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts_per_tok": 2,
  "num_hidden_layers": 3,
  "num_key_value_heads": 6,
  "num_nextn_predict_layers": 0,
  "output_router_logits": false,
  "pad_token_id": 1,
  "pretraining_tp": 1,
  "q_lora_rank": 28,
  "qk_head_dim": 20,
  "qk_nope_head_dim": 12,
  "qk_rope_head_dim": 8,
  "rms_norm_eps": 1e-05,
  "rope_interleave": true,
  "rope_parameters": {
    "factor": 4.0,
    "mscale": 0.8,
    "mscale_all_dim": 0.8,
    "original_max_position_embeddings": 16,
    "rope_theta": 5000.0,
    "rope_type": "yarn"
  },
  "routed_scaling_factor": 1.7,
  "tie_word_embeddings": false,
  "topk_group": 2,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "v_head_dim": 10,
  "vocab_size": 288
})json";
inline constexpr char gemma2[] = R"json({
  "architectures": [
    "Gemma2ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "attn_logit_softcapping": 2.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "final_logit_softcapping": 3.0,
  "head_dim": 12,
  "hidden_activation": "gelu_pytorch_tanh",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_types": [
    "sliding_attention",
    "full_attention",
    "sliding_attention"
  ],
  "max_position_embeddings": 128,
  "model_type": "gemma2",
  "num_attention_heads": 6,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "query_pre_attn_scalar": 12,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "sliding_window": 7,
  "tie_word_embeddings": true,
  "transformers_version": "5.23.0",
  "use_bidirectional_attention": null,
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char gemma3_text[] = R"json({
  "_sliding_window_pattern": 6,
  "architectures": [
    "Gemma3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "attn_logit_softcapping": null,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "final_logit_softcapping": null,
  "head_dim": 12,
  "hidden_activation": "gelu_pytorch_tanh",
  "hidden_size": 32,
  "initializer_range": 0.02,
  "intermediate_size": 24,
  "layer_types": [
    "sliding_attention",
    "sliding_attention",
    "sliding_attention",
    "sliding_attention",
    "sliding_attention",
    "full_attention",
    "sliding_attention"
  ],
  "max_position_embeddings": 128,
  "model_type": "gemma3_text",
  "num_attention_heads": 4,
  "num_hidden_layers": 7,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "query_pre_attn_scalar": 12,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "full_attention": {
      "factor": 8.0,
      "rope_theta": 5000.0,
      "rope_type": "linear"
    },
    "sliding_attention": {
      "rope_theta": 10000.0,
      "rope_type": "default"
    }
  },
  "sliding_window": 7,
  "tie_word_embeddings": true,
  "transformers_version": "5.23.0",
  "use_bidirectional_attention": false,
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char gemma4_experts[] = R"json({
  "architectures": [
    "Gemma4ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "attention_k_eq_v": true,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "enable_moe_block": true,
  "eos_token_id": 2,
  "final_logit_softcapping": null,
  "head_dim": 12,
  "hidden_activation": "gelu_pytorch_tanh",
  "hidden_size": 40,
  "hidden_size_per_layer_input": 0,
  "initializer_range": 0.02,
  "intermediate_size": 24,
  "layer_types": [
    "sliding_attention",
    "full_attention",
    "sliding_attention",
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "model_type": "gemma4_text",
  "moe_intermediate_size": 20,
  "num_attention_heads": 4,
  "num_experts": 5,
  "num_hidden_layers": 4,
  "num_key_value_heads": 2,
  "num_kv_shared_layers": 0,
  "pad_token_id": 1,
  "per_layer_config": {
    "1": {
      "head_dim": 20,
      "num_key_value_heads": 1
    },
    "3": {
      "head_dim": 20,
      "num_key_value_heads": 1
    }
  },
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "full_attention": {
      "partial_rotary_factor": 0.25,
      "rope_theta": 5000.0,
      "rope_type": "proportional"
    },
    "sliding_attention": {
      "rope_theta": 10000.0,
      "rope_type": "default"
    }
  },
  "sliding_window": 7,
  "tie_word_embeddings": true,
  "top_k_experts": 2,
  "transformers_version": "5.23.0",
  "use_bidirectional_attention": null,
  "use_cache": true,
  "use_double_wide_mlp": false,
  "vocab_size": 288,
  "vocab_size_per_layer_input": 262144
})json";
inline constexpr char gemma4_text[] = R"json({
  "architectures": [
    "Gemma4ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "attention_k_eq_v": false,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "enable_moe_block": false,
  "eos_token_id": 2,
  "final_logit_softcapping": 2.0,
  "head_dim": 12,
  "hidden_activation": "gelu_pytorch_tanh",
  "hidden_size": 40,
  "hidden_size_per_layer_input": 10,
  "initializer_range": 0.02,
  "intermediate_size": 24,
  "layer_types": [
    "sliding_attention",
    "full_attention",
    "sliding_attention",
    "full_attention",
    "sliding_attention",
    "full_attention",
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "model_type": "gemma4_text",
  "moe_intermediate_size": null,
  "num_attention_heads": 4,
  "num_experts": null,
  "num_hidden_layers": 7,
  "num_key_value_heads": 2,
  "num_kv_shared_layers": 3,
  "pad_token_id": 1,
  "per_layer_config": {
    "1": {
      "head_dim": 20
    },
    "3": {
      "head_dim": 20
    },
    "5": {
      "head_dim": 20
    },
    "6": {
      "head_dim": 20
    }
  },
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "full_attention": {
      "partial_rotary_factor": 0.25,
      "rope_theta": 5000.0,
      "rope_type": "proportional"
    },
    "sliding_attention": {
      "rope_theta": 10000.0,
      "rope_type": "default"
    }
  },
  "sliding_window": 7,
  "tie_word_embeddings": true,
  "top_k_experts": null,
  "transformers_version": "5.23.0",
  "use_bidirectional_attention": null,
  "use_cache": true,
  "use_double_wide_mlp": true,
  "vocab_size": 288,
  "vocab_size_per_layer_input": 288
})json";
inline constexpr char glm4[] = R"json({
  "architectures": [
    "Glm4ForCausalLM"
  ],
  "attention_bias": true,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "head_dim": 12,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "max_position_embeddings": 128,
  "model_type": "glm4",
  "num_attention_heads": 6,
  "num_hidden_layers": 2,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "partial_rotary_factor": 0.5,
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char glm4_moe[] = R"json({
  "architectures": [
    "Glm4MoeForCausalLM"
  ],
  "attention_bias": true,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "first_k_dense_replace": 1,
  "head_dim": 12,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "max_position_embeddings": 128,
  "model_type": "glm4_moe",
  "moe_intermediate_size": 20,
  "n_group": 1,
  "n_routed_experts": 6,
  "n_shared_experts": 2,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts_per_tok": 2,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "num_nextn_predict_layers": 1,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "partial_rotary_factor": 0.5,
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "routed_scaling_factor": 1.7,
  "tie_word_embeddings": false,
  "topk_group": 1,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_qk_norm": true,
  "vocab_size": 288
})json";
inline constexpr char granite[] = R"json({
  "architectures": [
    "GraniteForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "attention_multiplier": 0.5,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "embedding_multiplier": 3.0,
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "logits_scaling": 1.5,
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "granite",
  "num_attention_heads": 6,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "residual_multiplier": 0.4,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char granitemoe[] = R"json({
  "architectures": [
    "GraniteMoeForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "attention_multiplier": 0.5,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "embedding_multiplier": 3.0,
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 24,
  "logits_scaling": 1.5,
  "max_position_embeddings": 128,
  "model_type": "granitemoe",
  "num_attention_heads": 6,
  "num_experts_per_tok": 3,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "num_local_experts": 6,
  "output_router_logits": false,
  "pad_token_id": 1,
  "residual_multiplier": 0.4,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "router_aux_loss_coef": 0.001,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char granitemoehybrid[] = R"json({
  "architectures": [
    "GraniteMoeHybridForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "attention_multiplier": 0.5,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "embedding_multiplier": 3.0,
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 24,
  "layer_types": [
    "linear_attention",
    "full_attention",
    "linear_attention"
  ],
  "logits_scaling": 1.5,
  "mamba_chunk_size": 8,
  "mamba_conv_bias": true,
  "mamba_d_conv": 4,
  "mamba_d_head": 12,
  "mamba_d_state": 20,
  "mamba_expand": 2,
  "mamba_n_groups": 2,
  "mamba_n_heads": 8,
  "mamba_proj_bias": false,
  "max_position_embeddings": 128,
  "model_type": "granitemoehybrid",
  "num_attention_heads": 6,
  "num_experts_per_tok": 3,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "num_local_experts": 6,
  "output_router_logits": false,
  "pad_token_id": 1,
  "position_embedding_type": null,
  "residual_multiplier": 0.4,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "router_aux_loss_coef": 0.001,
  "shared_intermediate_size": 40,
  "tie_word_embeddings": false,
  "time_step_limit": [
    0.0,
    {
      "__float__": "Infinity"
    }
  ],
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char granitemoehybrid_dense[] = R"json({
  "architectures": [
    "GraniteMoeHybridForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "attention_multiplier": 0.5,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "embedding_multiplier": 3.0,
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_types": [
    "full_attention",
    "linear_attention"
  ],
  "logits_scaling": 1.5,
  "mamba_chunk_size": 8,
  "mamba_conv_bias": true,
  "mamba_d_conv": 4,
  "mamba_d_head": 12,
  "mamba_d_state": 20,
  "mamba_expand": 2,
  "mamba_n_groups": 2,
  "mamba_n_heads": 8,
  "mamba_proj_bias": false,
  "max_position_embeddings": 128,
  "model_type": "granitemoehybrid",
  "num_attention_heads": 6,
  "num_experts_per_tok": 2,
  "num_hidden_layers": 2,
  "num_key_value_heads": 2,
  "num_local_experts": 0,
  "output_router_logits": false,
  "pad_token_id": 1,
  "position_embedding_type": "rope",
  "residual_multiplier": 0.4,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "router_aux_loss_coef": 0.001,
  "shared_intermediate_size": 40,
  "tie_word_embeddings": false,
  "time_step_limit": [
    0.0,
    {
      "__float__": "Infinity"
    }
  ],
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char lfm2[] = R"json({
  "architectures": [
    "Lfm2ForCausalLM"
  ],
  "block_auto_adjust_ff_dim": true,
  "block_ffn_dim_multiplier": 1.0,
  "block_multiple_of": 8,
  "bos_token_id": 0,
  "conv_L_cache": 3,
  "conv_bias": false,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "full_attn_idxs": null,
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 84,
  "layer_types": [
    "conv",
    "conv",
    "full_attention",
    "conv"
  ],
  "max_position_embeddings": 128,
  "model_type": "lfm2",
  "norm_eps": 1e-05,
  "num_attention_heads": 6,
  "num_hidden_layers": 4,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char lfm2_moe[] = R"json({
  "architectures": [
    "Lfm2MoeForCausalLM"
  ],
  "bos_token_id": 0,
  "conv_L_cache": 4,
  "conv_bias": false,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_types": [
    "conv",
    "full_attention",
    "conv",
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "model_type": "lfm2_moe",
  "moe_intermediate_size": 24,
  "norm_eps": 1e-05,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_dense_layers": 2,
  "num_experts": 6,
  "num_experts_per_tok": 3,
  "num_hidden_layers": 4,
  "num_key_value_heads": 2,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "routed_scaling_factor": 1.0,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_expert_bias": true,
  "vocab_size": 288
})json";
inline constexpr char mamba2[] = R"json({
  "architectures": [
    "Mamba2ForCausalLM"
  ],
  "bos_token_id": 0,
  "chunk_size": 8,
  "conv_kernel": 4,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "expand": 2,
  "head_dim": 12,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.1,
  "layer_norm_epsilon": 1e-05,
  "model_type": "mamba2",
  "n_groups": 2,
  "num_heads": 8,
  "num_hidden_layers": 3,
  "pad_token_id": 1,
  "rescale_prenorm_residual": false,
  "residual_in_fp32": true,
  "state_size": 20,
  "tie_word_embeddings": false,
  "time_step_floor": 0.0001,
  "time_step_limit": [
    0.0,
    {
      "__float__": "Infinity"
    }
  ],
  "time_step_max": 0.1,
  "time_step_min": 0.001,
  "time_step_rank": 3,
  "transformers_version": "5.23.0",
  "use_bias": false,
  "use_cache": true,
  "use_conv_bias": true,
  "vocab_size": 288
})json";
inline constexpr char mistral[] = R"json({
  "architectures": [
    "MistralForCausalLM"
  ],
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "head_dim": 12,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "max_position_embeddings": 128,
  "model_type": "mistral",
  "num_attention_heads": 6,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "sliding_window": 7,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char mixtral[] = R"json({
  "architectures": [
    "MixtralForCausalLM"
  ],
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "head_dim": null,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 24,
  "max_position_embeddings": 128,
  "model_type": "mixtral",
  "num_attention_heads": 6,
  "num_experts_per_tok": 2,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "num_local_experts": 5,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "router_aux_loss_coef": 0.001,
  "router_jitter_noise": 0.0,
  "sliding_window": null,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char nemotron_h[] = R"json({
  "architectures": [
    "NemotronHForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "chunk_size": 8,
  "conv_kernel": 4,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "expand": 2,
  "head_dim": 12,
  "hidden_dropout": 0.0,
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_norm_epsilon": 1e-05,
  "layers_block_type": [
    "linear_attention",
    "mlp",
    "full_attention",
    "linear_attention"
  ],
  "mamba_head_dim": 10,
  "mamba_hidden_act": "silu",
  "mamba_num_heads": 6,
  "mamba_proj_bias": false,
  "mamba_ssm_cache_dtype": "float32",
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "mlp_hidden_act": "relu2",
  "model_type": "nemotron_h",
  "moe_intermediate_size": 7688,
  "moe_latent_size": null,
  "moe_shared_expert_intermediate_size": 7688,
  "moe_shared_expert_overlap": true,
  "mtp_layers_block_type": [
    "full_attention",
    "moe"
  ],
  "n_group": 1,
  "n_groups": 3,
  "n_routed_experts": 8,
  "n_shared_experts": 1,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts_per_tok": 2,
  "num_key_value_heads": 2,
  "num_logits_to_keep": 1,
  "num_nextn_predict_layers": 0,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rescale_prenorm_residual": true,
  "residual_in_fp32": false,
  "routed_scaling_factor": 1.0,
  "sliding_window": null,
  "ssm_state_size": 20,
  "tie_word_embeddings": false,
  "time_step_floor": 0.0001,
  "time_step_limit": [
    0.0,
    {
      "__float__": "Infinity"
    }
  ],
  "time_step_max": 0.1,
  "time_step_min": 1e-30,
  "topk_group": 1,
  "transformers_version": "5.23.0",
  "use_bias": false,
  "use_cache": true,
  "use_conv_bias": true,
  "use_mamba_kernels": true,
  "vocab_size": 288
})json";
inline constexpr char nemotron_h_biased[] = R"json({
  "architectures": [
    "NemotronHForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "chunk_size": 8,
  "conv_kernel": 4,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "expand": 2,
  "head_dim": 12,
  "hidden_dropout": 0.0,
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_norm_epsilon": 1e-05,
  "layers_block_type": [
    "mlp",
    "moe",
    "linear_attention",
    "full_attention"
  ],
  "mamba_head_dim": 10,
  "mamba_hidden_act": "silu",
  "mamba_num_heads": 6,
  "mamba_proj_bias": false,
  "mamba_ssm_cache_dtype": "float32",
  "max_position_embeddings": 128,
  "mlp_bias": true,
  "mlp_hidden_act": "relu2",
  "model_type": "nemotron_h",
  "moe_intermediate_size": 20,
  "moe_latent_size": 12,
  "moe_shared_expert_intermediate_size": 28,
  "moe_shared_expert_overlap": true,
  "mtp_layers_block_type": [
    "full_attention",
    "moe"
  ],
  "n_group": 1,
  "n_groups": 3,
  "n_routed_experts": 6,
  "n_shared_experts": 1,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts_per_tok": 3,
  "num_key_value_heads": 2,
  "num_logits_to_keep": 1,
  "num_nextn_predict_layers": 0,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rescale_prenorm_residual": true,
  "residual_in_fp32": false,
  "routed_scaling_factor": 1.7,
  "sliding_window": null,
  "ssm_state_size": 20,
  "tie_word_embeddings": false,
  "time_step_floor": 0.0001,
  "time_step_limit": [
    0.0,
    {
      "__float__": "Infinity"
    }
  ],
  "time_step_max": 0.1,
  "time_step_min": 1e-30,
  "topk_group": 1,
  "transformers_version": "5.23.0",
  "use_bias": false,
  "use_cache": true,
  "use_conv_bias": true,
  "use_mamba_kernels": true,
  "vocab_size": 288
})json";
inline constexpr char nemotron_h_experts[] = R"json({
  "architectures": [
    "NemotronHForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "chunk_size": 8,
  "conv_kernel": 4,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "expand": 2,
  "head_dim": 12,
  "hidden_dropout": 0.0,
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_norm_epsilon": 1e-05,
  "layers_block_type": [
    "moe",
    "linear_attention",
    "full_attention",
    "moe"
  ],
  "mamba_head_dim": 10,
  "mamba_hidden_act": "silu",
  "mamba_num_heads": 6,
  "mamba_proj_bias": false,
  "mamba_ssm_cache_dtype": "float32",
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "mlp_hidden_act": "relu2",
  "model_type": "nemotron_h",
  "moe_intermediate_size": 20,
  "moe_latent_size": null,
  "moe_shared_expert_intermediate_size": 28,
  "moe_shared_expert_overlap": true,
  "mtp_layers_block_type": [
    "full_attention",
    "moe"
  ],
  "n_group": 1,
  "n_groups": 3,
  "n_routed_experts": 6,
  "n_shared_experts": 1,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts_per_tok": 3,
  "num_key_value_heads": 2,
  "num_logits_to_keep": 1,
  "num_nextn_predict_layers": 0,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rescale_prenorm_residual": true,
  "residual_in_fp32": false,
  "routed_scaling_factor": 1.7,
  "sliding_window": null,
  "ssm_state_size": 20,
  "tie_word_embeddings": false,
  "time_step_floor": 0.0001,
  "time_step_limit": [
    0.0,
    {
      "__float__": "Infinity"
    }
  ],
  "time_step_max": 0.1,
  "time_step_min": 1e-30,
  "topk_group": 1,
  "transformers_version": "5.23.0",
  "use_bias": false,
  "use_cache": true,
  "use_conv_bias": true,
  "use_mamba_kernels": true,
  "vocab_size": 288
})json";
inline constexpr char nemotron_h_latent[] = R"json({
  "architectures": [
    "NemotronHForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "chunk_size": 8,
  "conv_kernel": 4,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "expand": 2,
  "head_dim": 12,
  "hidden_dropout": 0.0,
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_norm_epsilon": 1e-05,
  "layers_block_type": [
    "moe",
    "linear_attention",
    "full_attention",
    "moe"
  ],
  "mamba_head_dim": 10,
  "mamba_hidden_act": "silu",
  "mamba_num_heads": 6,
  "mamba_proj_bias": false,
  "mamba_ssm_cache_dtype": "float32",
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "mlp_hidden_act": "relu2",
  "model_type": "nemotron_h",
  "moe_intermediate_size": 20,
  "moe_latent_size": 44,
  "moe_shared_expert_intermediate_size": 28,
  "moe_shared_expert_overlap": true,
  "mtp_layers_block_type": [
    "full_attention",
    "moe"
  ],
  "n_group": 1,
  "n_groups": 3,
  "n_routed_experts": 6,
  "n_shared_experts": 1,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts_per_tok": 3,
  "num_key_value_heads": 2,
  "num_logits_to_keep": 1,
  "num_nextn_predict_layers": 0,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rescale_prenorm_residual": true,
  "residual_in_fp32": false,
  "routed_scaling_factor": 1.7,
  "sliding_window": null,
  "ssm_state_size": 20,
  "tie_word_embeddings": false,
  "time_step_floor": 0.0001,
  "time_step_limit": [
    0.0,
    {
      "__float__": "Infinity"
    }
  ],
  "time_step_max": 0.1,
  "time_step_min": 1e-30,
  "topk_group": 1,
  "transformers_version": "5.23.0",
  "use_bias": false,
  "use_cache": true,
  "use_conv_bias": true,
  "use_mamba_kernels": true,
  "vocab_size": 288
})json";
inline constexpr char olmo2[] = R"json({
  "architectures": [
    "Olmo2ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "max_position_embeddings": 128,
  "model_type": "olmo2",
  "num_attention_heads": 6,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char olmoe[] = R"json({
  "architectures": [
    "OlmoeForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "clip_qkv": null,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 24,
  "max_position_embeddings": 128,
  "model_type": "olmoe",
  "norm_topk_prob": false,
  "num_attention_heads": 6,
  "num_experts": 6,
  "num_experts_per_tok": 3,
  "num_hidden_layers": 3,
  "num_key_value_heads": 6,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "router_aux_loss_coef": 0.01,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char phi3[] = R"json({
  "architectures": [
    "Phi3ForCausalLM"
  ],
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "embd_pdrop": 0.0,
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "max_position_embeddings": 128,
  "model_type": "phi3",
  "num_attention_heads": 6,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "original_max_position_embeddings": 16,
  "pad_token_id": 1,
  "resid_pdrop": 0.0,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "long_factor": [
      1.0,
      2.5,
      4.0
    ],
    "original_max_position_embeddings": 16,
    "partial_rotary_factor": 0.75,
    "rope_theta": 5000.0,
    "rope_type": "longrope",
    "short_factor": [
      1.0,
      1.1,
      1.2
    ]
  },
  "sliding_window": 11,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char qwen2[] = R"json({
  "architectures": [
    "Qwen2ForCausalLM"
  ],
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_types": [
    "full_attention",
    "full_attention",
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "max_window_layers": 28,
  "model_type": "qwen2",
  "num_attention_heads": 6,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "sliding_window": null,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 288
})json";
inline constexpr char qwen2_moe[] = R"json({
  "architectures": [
    "Qwen2MoeForCausalLM"
  ],
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "decoder_sparse_step": 1,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_types": [
    "full_attention",
    "full_attention",
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "max_window_layers": 28,
  "mlp_only_layers": [],
  "model_type": "qwen2_moe",
  "moe_intermediate_size": 40,
  "norm_topk_prob": false,
  "num_attention_heads": 6,
  "num_experts": 6,
  "num_experts_per_tok": 3,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "output_router_logits": false,
  "pad_token_id": 1,
  "qkv_bias": true,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "router_aux_loss_coef": 0.001,
  "shared_expert_intermediate_size": 24,
  "sliding_window": 0,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 288
})json";
inline constexpr char qwen3_5_moe_text[] = R"json({
  "architectures": [
    "Qwen3_5MoeForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_types": [
    "linear_attention",
    "full_attention",
    "linear_attention"
  ],
  "linear_conv_kernel_dim": 4,
  "linear_key_head_dim": 20,
  "linear_num_key_heads": 2,
  "linear_num_value_heads": 6,
  "linear_value_head_dim": 20,
  "max_position_embeddings": 128,
  "model_type": "qwen3_5_moe_text",
  "moe_intermediate_size": 24,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts": 6,
  "num_experts_per_tok": 3,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "mrope_interleaved": true,
    "mrope_section": [
      1,
      1,
      0
    ],
    "partial_rotary_factor": 0.25,
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "router_aux_loss_coef": 0.001,
  "shared_expert_intermediate_size": 40,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char qwen3_5_text[] = R"json({
  "architectures": [
    "Qwen3_5ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "head_dim": 16,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_types": [
    "linear_attention",
    "linear_attention",
    "linear_attention",
    "full_attention"
  ],
  "linear_conv_kernel_dim": 4,
  "linear_key_head_dim": 20,
  "linear_num_key_heads": 2,
  "linear_num_value_heads": 6,
  "linear_value_head_dim": 20,
  "max_position_embeddings": 128,
  "model_type": "qwen3_5_text",
  "num_attention_heads": 6,
  "num_hidden_layers": 4,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "mrope_interleaved": true,
    "mrope_section": [
      1,
      1,
      0
    ],
    "partial_rotary_factor": 0.25,
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char qwen3_moe[] = R"json({
  "architectures": [
    "Qwen3MoeForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "decoder_sparse_step": 1,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "head_dim": 12,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "max_position_embeddings": 128,
  "mlp_only_layers": [],
  "model_type": "qwen3_moe",
  "moe_intermediate_size": 40,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts_per_tok": 3,
  "num_hidden_layers": 3,
  "num_key_value_heads": 2,
  "num_local_experts": 7,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "router_aux_loss_coef": 0.001,
  "sliding_window": null,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 288
})json";
inline constexpr char qwen3_next[] = R"json({
  "architectures": [
    "Qwen3NextForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "decoder_sparse_step": 1,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "head_dim": 24,
  "hidden_act": "silu",
  "hidden_size": 48,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_types": [
    "linear_attention",
    "full_attention"
  ],
  "linear_conv_kernel_dim": 4,
  "linear_key_head_dim": 20,
  "linear_num_key_heads": 2,
  "linear_num_value_heads": 6,
  "linear_value_head_dim": 20,
  "max_position_embeddings": 128,
  "mlp_only_layers": [],
  "model_type": "qwen3_next",
  "moe_intermediate_size": 24,
  "norm_topk_prob": true,
  "num_attention_heads": 6,
  "num_experts": 6,
  "num_experts_per_tok": 3,
  "num_hidden_layers": 2,
  "num_key_value_heads": 2,
  "output_router_logits": false,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "partial_rotary_factor": 0.25,
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "router_aux_loss_coef": 0.001,
  "shared_expert_intermediate_size": 40,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "vocab_size": 288
})json";
inline constexpr char smollm3[] = R"json({
  "architectures": [
    "SmolLM3ForCausalLM"
  ],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 0,
  "dtype": "bfloat16",
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 40,
  "initializer_range": 0.02,
  "intermediate_size": 56,
  "layer_types": [
    "full_attention",
    "full_attention",
    "full_attention",
    "full_attention",
    "full_attention"
  ],
  "max_position_embeddings": 128,
  "mlp_bias": false,
  "model_type": "smollm3",
  "no_rope_layer_interval": 4,
  "no_rope_layers": [
    1,
    1,
    1,
    0,
    1
  ],
  "num_attention_heads": 4,
  "num_hidden_layers": 5,
  "num_key_value_heads": 2,
  "pad_token_id": 1,
  "rms_norm_eps": 1e-05,
  "rope_parameters": {
    "rope_theta": 5000.0,
    "rope_type": "default"
  },
  "sliding_window": null,
  "tie_word_embeddings": false,
  "transformers_version": "5.23.0",
  "use_cache": true,
  "use_sliding_window": false,
  "vocab_size": 288
})json";

}  // namespace configs
