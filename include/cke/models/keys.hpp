// SPDX-License-Identifier: MIT
// keys.hpp: the keys that families share, for any config with a member of that name.
#pragma once

#include "config_key.hpp"

namespace cke {

template <class C> struct shared_keys {
  using key = config_key<C>;
  static constexpr key vocab = bind<&C::vocab>("vocab_size", "vocab_size").range(1, 1 << 24);
  static constexpr key dim = bind<&C::dim>("hidden_size", "embedding_length").range(1, 1 << 20);
  static constexpr key hidden = bind<&C::hidden>("intermediate_size", "feed_forward_length").range(1, 1 << 22);
  static constexpr key layers = bind<&C::layers>("num_hidden_layers", "block_count").range(1, layer_set::most);
  static constexpr key heads = bind<&C::heads>("num_attention_heads", "attention.head_count").range(1, 4096);
  static constexpr key kv_heads =
      bind<&C::kv_heads>("num_key_value_heads", same_of("attention.head_count_kv")).range(1, 4096).optional();
  static constexpr key head_dim = bind<&C::head_dim>("head_dim", "attention.key_length").range(2, 1024).optional();
  static constexpr key eps = bind<&C::eps>("rms_norm_eps", "attention.layer_norm_rms_epsilon").range(1e-12, 1e-1);
  static constexpr key tied = bind<&C::tied>("tie_word_embeddings", "tied").shown();
  static constexpr key attention_bias = bind<&C::attention_bias>("attention_bias", "attention_bias").shown();
  static constexpr key mlp_bias = bind<&C::mlp_bias>("mlp_bias", "mlp_bias").shown();

  static constexpr key expert_hidden =
      bind<&C::expert_hidden>("moe_intermediate_size", "expert_feed_forward_length").range(1, 1 << 22);
  static constexpr key experts =
      bind<&C::experts>(either("num_experts", "num_local_experts", "n_routed_experts"), "expert_count").range(1, 4096);
  // ... where a part of them is shared, and so not routed to
  static constexpr key routed_experts =
      bind<&C::experts>(either("n_routed_experts", "num_local_experts", "num_experts"), "expert_count").range(1, 4096);
  static constexpr key active = bind<&C::active>("num_experts_per_tok", "expert_used_count").range(1, 4096);
  static constexpr key shared = bind<&C::shared>("n_shared_experts", "expert_shared_count").range(1, 4096);
  static constexpr key shared_hidden =
      bind<&C::shared_hidden>("shared_expert_intermediate_size", "expert_shared_feed_forward_length").range(1, 1 << 22);
  static constexpr key groups = bind<&C::groups>("n_group", "expert_group_count").range(1, 4096);
  static constexpr key groups_kept = bind<&C::groups_kept>("topk_group", "expert_group_used_count").range(1, 4096);
  static constexpr key weights_scale =
      bind<&C::weights_scale>("routed_scaling_factor", "expert_weights_scale").range(1e-6, 1e6);
  static constexpr key dense_layers =
      bind<&C::dense_layers>("first_k_dense_replace", "leading_dense_block_count").range(0, layer_set::most);
  static constexpr key renormalise = bind<&C::renormalise>("norm_topk_prob", "expert_weights_norm");

  static constexpr key window = bind<&C::window>("sliding_window", "attention.sliding_window")
                                    .range(1, 1 << 28)
                                    .optional()
                                    .null_means(everything)
                                    .or_zero_in_gguf();  // llama.cpp's converter writes that for Phi-4
  static constexpr key sliding =
      bind<&C::sliding>(either("layer_types", "sliding_window_pattern"), "attention.sliding_window_pattern");
  static constexpr key logit_cap = bind<&C::logit_cap>("final_logit_softcapping", "final_logit_softcapping")
                                       .range(1e-3, 1e6)
                                       .optional()
                                       .null_means(0);

  // Whether prompts may contain images: a file with a tower says so, and a program's type need not follow.
  static constexpr key images = bind<&C::images>("sees_images", "sees_images").shown().chosen();

  static constexpr key rope = bind_rope<&C::rope, &C::head_dim>("rope.freq_base");
  static constexpr key local_rope = bind_rope<&C::local_rope, &C::head_dim>("rope.freq_base_swa").of_sliding_layers();
  // The rope rotates nothing, but holds the length that the model was trained for.
  static constexpr key no_rope = bind_rope<&C::rope, &C::head_dim>();
};

}  // namespace cke
