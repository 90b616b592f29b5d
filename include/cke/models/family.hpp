// SPDX-License-Identifier: MIT
// family.hpp: a family: a config aggregate, a type list over it, and how files spell both.
#pragma once

#include "../core/error.hpp"
#include "card.hpp"
#include "keys.hpp"

namespace cke {

// How files spell a model: files/NAME.hpp specialises cke::family for it; usual_family has the common parts.
//   config, type<config>, presets   from the card
//   name                            model_type in config.json; gguf_name: general.architecture, if it differs; and
//                                   is_gguf(architecture, metadata), if families share one
//   keys                            one for each member of the config, in any order
//   defaults, gguf_defaults         of keys that a file leaves out
//   must_be                         keys that have no member
//   finish(config)                  sets members that follow from others
//   relations                       conditions between members
//   names, names_of(config)         of tensors
//   matrices(config, layer)         the matrices of a layer that read the stream, to check before compiling
//   refuses(json, naming, config)   checks that keys and relations cannot express
//   to_gguf(config, json, put)      metadata without a key: put(key, value) takes a number, a bool, a set of
//                                   layers, a list of numbers, or f(layer) for a list with one for each layer

// The family's architecture in GGUF: `gguf_name` if it is not the model_type.
template <class Family> constexpr std::string_view name_in(naming as) {
  if constexpr (requires { Family::gguf_name; })
    if (as == naming::gguf) return Family::gguf_name;
  return Family::name;
}

// The architecture that a GGUF file of the family is written with, if it is another family's: `gguf_architecture`.
template <class Family> constexpr std::string_view architecture_of() {
  if constexpr (requires { Family::gguf_architecture; }) return Family::gguf_architecture;
  else return name_in<Family>(naming::gguf);
}

// Whether a file belongs to the family, by its model_type or architecture.
template <class Family> constexpr bool is_of(std::string_view model_type, json config, naming as) {
  if constexpr (requires { Family::is_gguf(model_type, config); })
    if (as == naming::gguf) return Family::is_gguf(model_type, config);
  return !model_type.empty() && model_type == name_in<Family>(as);
}

// A matrix of a layer, and its number of rows by the config; it reads the stream, or rows of `cols` numbers.
struct layer_matrix {
  role is{};
  u64 rows{}, cols{};
};
struct layer_matrices : small_vector<layer_matrix, 12> {
  constexpr layer_matrices& add(role is, u64 rows, u64 cols = 0) {
    if (rows) push({is, rows, cols});
    return *this;
  }
  constexpr layer_matrices& attention(u64 heads, u64 kv_heads, u64 head_dim) {
    return add(role::q, heads * head_dim).add(role::k, kv_heads * head_dim).add(role::v, kv_heads * head_dim);
  }
  constexpr layer_matrices& attention(const auto& c) { return attention(c.heads, c.kv_heads, c.head_dim); }
  constexpr layer_matrices& mlp(u64 hidden) { return add(role::gate, hidden).add(role::up, hidden); }
  constexpr layer_matrices& experts(u64 many, u64 hidden) {
    return add(role::router, many).add(role::gate_experts, hidden).add(role::up_experts, hidden);
  }
  constexpr layer_matrices& shared_expert(u64 hidden) {
    return add(role::gate_shared, hidden).add(role::up_shared, hidden);
  }
};

// The facts of a model, besides its keys, that a GGUF writer needs; 0: the model has none.
struct model_shape {
  u32 heads = 1, kv_heads = 0, experts = 0;
  u32 key_heads = 0, value_heads = 0;  // of gated delta nets
  bool tiled_in_gguf = false;          // GGUF has their value heads in another order
  u32 ssm_groups = 0;                  // of state spaces
  u32 nope = 0, value = 0;             // of latent attention
  const layer_set* attends = nullptr;  // null: every layer does
};

// The defaults of families of attention and gated mlps.
template <class C> struct usual_family {
  using config = C;
  using key = shared_keys<C>;
  static constexpr std::array<relation<C>, 2> relations{multiple_of<&C::heads, &C::kv_heads>, even<&C::head_dim>};
  static constexpr C finish(C c) {
    c.kv_heads = c.kv_heads ? c.kv_heads : c.heads;
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    return c;
  }
  static constexpr layer_matrices matrices(const C& c, u32) { return layer_matrices{}.attention(c).mlp(c.hidden); }
  static constexpr model_shape shape(const C& c) { return {.heads = c.heads, .kv_heads = c.kv_heads}; }
  static constexpr auto names = common_names;
};

// ... and of those in which every mlp is a mixture of experts.
template <class C> struct experts_family : usual_family<C> {
  static constexpr std::array<relation<C>, 3> relations{multiple_of<&C::heads, &C::kv_heads>, even<&C::head_dim>,
                                                        at_most<&C::active, &C::experts>};
  static constexpr layer_matrices matrices(const C& c, u32) {
    return layer_matrices{}.attention(c).experts(c.experts, c.expert_hidden);
  }
  static constexpr model_shape shape(const C& c) {
    return {.heads = c.heads, .kv_heads = c.kv_heads, .experts = c.experts};
  }
  static constexpr auto names = expert_names;
};

// Groups of experts are of equal size, two experts or more; the kept groups have enough experts for a token.
template <class C> inline constexpr std::array<relation<C>, 3> expert_groups{
    relation<C>{member_name<&C::groups>(),
                [](const C& c) { return c.experts % c.groups == 0 && (c.groups == 1 || c.experts / c.groups >= 2); },
                "groups of equal size, two experts or more"},
    relation<C>{member_name<&C::groups_kept>(),
                [](const C& c) { return c.experts / c.groups * c.groups_kept >= c.active; }, "enough groups for",
                member_name<&C::active>()},
    at_most<&C::groups_kept, &C::groups>};

template <class C, std::size_t A, std::size_t B>
constexpr auto operator+(const std::array<relation<C>, A>& a, const std::array<relation<C>, B>& b) {
  std::array<relation<C>, A + B> all{};
  for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

}  // namespace cke
