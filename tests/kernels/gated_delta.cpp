// SPDX-License-Identifier: MIT
// gated_delta.cpp: the gated delta rule against sums in double, in passes that end anywhere.
#include "cke/kernels/gated_delta.hpp"

#include <doctest/doctest.h>

#include "cke/graph/plan.hpp"
#include "numbers.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;

namespace {

struct shape {
  u32 key_heads, value_heads, keys, values;
  bool tiled;
  u32 blocks;  // of a page
};
constexpr u32 tokens = 300;

// [tokens][heads * numbers], in double, from what the kernel is given
std::vector<double> expected(const shape& s, const std::vector<float> (&in)[5], const std::vector<float> (&w)[3],
                             float eps) {
  std::vector<double> out(u64{tokens} * s.value_heads * s.values);
  const auto at = [&](u32 i, u32 t, u32 width, u32 n) { return static_cast<double>(in[i][u64{t} * width + n]); };
  for (u32 h = 0; h < s.value_heads; ++h) {
    const u32 kh = s.tiled ? h % s.key_heads : h / (s.value_heads / s.key_heads);
    std::vector<double> state(u64{s.keys} * s.values), q(s.keys), k(s.keys), y(s.values);
    for (u32 t = 0; t < tokens; ++t) {
      double qq = 1e-6, kk = 1e-6, yy = 0;
      for (u32 i = 0; i < s.keys; ++i) {
        q[i] = at(0, t, s.key_heads * s.keys, kh * s.keys + i), k[i] = at(1, t, s.key_heads * s.keys, kh * s.keys + i);
        qq += q[i] * q[i], kk += k[i] * k[i];
      }
      for (u32 i = 0; i < s.keys; ++i) q[i] /= std::sqrt(qq * s.keys), k[i] /= std::sqrt(kk);
      const double a = at(4, t, 2 * s.value_heads, h) + static_cast<double>(w[1][h]),
                   b = at(4, t, 2 * s.value_heads, s.value_heads + h);
      const double decay = std::exp(-std::exp(static_cast<double>(w[0][h])) * std::log1p(std::exp(a))),
                   beta = 1 / (1 + std::exp(-b));
      for (u32 c = 0; c < s.values; ++c) {
        double known = 0;
        for (u32 i = 0; i < s.keys; ++i) known += (state[i * s.values + c] *= decay) * k[i];
        const double e = beta * (at(2, t, s.value_heads * s.values, h * s.values + c) - known);
        y[c] = 0;
        for (u32 i = 0; i < s.keys; ++i) y[c] += (state[i * s.values + c] += k[i] * e) * q[i];
        yy += y[c] * y[c];
      }
      for (u32 c = 0; c < s.values; ++c) {
        const double z = at(3, t, s.value_heads * s.values, h * s.values + c);
        out[u64{t} * s.value_heads * s.values + h * s.values + c] = y[c] /
            std::sqrt(yy / s.values + static_cast<double>(eps)) * static_cast<double>(w[2][c]) * z / (1 + std::exp(-z));
      }
    }
  }
  return out;
}

template <class Isa> std::vector<float> computed(const shape& s, const std::vector<float> (&in)[5],
                                                 const std::vector<float> (&w)[3], float eps,
                                                 std::initializer_list<u32> passes) {
  using step = kernel<opcode::gated_delta, dtype::f32, Isa>;
  const delta_params p{.key_heads = s.key_heads,
                       .value_heads = s.value_heads,
                       .key_dim = s.keys,
                       .value_dim = s.values,
                       .tiled = s.tiled,
                       .eps = eps};
  const u32 widths[]{s.key_heads * s.keys, s.key_heads * s.keys, s.value_heads * s.values, s.value_heads * s.values,
                     2 * s.value_heads};
  const u64 caches = 64, state = u64{s.value_heads} * s.keys * align_up(s.values, 32) * 4,
            page = caches * s.blocks + state;
  std::vector<std::byte> memory(page * ceil_div(tokens, key_block * s.blocks), std::byte{0xff}),
      scratch(step::scratch_bytes(p, tokens));
  std::vector<std::byte*> pages;
  for (u32 b = 0; b < ceil_div(tokens, key_block * s.blocks) * s.blocks; ++b)
    pages.push_back(memory.data() + b / s.blocks * page + b % s.blocks * caches);
  std::vector<float> out;
  u32 at = 0;
  for (const u32 n : passes) {
    const segment one{0, n, at, {pages.data()}};
    work pass;
    pass.tokens = n, pass.segments = {&one, 1}, pass.by = split::kv_heads, pass.scratch = scratch.data();
    pass.kv = {caches, 0, s.blocks};
    std::vector<float> rows[5];
    for (u32 i = 0; i < 5; ++i) {
      const u32 stride = row_stride(widths[i]);
      rows[i].resize(u64{n} * stride, NAN);
      for (u32 t = 0; t < n; ++t) std::copy_n(&in[i][u64{at + t} * widths[i]], widths[i], &rows[i][u64{t} * stride]);
      pass.in[i] = {reinterpret_cast<std::byte*>(rows[i].data()), widths[i], stride};
    }
    const u32 stride = row_stride(widths[2]);
    std::vector<float> y(u64{n} * stride, NAN);
    pass.out[0] = {reinterpret_cast<std::byte*>(y.data()), widths[2], stride};
    for (u32 i = 0; i < 3; ++i) pass.weight[i] = reinterpret_cast<const std::byte*>(w[i].data());
    for (u32 h = s.value_heads; h-- > 0;) step::run(p, pass, h);
    for (u32 t = 0; t < n; ++t) out.insert(out.end(), &y[u64{t} * stride], &y[u64{t} * stride] + widths[2]);
    at += n;
  }
  REQUIRE(at == tokens);
  return out;
}

}  // namespace

