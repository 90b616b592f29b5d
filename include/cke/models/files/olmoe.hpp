// SPDX-License-Identifier: MIT
// olmoe.hpp: how files spell OLMoE.
#pragma once

#include "../family.hpp"
#include "../olmoe.hpp"

namespace cke {

template <> struct family<"olmoe"> : experts_family<olmoe_config> {
  template <config C> using type = olmoe<C>;
  using presets = list<OLMoE_1B_7B>;
  static constexpr std::string_view name = "olmoe", type_name = "cke::olmoe";
  static constexpr config_key<config> keys[] = {
      key::vocab,
      key::dim,
      bind<&config::expert_hidden>("intermediate_size", "feed_forward_length").range(1, 1 << 22),
      key::layers,
      key::heads,
      key::kv_heads,
      key::head_dim,
      key::experts,
      key::active,
      key::renormalise,
      key::eps,
      key::tied,
      key::attention_bias,
      key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}, {"clip_qkv", "null"}};
  static constexpr config defaults{
      .vocab = 0, .dim = 0, .expert_hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .experts = 64, .active = 8};
};

}  // namespace cke
