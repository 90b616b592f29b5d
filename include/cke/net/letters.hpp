// SPDX-License-Identifier: MIT
// letters.hpp: the letters of a small net, which PyTorch has as modules: a frame of floats in, a frame of floats out.
#pragma once

#include <array>

#include "../layer_checks.hpp"

namespace cke::net {

// One tensor of a module's state_dict: its name there, and its shape, followed by zeros.
struct tensor {
  std::string_view name;
  std::array<u32, 3> shape;

  constexpr u32 rank() const { return shape[1] == 0 ? 1 : shape[2] == 0 ? 2 : 3; }
  constexpr u32 numbers() const {
    u32 all = 1;
    for (u32 i = 0; i < rank(); ++i) all *= shape[i];
    return all;
  }
};

namespace detail {
template <bool Bias> constexpr std::array<tensor, Bias ? 2 : 1> weight_and_bias(tensor weight) {
  if constexpr (Bias) return {weight, {"bias", {weight.shape[0]}}};
  else return {weight};
}
template <u32 Gates, u32 In, u32 Out> inline constexpr std::array<tensor, 4> recurrent_tensors{
    {{"weight_ih_l0", {Gates * Out, In}},
     {"weight_hh_l0", {Gates * Out, Out}},
     {"bias_ih_l0", {Gates * Out}},
     {"bias_hh_l0", {Gates * Out}}}};

template <u32 In, u32 Out> struct sized : maps<In, Out>,
                                          private checks::row_fits<"in", In>,
                                          private checks::row_fits<"out", Out> {};
// A letter without weights.
template <u32 Dim> struct pointwise : sized<Dim, Dim> {
  static constexpr std::array<tensor, 0> tensors{};
};
template <u32 Dim, u32 Slopes> struct slopes_suit {
  static_assert(Slopes == 1 || Slopes == Dim, "cke: net::prelu: slopes must be 1 or dim; see slopes_suit<dim, slopes>");
};
}  // namespace detail

// nn.Linear: W x + b.
template <u32 In, u32 Out, bool Bias = true> struct dense : detail::sized<In, Out> {
  static constexpr auto tensors = detail::weight_and_bias<Bias>({"weight", {Out, In}});
};
// nn.Conv1d over frames, made causal: each output sees the frame and (Taps - 1) * Dilation frames before it; before the
// first frame are zeros.
template <u32 In, u32 Out, u32 Taps, u32 Dilation = 1, bool Bias = true>
struct conv1d : detail::sized<In, Out>,
                private checks::in_range<"taps", Taps, 1, 4096>,
                private checks::in_range<"dilation", Dilation, 1, 65536> {
  static constexpr auto tensors = detail::weight_and_bias<Bias>({"weight", {Out, In, Taps}});
};
// nn.GRU and nn.LSTM of one layer; the state begins at zero.
template <u32 In, u32 Out> struct gru : detail::sized<In, Out> {
  static constexpr auto tensors = detail::recurrent_tensors<3, In, Out>;
};
template <u32 In, u32 Out> struct lstm : detail::sized<In, Out> {
  static constexpr auto tensors = detail::recurrent_tensors<4, In, Out>;
};
// nn.BatchNorm1d in eval mode, affine.
template <u32 Dim, real Eps = 1e-5>
struct batch_norm : detail::sized<Dim, Dim>, private checks::eps_is_small<"eps", Eps> {
  static constexpr std::array<tensor, 4> tensors{
      {{"weight", {Dim}}, {"bias", {Dim}}, {"running_mean", {Dim}}, {"running_var", {Dim}}}};
};
// nn.PReLU: x where it is positive, else slope * x; one slope for all, or one for each number.
template <u32 Dim, u32 Slopes = 1> struct prelu : detail::sized<Dim, Dim>, private detail::slopes_suit<Dim, Slopes> {
  static constexpr std::array<tensor, 1> tensors{{{"weight", {Slopes}}}};
};
template <u32 Dim> struct relu : detail::pointwise<Dim> {};
template <u32 Dim> struct sigmoid : detail::pointwise<Dim> {};
template <u32 Dim> struct tanh : detail::pointwise<Dim> {};

// What a word joins: list<> for a letter.
template <class Letter> struct parts_of {
  using type = list<>;
};
template <template <class...> class Word, class... Ls> struct parts_of<Word<Ls...>> {
  using type = list<Ls...>;
};

// How many floats a net has as weights.
template <class... Ls> constexpr u32 count_parameters(list<Ls...>);
template <class Letter> constexpr u32 count_parameters() {
  if constexpr (requires { Letter::tensors; }) {
    u32 all = 0;
    for (const tensor& t : Letter::tensors) all += t.numbers();
    return all;
  } else {
    return count_parameters(typename parts_of<Letter>::type{});
  }
}
template <class... Ls> constexpr u32 count_parameters(list<Ls...>) { return (count_parameters<Ls>() + ... + 0); }
template <class Letter> inline constexpr u32 parameters = count_parameters<Letter>();

}  // namespace cke::net
