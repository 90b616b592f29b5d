// SPDX-License-Identifier: MIT
// family.hpp: a family is a config aggregate, a type list over it, key names and tensor names.
#pragma once

#include <initializer_list>

#include "../core/error.hpp"
#include "../core/json.hpp"
#include "../core/role.hpp"
#include "../layers.hpp"

namespace cke {

// A family specialises this for its config: `config` (an aggregate), `keys` (one row per field, in
// field order), `defaults` (of absent keys; `gguf_defaults` where GGUF's differ), `finish` (what follows
// from other fields), `must_be`, `names` (tensor names; `names_of(config)`, where they depend on it) and `type<config>` (the
// list); `refuses`, where rows cannot say what is wrong, and `matrices`, where a layer's are not the usual ones.
template <fixed_string ModelType> struct family {
  static_assert(sizeof(ModelType) == 0,
                "cke: family: no model family for this model_type; specialise cke::family");
};

// What GGUF calls a family's architecture: `gguf_name` where it is not the model_type.
template <class Family> constexpr std::string_view name_in(naming as) {
  if constexpr (requires { Family::gguf_name; })
    if (as == naming::gguf) return Family::gguf_name;
  return Family::name;
}

// What a GGUF file of the family says that it is, where families share an architecture: `gguf_architecture`.
template <class Family> constexpr std::string_view architecture_of() {
  if constexpr (requires { Family::gguf_architecture; }) return Family::gguf_architecture;
  else return name_in<Family>(naming::gguf);
}

// What GGUF metadata say otherwise than the rows of `keys`, or beside them: `to_gguf(config, config.json, put)`, which calls
// put(key, value) with a number, a truth, a set of layers, a list of numbers, or f(layer) for a list with one of each.

// A field of a config: its C++ name, where it stands in config.json ("a.b|c": member b of a, or else c) and
// in GGUF metadata (without the architecture's prefix), whether it may be absent, and its sane range.
struct config_key {
  std::string_view field, hf, gguf;
  bool optional;
  double least, most;
  double null = -1;  // what null says where it is not the same as absent; -1: it is
  // Of a set of layers: what other layers and those in it are called, and the key that may list their numbers instead.
  std::string_view kinds = "full_attention or sliding_attention", numbers{};
  std::string_view absent{};  // a word in its place that says no more than nothing: it follows from others

  constexpr config_key or_default() const {
    config_key k = *this;
    k.optional = true;
    return k;
  }
};

// Some of a model's layers, as a template argument: what arrange<> picks the second of two kinds for.
struct layer_set {
  static constexpr u32 most = 1024;
  std::array<u32, most / 32> bits{};
  constexpr bool has(u32 layer) const { return bits[layer / 32] >> layer % 32 & 1; }
  constexpr void add(u32 layer) { bits[layer / 32] |= 1u << layer % 32; }
  constexpr bool operator==(const layer_set&) const = default;

  static constexpr layer_set of(std::initializer_list<u32> layers) {
    layer_set s;
    for (const u32 layer : layers) s.add(layer);
    return s;
  }
  // Every layer but number n, 2n, ... (counted from 1).
  static constexpr layer_set all_but_every(u32 n) {
    layer_set s;
    for (u32 i = 0; i < most; ++i)
      if ((i + 1) % n) s.add(i);
    return s;
  }
  static constexpr layer_set up_to(u32 n) {
    layer_set s;
    for (u32 i = 0; i < n && i < most; ++i) s.add(i);
    return s;
  }
  // Those of the first n layers.
  constexpr layer_set first(u32 n) const {
    layer_set s;
    for (u32 i = 0; i < n; ++i)
      if (has(i)) s.add(i);
    return s;
  }
};

// The keys that families share; a family lists its own in the order of its config's fields.
namespace key {
inline constexpr config_key vocab{"vocab", "vocab_size", "vocab_size", false, 1, 1 << 24},
    dim{"dim", "hidden_size", "embedding_length", false, 1, 1 << 20},
    hidden{"hidden", "intermediate_size", "feed_forward_length", false, 1, 1 << 22},
    layers{"layers", "num_hidden_layers", "block_count", false, 1, layer_set::most},
    heads{"heads", "num_attention_heads", "attention.head_count", false, 1, 4096},
    kv_heads{"kv_heads", "num_key_value_heads", "attention.head_count_kv", true, 1, 4096},
    head_dim{"head_dim", "head_dim", "attention.key_length", true, 2, 1024},
    eps{"eps", "rms_norm_eps", "attention.layer_norm_rms_epsilon", true, 1e-12, 1e-1},
    tied{"tied", "tie_word_embeddings", "tied", true, 0, 1},
    attention_bias{"attention_bias", "attention_bias", "attention_bias", true, 0, 1},
    mlp_bias{"mlp_bias", "mlp_bias", "mlp_bias", true, 0, 1},
    expert_hidden{"expert_hidden", "moe_intermediate_size", "expert_feed_forward_length", false, 1, 1 << 22},
    experts{"experts", "num_experts|num_local_experts|n_routed_experts", "expert_count", false, 1, 4096},
    active{"active", "num_experts_per_tok", "expert_used_count", false, 1, 4096},
    groups{"groups", "n_group", "expert_group_count", true, 1, 4096},
    groups_kept{"groups_kept", "topk_group", "expert_group_used_count", true, 1, 4096},
    weights_scale{"weights_scale", "routed_scaling_factor", "expert_weights_scale", true, 1e-6, 1e6},
    dense_layers{"dense_layers", "first_k_dense_replace", "leading_dense_block_count", true, 0, layer_set::most},
    renormalise{"renormalise", "norm_topk_prob", "expert_weights_norm", true, 0, 1},
    window{"window", "sliding_window", "attention.sliding_window", true, 1, 1 << 28, everything},
    sliding{"sliding", "layer_types|sliding_window_pattern", "attention.sliding_window_pattern", true, 1, layer_set::most},
    // A rope's row names its part of rope_parameters and its base in GGUF; the range is that of partial_rotary_factor.
    rope{"rope", "", "rope.freq_base", true, 1, 1},
    partial_rope{"rope", "", "rope.freq_base", true, 1e-3, 1},
    global_rope{"rope", "full_attention", "rope.freq_base", true, 1, 1},
    local_rope{"local_rope", "sliding_attention", "rope.freq_base_swa", true, 1, 1};
}  // namespace key

enum class trouble : u8 { none, missing, not_a_number, not_a_bool, out_of_range, unknown_word, unsupported };

// The first thing that is wrong with a config, as data: a static_assert or an Error is made of it.
struct config_problem {
  trouble what{};
  std::string_view key{}, found{};
  double least{}, most{};
  std::string_view wanted{};
};

// A matrix of a layer that reads the stream, or cols numbers, and how many rows the config gives it.
struct layer_matrix {
  role is{};
  u64 rows{}, cols{};
};

// A feature that the family does not have: when the key is present it must be this literal.
struct requirement { std::string_view hf, literal; };

template <u32 Layers> constexpr std::array<u8, Layers> order_of(layer_set second) {
  std::array<u8, Layers> order{};
  for (u32 i = 0; i < Layers; ++i) order[i] = second.has(i);
  return order;
}

}  // namespace cke
