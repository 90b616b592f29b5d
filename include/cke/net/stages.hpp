// SPDX-License-Identifier: MIT
// stages.hpp: what a letter of a net computes: its packed weights, its state, and a step from frame to frame.
#pragma once

#include "letters.hpp"
#include "math.hpp"

namespace cke::net {

// A letter of your own is one more specialisation, with
//   struct weights { constexpr void pack(const float* from); };  // from: its tensors, one after the other
//   struct state {};                                             // zeros before the first frame
//   static void step(const weights&, state&, const frame<Isa, in>& x, frame<Isa, out>& y);
template <class Letter, class Isa> struct stage {
  static_assert(!sizeof(Letter),
                "cke: net: this letter has no step from frame to frame; see stage<letter, isa>, which a letter of "
                "your own specialises");
};

struct nothing {
  constexpr void pack(const float*) {}
};

// b + W x, of one group of rows or more.
template <class Isa, u32 In, u32 Out, u32 Groups = 1> struct affine_map {
  matrix<Isa, Out, In, Groups> w;
  frame<Isa, Out, Groups> b;

  CKE_INLINE void apply(const float* x, frame<Isa, Out, Groups>& y) const { w.multiply(x, b, y); }
};

template <u32 In, u32 Out, bool Bias, class Isa> struct stage<dense<In, Out, Bias>, Isa> {
  struct weights : affine_map<Isa, In, Out> {
    constexpr void pack(const float* from) {
      this->w.pack(from);
      if constexpr (Bias) this->b.pack(from + Out * In);
    }
  };
  using state = nothing;
  static void step(const weights& w, state&, const frame<Isa, In>& x, frame<Isa, Out>& y) { w.apply(x.v, y); }
};

template <u32 In, u32 Out, u32 Taps, u32 Dilation, bool Bias, class Isa>
struct stage<conv1d<In, Out, Taps, Dilation, Bias>, Isa> {
  // Frames that an output depends on, from the oldest to the present one.
  static constexpr u32 span = (Taps - 1) * Dilation + 1;

  struct weights : affine_map<Isa, Taps * In, Out> {  // the columns of a tap lie together
    constexpr void pack(const float* from) {
      this->w.pack([from](u32 row, u32 col) { return from[(row * In + col % In) * Taps + col / In]; });
      if constexpr (Bias) this->b.pack(from + Out * In * Taps);
    }
  };
  struct state {
    float ring[span][In];
    u32 now;  // where the present frame goes
  };
  static void step(const weights& w, state& s, const frame<Isa, In>& x, frame<Isa, Out>& y) {
    std::copy_n(x.v, In, s.ring[s.now]);
    float seen[Taps * In];
    u32 at = s.now;
    s.now = s.now + 1 == span ? 0 : s.now + 1;
    for (u32 tap = Taps; tap-- > 0; at = at >= Dilation ? at - Dilation : at + span - Dilation)
      std::copy_n(s.ring[at], In, seen + tap * In);
    w.apply(seen, y);
  }
};

template <u32 Dim, real Eps, class Isa> struct stage<batch_norm<Dim, Eps>, Isa> {
  struct weights {
    frame<Isa, Dim> scale, shift;
    constexpr void pack(const float* from) {
      for (u32 i = 0; i < Dim; ++i) {
        const double weight = from[i], bias = from[Dim + i], mean = from[2 * Dim + i], variance = from[3 * Dim + i];
        const double by = weight / root(variance + Eps.v);
        scale.v[i] = static_cast<float>(by);
        shift.v[i] = static_cast<float>(bias - mean * by);
      }
    }
  };
  using state = nothing;
  static void step(const weights& w, state&, const frame<Isa, Dim>& x, frame<Isa, Dim>& y) {
    x.each([&](u32 i) { y.set(i, math<Isa>::fma(x.at(i), w.scale.at(i), w.shift.at(i))); });
  }
};

template <u32 Dim, u32 Slopes, class Isa> struct stage<prelu<Dim, Slopes>, Isa> {
  struct weights {
    frame<Isa, Dim> slope;
    constexpr void pack(const float* from) {
      for (u32 i = 0; i < Dim; ++i) slope.v[i] = from[i % Slopes];
    }
  };
  using state = nothing;
  static void step(const weights& w, state&, const frame<Isa, Dim>& x, frame<Isa, Dim>& y) {
    using m = math<Isa>;
    const auto zero = m::all(0.f);
    x.each([&](u32 i) { y.set(i, m::fma(w.slope.at(i), m::min(x.at(i), zero), m::max(x.at(i), zero))); });
  }
};

// A function of each number alone.
template <u32 Dim, class Isa, auto F> struct pointwise_stage {
  using weights = nothing;
  using state = nothing;
  static void step(const weights&, state&, const frame<Isa, Dim>& x, frame<Isa, Dim>& y) {
    x.each([&](u32 i) { y.set(i, F(x.at(i))); });
  }
};
template <u32 Dim, class Isa> struct stage<relu<Dim>, Isa> : pointwise_stage<Dim, Isa, &math<Isa>::relu> {};
template <u32 Dim, class Isa> struct stage<sigmoid<Dim>, Isa> : pointwise_stage<Dim, Isa, &math<Isa>::sigmoid> {};
template <u32 Dim, class Isa> struct stage<tanh<Dim>, Isa> : pointwise_stage<Dim, Isa, &math<Isa>::tanh> {};

}  // namespace cke::net
