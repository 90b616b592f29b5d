// SPDX-License-Identifier: MIT
// adamw.hpp: AdamW with decoupled weight decay (Loshchilov and Hutter, 2019), as torch.optim.AdamW computes it.
#pragma once

#include "parameters.hpp"

CKE_COMPILED_ONCE
namespace cke::train {

struct adamw_options {
  float lr = 1e-3f, beta1 = 0.9f, beta2 = 0.95f;  // the betas below 1
  float eps = 1e-8f;                              // above 0
  float weight_decay = 0.1f;                      // of tensors with two dimensions or more
  float clip = 1;                                 // most norm of all gradients together; 0: any
};

// The factors of a step; the same for all numbers of a tensor.
struct adam_factors {
  float by, size, root, beta1, beta2, eps, keep;  // by: of gradients; keep: of weights, before the step
};
// n numbers: weights, means of gradients and of their squares, gradients.
CKE_OUT_OF_LINE inline void adam_step(float* w, float* m, float* v, const float* g, u64 n, const adam_factors& f) {
  for (u64 i = 0; i < n; ++i) {
    const float d = g[i] * f.by;
    m[i] += (1 - f.beta1) * (d - m[i]);
    v[i] = f.beta2 * v[i] + (1 - f.beta2) * d * d;
    w[i] = w[i] * f.keep - f.size * (m[i] / (std::sqrt(v[i]) / f.root + f.eps));
  }
}
CKE_OUT_OF_LINE inline double sum_of_squares(const float* x, u64 n) {
  double sum[8]{};
  for (u64 i = 0; i < n; ++i) sum[i % 8] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

class adamw {
 public:
  adamw() = default;
  // Throws out_of_memory.
  explicit adamw(u64 count) : count_(count), memory_(2 * count * sizeof(float)) {}

  float* first() { return reinterpret_cast<float*>(memory_.data()); }  // [count]: means of gradients
  float* second() { return first() + count_; }                         // [count]: means of their squares
  u64 bytes() const { return memory_.size(); }
  u64 steps() const { return steps_; }  // that were taken
  void resume(u64 steps) { steps_ = steps; }

  // The norm of all gradients, in an order that depends on the model alone.
  CKE_OUT_OF_LINE static double norm(const parameters& p, team& threads) {
    double sum = 0;
    std::vector<double> parts;
    for (const parameters::run& one : p.learned()) {
      const float* const g = p.gradients() + one.at;
      parts.assign(ceil_div_long(one.count), 0.0);
      threads.run([&](u32 thread) noexcept {
        threads.share(thread, static_cast<u32>(parts.size()), [&](u32 u) {
          const u64 begin = u64{u} * some;
          parts[u] = sum_of_squares(g + begin, std::min(one.count - begin, some));
        });
      });
      for (const double part : parts) sum += part;
    }
    return std::sqrt(sum);
  }

  // One step with the gradients of p, whose norm the caller has; they stay as they are.
  CKE_OUT_OF_LINE void step(parameters& p, team& threads, double norm, const adamw_options& o) {
    ++steps_;
    const auto after = static_cast<double>(steps_);
    const double first_bias = 1 - std::pow(static_cast<double>(o.beta1), after),
                 second_bias = 1 - std::pow(static_cast<double>(o.beta2), after);
    const auto by = static_cast<float>(o.clip > 0 ? std::min(1.0, static_cast<double>(o.clip) / (norm + 1e-6)) : 1.0);
    const auto size = static_cast<float>(static_cast<double>(o.lr) / first_bias),
               root = static_cast<float>(std::sqrt(second_bias));
    for (const parameters::run& one : p.learned()) {
      const adam_factors f{by, size, root, o.beta1, o.beta2, o.eps, one.decays ? 1 - o.lr * o.weight_decay : 1.f};
      threads.run([&](u32 thread) noexcept {
        threads.share(thread, static_cast<u32>(ceil_div_long(one.count)), [&](u32 u) {
          const u64 begin = one.at + u64{u} * some, n = std::min(one.at + one.count - begin, some);
          adam_step(p.values() + begin, first() + begin, second() + begin, p.gradients() + begin, n, f);
        });
      });
    }
  }

 private:
  static constexpr u64 some = 1 << 14;  // numbers of a unit
  static constexpr u64 ceil_div_long(u64 n) { return (n + some - 1) / some; }

  u64 count_{}, steps_{};
  arena memory_;
};

}  // namespace cke::train
