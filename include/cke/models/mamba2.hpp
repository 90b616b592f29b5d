// SPDX-License-Identifier: MIT
// mamba2.hpp: Mamba 2: every layer is a selective state space; nothing attends.
#pragma once

#include "card.hpp"
// clang-format off
namespace cke {

struct mamba2_config {
  u32 vocab, dim, layers, heads, head_dim = 64, state = 128, ssm_groups = 1, taps = 4;
  real eps = 1e-5, least_step{}, most_step = 1e300;
  bool conv_bias = true, bias{}, tied{};
  rotary rope{.theta = 1e4};  // rotates nothing; holds the length that the model was trained for
};

template <mamba2_config C> struct mamba2 : network<
    embedding<C.vocab, C.dim>,
    stack<C.layers, block<residual<rms_norm<C.dim, C.eps>, mamba_mixer<mamba_options{
        .dim = C.dim, .heads = C.heads, .head_dim = C.head_dim, .state = C.state, .groups = C.ssm_groups,
        .taps = C.taps, .eps = C.eps,
        .least_step = C.least_step, .most_step = C.most_step, .conv_bias = C.conv_bias, .bias = C.bias}>>>>,
    rms_norm<C.dim, C.eps>,
    head<C.dim, C.vocab, C.tied>> {
  using family = cke::family<"mamba2">;
  static constexpr mamba2_config config = C;
};

struct Mamba2_130M : mamba2<mamba2_config{.vocab = 50288, .dim = 768, .layers = 24, .heads = 24, .tied = true}> {};
struct Mamba2_370M : mamba2<mamba2_config{.vocab = 50288, .dim = 1024, .layers = 48, .heads = 32, .tied = true}> {};
struct Mamba2_780M : mamba2<mamba2_config{.vocab = 50288, .dim = 1536, .layers = 48, .heads = 48, .tied = true}> {};
struct Mamba2_1_3B : mamba2<mamba2_config{.vocab = 50288, .dim = 2048, .layers = 48, .heads = 64, .tied = true}> {};
struct Mamba2_2_7B : mamba2<mamba2_config{.vocab = 50288, .dim = 2560, .layers = 64, .heads = 80, .tied = true}> {};

}  // namespace cke

#if __STDC_HOSTED__  // a bare board has no files
#include "files/mamba2.hpp"
#endif
