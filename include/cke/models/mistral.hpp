// SPDX-License-Identifier: MIT
// mistral.hpp: Mistral: llama with a window on every layer. As GGUF it is a llama, whose window is not used.
#pragma once

#include "family.hpp"

namespace cke {

struct mistral_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads;
  u32 head_dim{};  // 0: dim / heads
  u32 window = everything;
  real eps = 1e-5;
  bool tied{};
  rotary rope{.theta = 1e6};
};

constexpr attention_options mistral_attend(const mistral_config& c) {
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rotary rope = c.rope;
  rope.dims = head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope, .window = c.window};
}

template <mistral_config C> struct mistral : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<
        residual<rms_norm<C.dim, C.eps>, attention<mistral_attend(C)>>,
        residual<rms_norm<C.dim, C.eps>, gated_mlp<C.dim, C.hidden, activation::silu>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"mistral">;
  static constexpr mistral_config config = C;
};

template <> struct family<"mistral"> {
  using config = mistral_config;
  template <config C> using type = mistral<C>;
  static constexpr std::string_view name = "mistral", gguf_name = "", gguf_architecture = "llama", header = "cke/models/mistral.hpp", type_name = "cke::mistral";
  static constexpr config_key keys[] = {
      key::vocab, key::dim, key::hidden, key::layers, key::heads, key::kv_heads, key::head_dim, key::window, key::eps, key::tied, key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{.vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 8,
                                   .window = 4096, .eps = 1e-6, .rope = {.theta = 1e4}};
  static constexpr config finish(config c) {
    c.head_dim = c.head_dim || c.heads == 0 ? c.head_dim : c.dim / c.heads;
    return c;
  }
  static constexpr auto names = paired_names;
};

struct Mistral_7B_v0_1 : mistral<mistral_config{.vocab = 32000, .dim = 4096, .hidden = 14336, .layers = 32, .heads = 32, .kv_heads = 8, .window = 4096, .rope = {.theta = 1e4}}> {};
struct Mistral_7B_v0_3 : mistral<mistral_config{.vocab = 32768, .dim = 4096, .hidden = 14336, .layers = 32, .heads = 32, .kv_heads = 8}> {};
struct Mistral_Nemo_12B : mistral<mistral_config{.vocab = 131072, .dim = 5120, .hidden = 14336, .layers = 40, .heads = 32, .kv_heads = 8, .head_dim = 128}> {};

}  // namespace cke
