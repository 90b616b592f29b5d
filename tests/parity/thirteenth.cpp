// SPDX-License-Identifier: MIT
// thirteenth.cpp: a family that cke does not have, EXAONE 4, in one file: norms after the branches and on every head of
// q and k, sliding layers with rope, full ones without.
#include <cke/models/olmo2.hpp>

#include "parity.hpp"

namespace cke {

struct exaone4_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads, head_dim{}, window = 4096;
  layer_set sliding = layer_set::all_but_every(4);
  real eps = 1e-5;
  bool tied{};
  rotary rope{.theta = 1e6};
};

constexpr attention_options exaone4_attend(const exaone4_config& c, bool slides) {
  return {.dim = c.dim,
          .heads = c.heads,
          .kv_heads = c.kv_heads,
          .head_dim = c.head_dim,
          .rope = slides || c.window == everything ? c.rope : rotary{},
          .qk_norm = {c.eps},
          .window = slides ? c.window : everything};
}

template <exaone4_config C, bool Slides> using exaone4_layer =
    block<residual<attention<exaone4_attend(C, Slides)>, rms_norm<C.dim, C.eps>>,
          residual<gated_mlp<C.dim, C.hidden, activation::silu>, rms_norm<C.dim, C.eps>>>;

template <exaone4_config C> struct exaone4
    : network<embedding<C.vocab, C.dim>,
              arrange<order_of<C.layers>(C.sliding), exaone4_layer<C, false>, exaone4_layer<C, true>>,
              rms_norm<C.dim, C.eps>, head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"exaone4">;
  static constexpr exaone4_config config = C;
};

template <> struct family<"exaone4"> : usual_family<exaone4_config> {
  template <config C> using type = exaone4<C>;
  static constexpr std::string_view name = "exaone4";
  static constexpr config_key<config> keys[] = {key::vocab,   key::dim,      key::hidden,   key::layers,
                                                key::heads,   key::kv_heads, key::head_dim, key::window,
                                                key::sliding, key::eps,      key::tied,     key::rope};
  static constexpr requirement must_be[] = {{"hidden_act", "silu"}};
  static constexpr config defaults{
      .vocab = 0, .dim = 0, .hidden = 0, .layers = 0, .heads = 0, .kv_heads = 0, .rope = {.theta = 1e4}};
  static constexpr config finish(config c) {
    c = usual_family::finish(c);
    c.sliding = c.sliding.first(c.layers);
    return c;
  }
  static constexpr auto names = family<"olmo2">::names;
};

}  // namespace cke

using tiny = cke::exaone4<{.vocab = 288,
                           .dim = 48,
                           .hidden = 56,
                           .layers = 4,
                           .heads = 6,
                           .kv_heads = 2,
                           .head_dim = 12,
                           .window = 7,
                           .sliding = cke::layer_set::of({0, 1, 3}),
                           .rope = {.dims = 12, .theta = 5e3}}>;

TEST_CASE("parity: a thirteenth family is one file") {
  const std::string path = CKE_TEST_DATA "/thirteenth";
  parity::check<parity::Model<tiny, parity::F32>>(parity::hf(path), parity::expected(path + '/'), parity::exact);
}
