// SPDX-License-Identifier: MIT
// recurrent.hpp: the steps of a GRU and an LSTM, with torch's order of gates and its two biases.
#pragma once

#include "stages.hpp"

namespace cke::net {

// Torch's four tensors: of the frame and of the state before it, all gates in each.
template <class Isa, u32 In, u32 Out, u32 Gates> struct recurrent_weights {
  affine_map<Isa, In, Out, Gates> input;
  affine_map<Isa, Out, Out, Gates> hidden;

  constexpr void pack(const float* from) {
    input.w.pack(from);
    hidden.w.pack(from += Gates * Out * In);
    input.b.pack(from += Gates * Out * Out);
    hidden.b.pack(from += Gates * Out);
  }
};

// r, z = sigmoid(...), n = tanh(W_in x + b_in + r * (W_hn h + b_hn)), h = (1 - z) * n + z * h.
template <u32 In, u32 Out, class Isa> struct stage<gru<In, Out>, Isa> {
  using weights = recurrent_weights<Isa, In, Out, 3>;
  struct state {
    frame<Isa, Out> h;
  };
  static void step(const weights& w, state& s, const frame<Isa, In>& x, frame<Isa, Out>& y) {
    using m = math<Isa>;
    frame<Isa, Out, 3> of_x, of_h;
    w.input.apply(x.v, of_x);
    w.hidden.apply(s.h.v, of_h);
    y.each([&](u32 i) {
      const auto r = m::sigmoid(of_x.at(i, 0) + of_h.at(i, 0)), z = m::sigmoid(of_x.at(i, 1) + of_h.at(i, 1));
      const auto n = m::tanh(m::fma(r, of_h.at(i, 2), of_x.at(i, 2)));
      y.set(i, m::fma(z, s.h.at(i) - n, n));
    });
    s.h = y;
  }
};

// i, f, o = sigmoid(...), g = tanh(...), c = f * c + i * g, h = o * tanh(c).
template <u32 In, u32 Out, class Isa> struct stage<lstm<In, Out>, Isa> {
  using weights = recurrent_weights<Isa, In, Out, 4>;
  struct state {
    frame<Isa, Out> h, c;
  };
  static void step(const weights& w, state& s, const frame<Isa, In>& x, frame<Isa, Out>& y) {
    using m = math<Isa>;
    frame<Isa, Out, 4> of_x, of_h;
    w.input.apply(x.v, of_x);
    w.hidden.apply(s.h.v, of_h);
    y.each([&](u32 at) {
      const auto gate = [&](u32 g) { return of_x.at(at, g) + of_h.at(at, g); };
      const auto c = m::fma(m::sigmoid(gate(1)), s.c.at(at), m::sigmoid(gate(0)) * m::tanh(gate(2)));
      s.c.set(at, c);
      y.set(at, m::sigmoid(gate(3)) * m::tanh(c));
    });
    s.h = y;
  }
};

}  // namespace cke::net