TEST_CASE("gated_delta: odd shapes, heads that share keys in both orders, however the tokens are cut") {
  for (const shape& s : {shape{1, 1, 1, 1, false, 1},
                         {2, 6, 20, 40, false, 1},
                         {2, 6, 20, 40, true, 2},
                         {3, 3, 33, 31, false, 2},
                         {1, 2, 128, 96, false, 1}}) {
    CAPTURE(s.keys);
    CAPTURE(s.values);
    const std::vector<float> in[5]{numbers::random_row(u64{tokens} * s.key_heads * s.keys, 1),
                                   numbers::random_row(u64{tokens} * s.key_heads * s.keys, 2),
                                   numbers::random_row(u64{tokens} * s.value_heads * s.values, 3),
                                   numbers::random_row(u64{tokens} * s.value_heads * s.values, 4),
                                   numbers::random_row(u64{tokens} * 2 * s.value_heads, 5, 3)};
    const std::vector<float> w[3]{numbers::random_row(s.value_heads, 6, 4), numbers::random_row(s.value_heads, 7),
                                  numbers::random_row(s.values, 8)};
    const float eps = 1e-5f;
    const std::vector<double> want = expected(s, in, w, eps);
    const std::vector<float> whole = computed<isa::native>(s, in, w, eps, {tokens});
    double error = 0;
    for (std::size_t i = 0; i < want.size(); ++i)
      error = std::max(error, std::abs(want[i] - static_cast<double>(whole[i])));
    CHECK(error < 1e-4);
    CHECK(numbers::same_bits(whole, computed<isa::native>(s, in, w, eps, {1, 2, 31, 33, 60, 1, 1, 127, 44})));
    CHECK(numbers::same_bits(whole, computed<isa::native>(s, in, w, eps, {128, 128, 44})));
    double apart = 0;
    const std::vector<float> scalar = computed<isa::scalar>(s, in, w, eps, {255, 2, 43});
    for (std::size_t i = 0; i < want.size(); ++i)
      apart = std::max(apart, std::abs(want[i] - static_cast<double>(scalar[i])));
    CHECK(apart < 1e-4);
  }
}
