// SPDX-License-Identifier: MIT
// family.hpp: a family is a config aggregate, a type list over it, key names and tensor names.
#pragma once

#include "../core/error.hpp"
#include "../core/role.hpp"
#include "../layers.hpp"

namespace cke {

// A family specialises this for its config: `config` (an aggregate), `keys` (one row per field, in
// field order), `names` (tensor names) and `type<config>` (the list).
template <fixed_string ModelType> struct family {
  static_assert(sizeof(ModelType) == 0,
                "cke: family: no model family for this model_type; specialise cke::family");
};

// Where a field stands in config.json ("a.b|c": member b of a, or else c) and in GGUF metadata
// (without the architecture's prefix), whether it may be absent, and its sane range.
struct config_key {
  std::string_view hf, gguf;
  bool optional;
  double least, most;
};

// The keys that families share; a family lists its own in the order of its config's fields.
namespace key {
inline constexpr config_key vocab{"vocab_size", "vocab_size", false, 1, 1 << 24},
    dim{"hidden_size", "embedding_length", false, 1, 1 << 20},
    hidden{"intermediate_size", "feed_forward_length", false, 1, 1 << 22},
    layers{"num_hidden_layers", "block_count", false, 1, 1024},
    heads{"num_attention_heads", "attention.head_count", false, 1, 4096},
    kv_heads{"num_key_value_heads", "attention.head_count_kv", true, 1, 4096},
    head_dim{"head_dim", "attention.key_length", true, 2, 1024},
    eps{"rms_norm_eps", "attention.layer_norm_rms_epsilon", true, 1e-12, 1e-1},
    tied{"tie_word_embeddings", "tied", true, 0, 1},
    attention_bias{"attention_bias", "attention_bias", true, 0, 1},
    mlp_bias{"mlp_bias", "mlp_bias", true, 0, 1},
    rope{"rope", "rope", true, 0, 0};
}  // namespace key

// A feature that the family does not have: when the key is present it must be this literal.
struct requirement { std::string_view hf, literal; };

}  // namespace cke
