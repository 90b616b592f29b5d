// SPDX-License-Identifier: MIT
// lfm2.hpp: LFM2: most layers are short convolutions, the others attend with a norm on every head of q and k. With
// images it is the decoder of LFM2-VL, whose tower is towers/lfm2_vl.hpp.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct lfm2_config {
  u32 vocab, dim, hidden, layers, heads, kv_heads = 8, head_dim{}, taps = 3;
  layer_set attends = layer_set::up_to(layer_set::most);
  bool adjust{};  // adjust `hidden`: two thirds of it, times `by`, rounded up to a multiple
  real by = 1;
  u32 multiple = 256;
  real eps = 1e-5;
  bool tied = true, conv_bias{}, images{};
  rotary rope{.theta = 1e6};
};

// A mixture of experts uses this too.
constexpr attention_options lfm2_attend(const auto& c) {
  rotary rope = c.rope;
  const u32 head_dim = c.head_dim ? c.head_dim : c.dim / c.heads;
  rope.dims = rope.dims ? rope.dims : head_dim;
  return {.dim = c.dim, .heads = c.heads, .kv_heads = c.kv_heads, .head_dim = head_dim, .rope = rope,
          .qk_norm = {c.eps}};
}
template <auto C> using lfm2_conv = short_conv<C.dim, C.taps, C.conv_bias>;

template <auto C, class Mixer, class Mlp> using lfm2_layer = block<
    residual<rms_norm<C.dim, C.eps>, Mixer>,
    residual<rms_norm<C.dim, C.eps>, Mlp>>;

template <lfm2_config C, class Mlp = gated_mlp<C.dim, C.hidden, activation::silu>> struct lfm2 : network<
    embedding<C.vocab, C.dim>,
    image_rows<C.dim, 0, 0, C.images>,
    arrange<order_of<C.layers>(C.attends), lfm2_layer<C, lfm2_conv<C>, Mlp>, lfm2_layer<C, attention<lfm2_attend(C)>,
        Mlp>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"lfm2">;
  static constexpr lfm2_config config = C;
};

inline constexpr layer_set lfm2_attends = layer_set::of({2, 5, 8, 10, 12, 14});
struct LFM2_350M : lfm2<lfm2_config{
    .vocab = 65536, .dim = 1024, .hidden = 4608, .layers = 16, .heads = 16, .attends = lfm2_attends}> {};
struct LFM2_700M : lfm2<lfm2_config{
    .vocab = 65536, .dim = 1536, .hidden = 6912, .layers = 16, .heads = 24, .attends = lfm2_attends}> {};
struct LFM2_1_2B : lfm2<lfm2_config{
    .vocab = 65536, .dim = 2048, .hidden = 8192, .layers = 16, .heads = 32, .attends = lfm2_attends}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/lfm2.hpp"
#endif
