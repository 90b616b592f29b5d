// SPDX-License-Identifier: MIT
// rope_frequencies.hpp: the angles of rotary position embeddings, by every scaling rule.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "../../core/params.hpp"
#include "../../core/plain_list.hpp"
#include "rope.hpp"

CKE_COLD_BEGIN
namespace cke::kernels {

// 0.1 m ln(s) + 1, yarn's temperature. DeepSeek also scales the scores by its square.
inline double yarn_mscale(double scale, double m = 1) { return scale <= 1 ? 1 : 0.1 * m * std::log(scale) + 1; }

// The angles of a position: angle i is position * inverse[i]; cos and sin are scaled by attention_factor.
struct rope_frequencies {
  plain_list<float> inverse;  // [rope_width / 2]
  float attention_factor{1};

  // The arithmetic and its precision are those of transformers' ROPE_INIT_FUNCTIONS.
  //
  // context is the length that a session is made for, fixed before its first token. `dynamic` and `longrope` depend on
  // the length of the sequence. transformers takes the length seen so far and keeps cached keys as they were, so there
  // the logits of a position depend on how the prompt was cut. Here, as in llama.cpp and vLLM, they depend on the
  // position alone: the length is `context`. The result equals a single transformers forward over L tokens when
  //   dynamic:  context == L, or neither exceeds max_position;
  //   longrope: context and L lie on the same side of `original`;
  //   any other rule: always.
  static rope_frequencies of(const rotary& r, u32 head_dim, u64 context) {
    const double factor = ratio(r);
    rope_frequencies f;
    switch (r.rule) {
      case rope_scaling::none:
        f.inverse = r.axes == rope_axes::sequence ? plain(r.dims, r.dims, r.theta.v) : axial(r);
        break;
      case rope_scaling::linear:
        f.inverse = plain(r.dims, r.dims, r.theta.v);
        for (float& x : f.inverse) x /= static_cast<float>(factor);
        break;
      case rope_scaling::dynamic: {
        const double longest = r.max_position;
        const double length = std::max(static_cast<double>(context), longest);
        const double grown = factor * length / longest - (factor - 1);
        f.inverse = plain(r.dims, r.dims, r.theta.v * std::pow(grown, r.dims / (r.dims - 2.0)));
        break;
      }
      case rope_scaling::llama3: f.inverse = llama3(r); break;
      case rope_scaling::yarn:
        f.inverse = yarn(r, factor);
        f.attention_factor = static_cast<float>(yarn_attention(r, factor));
        break;
      case rope_scaling::longrope:
        f.inverse = longrope(r, context > r.original ? r.factors->longs : r.factors->shorts);
        f.attention_factor = static_cast<float>(longrope_attention(r, factor));
        break;
      case rope_scaling::proportional:
        f.inverse = plain(r.dims, head_dim, r.theta.v);
        f.inverse.resize(head_dim / 2, 0.f);
        for (float& x : f.inverse) x /= static_cast<float>(factor);
        break;
    }
    return f;
  }

  // cos and sin of one position, [rope_width / 2] each
  void row(u64 position, float* cos, float* sin) const {
    for (std::size_t i = 0; i < inverse.size(); ++i) {
      const float angle = static_cast<float>(position) * inverse[i];
      cos[i] = std::cos(angle) * attention_factor;
      sin[i] = std::sin(angle) * attention_factor;
    }
  }

  // The same where frequency i is turned by axis_position(i).
  template <class F> void row_by_axis(F&& axis_position, float* cos, float* sin) const {
    for (u32 i = 0; i < inverse.size(); ++i) {
      const float angle = static_cast<float>(axis_position(i)) * inverse[i];
      cos[i] = std::cos(angle) * attention_factor;
      sin[i] = std::sin(angle) * attention_factor;
    }
  }

 private:
  // Frequencies of two axes, one after the other.
  static plain_list<float> axial(const rotary& r) {
    plain_list<float> inverse(r.dims / 2);
    const u32 half = r.dims / 4;
    for (u32 i = 0; i < half; ++i)
      for (u32 axis = 0; axis < 2; ++axis)
        inverse[axis * half + i] = 1.f /
            (r.axes == rope_axes::alternate ? power(r.theta.v, 2 * i + axis, r.dims) : power(r.theta.v, i, r.dims / 2));
    return inverse;
  }
  static float power(double base, u32 i, u32 dims) {
    return std::pow(static_cast<float>(base), static_cast<float>(2 * i) / static_cast<float>(dims));
  }
  // theta^(-2i / over) for the first dims / 2
  static plain_list<float> plain(u32 dims, u32 over, double theta) {
    plain_list<float> inverse(dims / 2);
    for (u32 i = 0; i < dims / 2; ++i) inverse[i] = 1.f / power(theta, i, over);
    return inverse;
  }
  // Configs may leave the factor out: it is then the growth of the context.
  static double ratio(const rotary& r) {
    return r.factor.v != 0 ? r.factor.v : static_cast<double>(r.max_position) / r.original;
  }

  static plain_list<float> llama3(const rotary& r) {
    const float low = static_cast<float>(r.low.v), high = static_cast<float>(r.high.v);
    const float factor = static_cast<float>(r.factor.v), original = static_cast<float>(r.original);
    plain_list<float> inverse = plain(r.dims, r.dims, r.theta.v);
    for (float& x : inverse) {
      const float wavelength = 2 * std::numbers::pi_v<float> / x;
      if (wavelength < original / high) continue;
      if (wavelength > original / low) {
        x /= factor;
      } else {
        const float smooth = (original / wavelength - low) / (high - low);
        x = (1 - smooth) * x / factor + smooth * x;
      }
    }
    return inverse;
  }

  static plain_list<float> yarn(const rotary& r, double factor) {
    const double dims = r.dims;
    // the dim that makes `rotations` turns over the original context
    const auto dim_of = [&](double rotations) {
      return dims * std::log(r.original / (rotations * 2 * std::numbers::pi)) / (2 * std::log(r.theta.v));
    };
    double low = dim_of(r.beta_fast.v), high = dim_of(r.beta_slow.v);
    if (r.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, dims - 1);
    if (low == high) high += 0.001;
    plain_list<float> inverse(r.dims / 2);
    for (u32 i = 0; i < r.dims / 2; ++i) {
      const float period = power(r.theta.v, i, r.dims);
      const float ramp = (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
      const float kept = 1 - std::clamp(ramp, 0.f, 1.f);
      inverse[i] = 1 / (static_cast<float>(factor) * period) * (1 - kept) + 1 / period * kept;
    }
    return inverse;
  }
  static double yarn_attention(const rotary& r, double factor) {
    if (r.attention_factor.v != 0) return r.attention_factor.v;
    if (r.mscale.v != 0 && r.mscale_all.v != 0)
      return yarn_mscale(factor, r.mscale.v) / yarn_mscale(factor, r.mscale_all.v);
    return yarn_mscale(factor);
  }

  static plain_list<float> longrope(const rotary& r, const double* stretched) {
    plain_list<float> inverse(r.dims / 2);
    for (u32 i = 0; i < r.dims / 2; ++i)
      inverse[i] = 1 / (static_cast<float>(stretched[i]) * power(r.theta.v, i, r.dims));
    return inverse;
  }
  static double longrope_attention(const rotary& r, double factor) {
    if (r.attention_factor.v != 0) return r.attention_factor.v;
    return factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(r.original)));
  }
};

}  // namespace cke::kernels
CKE_COLD_END
