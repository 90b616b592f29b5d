// SPDX-License-Identifier: MIT
// lfm2_vl.hpp: how files spell LFM2-VL's tower.
#pragma once

#include "../lfm2_vl.hpp"
#include "siglip.hpp"

namespace cke {

template <> struct family<"lfm2_vl_vision"> : tower_family<lfm2_vl_vision_config> {
  template <config C> using type = lfm2_vl_vision<C>;
  using presets = list<LFM2_VL_450M_Vision>;
  static constexpr std::string_view name = "lfm2_vl_vision", type_name = "cke::lfm2_vl_vision";
  static constexpr config_key<config> keys[] = {
      key::dim,
      key::hidden,
      key::layers,
      key::heads,
      key::patch,
      key::channels,
      key::eps,
      bind<&config::positions>("num_patches", "num_patches").range(1, 1 << 20),
      bind<&config::merge>("downsample_factor", "clip.vision.projector.scale_factor").range(1, 64),
      bind<&config::projected>("projector_hidden_size", "projector_hidden_size").range(1, 1 << 20),
      key::out,
      bind<&config::bias>("projector_bias", "projector_bias"),
      bind<&config::normed>("projector_use_layernorm", "projector_use_layernorm")};
  static constexpr requirement must_be[] = {{"hidden_act", "gelu_pytorch_tanh"}, {"projector_hidden_act", "gelu"}};
  static constexpr config defaults{}, gguf_defaults = said_in_gguf(defaults);
  static constexpr std::array<relation<config>, 2> relations{
      multiple_of<&config::dim, &config::heads>,
      relation<config>{member_name<&config::positions>(),
                       [](const config& c) { return whole_root(c.positions) * whole_root(c.positions) == c.positions; },
                       "a square number"}};
  static constexpr u64 patch_numbers(const config& c) { return u64{c.channels} * c.patch * c.patch; }
  static constexpr auto names = siglip_names +
      std::array{footer_name(role::norm, 1, "multi_modal_projector.layer_norm", "mm.input_norm"),
                 footer_name(role::projector_up, "multi_modal_projector.linear_1", "mm.1"),
                 footer_name(role::projector_down, "multi_modal_projector.linear_2", "mm.2")};
  static constexpr std::string_view unread[] = {"head."};  // the pooling head
};

}  // namespace cke
