// SPDX-License-Identifier: MIT
// ahead.hpp: what tests ask of many tokens in one launch.
#pragma once

#include <cke/cuda/executor.cuh>
#include <cke/cuda/host/emulated.cuh>

#include <doctest/doctest.h>

namespace ahead {

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

template <class Arch> using emulated = cuda::isa<cuda::emulated<Arch>>;

// The order of a CPU with 16 lanes and, for bf16 caches, of the dots of AVX512-BF16. Other bits are a rounding away.
inline constexpr double other_order = simd::takes_odd_first<isa::native> ? 0 : 1e-3;

// Of all numbers, against the size of the second.
inline double difference(std::span<const float> a, std::span<const float> b) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = double{a[i]} - double{b[i]};
    error += d * d, size += double{b[i]} * double{b[i]};
  }
  return a.size() == b.size() ? std::sqrt(error / size) : 1;
}

inline constexpr auto yes = [](u32) { return true; };

// Likeliest ids, each fed by itself; the session's logits are then those after the last.
template <class Session> std::vector<u32> one_by_one(Session& s, u32 count) {
  std::vector<u32> ids;
  while (ids.size() < count) {
    ids.push_back(static_cast<u32>(std::ranges::max_element(s.logits()) - s.logits().begin()));
    s.feed(ids.back());
  }
  return ids;
}
// Many tokens in a launch are those of a launch for each step, with the same logits, as long as the session goes on.
template <class Session> void check(Session steps, Session ahead, std::span<const u32> prompt) {
  steps.feed(prompt), ahead.feed(prompt);
  for (const u32 count : {3u, 2u}) {
    CHECK(ahead.generate_nosync(count, {}, yes) == one_by_one(steps, count));
    CHECK(std::ranges::equal(ahead.logits(), steps.logits()));
  }
  CHECK(std::ranges::equal(ahead.history(), steps.history()));
}
template <class Model> void check(const Model& model, std::span<const u32> prompt) {
  check(model.session(), model.session(), prompt);
}

// Rows so long that each warp has tiles, and the first ones more than one of a unit; the last tile of a row is shorter.
struct long_rows : network<embedding<99, 64>,
                           stack<2,
                                 block<residual<rms_norm<64, 1e-6>,
                                                attention<attention_options{.dim = 64,
                                                                            .heads = 6,
                                                                            .kv_heads = 3,
                                                                            .head_dim = 32,
                                                                            .rope = {.dims = 32, .theta = 1e4},
                                                                            .qk_norm = {1e-6}}>>,
                                       residual<rms_norm<64, 1e-6>, gated_mlp<64, 1088, activation::silu>>>>,
                           rms_norm<64, 1e-6>, head<64, 99, true>> {};

// Devices that are made meanwhile have groups that wait at counters of their own.
struct in_groups {
  in_groups(u32 groups, u32 size) { cuda::emulation_blocks = groups * size, cuda::emulation_group = size; }
  ~in_groups() { cuda::emulation_blocks = 4, cuda::emulation_group = 0; }
};
// Devices that are made meanwhile have clusters.
struct in_clusters {
  in_clusters(u32 clusters, u32 size) { cuda::emulation_blocks = clusters * size, cuda::emulation_cluster = size; }
  ~in_clusters() { cuda::emulation_blocks = 4, cuda::emulation_cluster = 1; }
};

}  // namespace ahead
