// SPDX-License-Identifier: MIT
// routing.cpp: choices and weights are those of transformers' routers; equals, NaN and infinities have an order.
#include "cke/kernels/routing.hpp"

#include <numeric>

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

namespace {

struct choice {
  std::vector<u32> experts;  // best first
  std::vector<float> weights;
};
choice choose(const router& r, std::vector<float> logits, const std::vector<float>& bias = {},
              const std::vector<float>& expert_scale = {}) {
  std::vector<float> out(2 * r.active);
  std::vector<std::byte> scratch(routing::scratch_bytes(r));
  routing::token(r, logits.data(), bias.data(), expert_scale.data(), scratch.data(), out.data());
  return {{out.begin(), out.begin() + r.active}, {out.begin() + r.active, out.end()}};
}

}  // namespace

TEST_CASE("routing: transformers' routers: Qwen3, Mixtral, Granite, GLM-4 with groups, DeepSeek-V2 with groups") {
  fixture<float> f("routing.f32");
  const u32 cases = f.count();
  for (u32 c = 0; c < cases; ++c) {
    CAPTURE(c);
    router r;
    r.experts = f.count(), r.active = f.count(), r.score = static_cast<scoring>(f.count()), r.bias = f.next() != 0;
    r.groups = f.count(), r.groups_kept = f.count(), r.group_by = static_cast<group_score>(f.count());
    r.renormalise = f.next() != 0, r.scale = f.next();
    const u32 tokens = f.count();
    const auto bias = f.next(r.bias ? r.experts : 0);
    for (u32 t = 0; t < tokens; ++t) {
      CAPTURE(t);
      const auto logits = f.next(r.experts), chosen = f.next(r.active), weights = f.next(r.active);
      const choice got = choose(r, logits, bias);
      std::vector<u32> order(r.active);
      std::iota(order.begin(), order.end(), 0u);
      std::ranges::sort(order, {}, [&](u32 k) { return got.experts[k]; });
      for (u32 k = 0; k < r.active; ++k) {
        CHECK(got.experts[order[k]] == static_cast<u32>(chosen[k]));
        CHECK(got.weights[order[k]] == doctest::Approx(weights[k]).epsilon(2e-6));
      }
    }
  }
  CHECK(f.done());
}

TEST_CASE("routing: best first, and of equals the lower number") {
  CHECK(choose({.experts = 6, .active = 4}, {1, 3, 3, 2, 3, 0}).experts == std::vector<u32>{1, 2, 4, 3});
  CHECK(choose({.experts = 5, .active = 5}, {0, 0, 0, 0, 0}).experts == std::vector<u32>{0, 1, 2, 3, 4});
  const router logits{.experts = 3, .active = 3, .score = scoring::softmax_of_chosen};
  CHECK(choose(logits, {-0.f, 0.f, -0.f}).experts == std::vector<u32>{0, 1, 2});
  // equal groups too: 0 and 1 are kept
  const router grouped{.experts = 6, .active = 2, .groups = 3, .groups_kept = 2};
  CHECK(choose(grouped, {1, 5, 5, 1, 5, 5}).experts == std::vector<u32>{1, 2});
}

TEST_CASE("routing: a group counts by its best expert, or by its best two") {
  router r{.experts = 6, .active = 2, .groups = 2, .groups_kept = 1};
  const std::vector<float> logits{3.8f, 0, 0, 3.4f, 3.4f, 3.4f};  // e^3.8 < 2 e^3.4
  CHECK(choose(r, logits).experts == std::vector<u32>{0, 1});
  r.group_by = group_score::best_two;
  CHECK(choose(r, logits).experts == std::vector<u32>{3, 4});
}

TEST_CASE("routing: a bias decides who is chosen, not what they count") {
  const router r{.experts = 4, .active = 2, .score = scoring::sigmoid, .bias = true};
  const choice c = choose(r, {0, 1, 2, 3}, {9, 0, 0, -9});
  CHECK(c.experts == std::vector<u32>{0, 2});
  CHECK(c.weights[0] == 0.5f);
  CHECK(c.weights[1] == doctest::Approx(1 / (1 + std::exp(-2.))));
}

TEST_CASE("routing: what an expert counts is scaled by a number of its own, last") {
  const router r{.experts = 3, .active = 2, .renormalise = true, .scale = 2, .expert_scale = true};
  const choice c = choose(r, {0, 1, 1}, {}, {7, 3, -0.5f});
  CHECK(c.experts == std::vector<u32>{1, 2});
  CHECK(c.weights[0] == doctest::Approx(3));
  CHECK(c.weights[1] == doctest::Approx(-0.5));
}

TEST_CASE("routing: exp is the nearest float") {
  looked_at all;  // a row for each exponent and sign
  for (u64 b = 0; b < u64{1} << 32; b += 9973)
    if (const float x = std::bit_cast<float>(static_cast<u32>(b)); x == x) {
      const float got = rounded_exp(x), want = static_cast<float>(std::exp(double{x}));
      all.see(got == want, b >> 23, b & 0x7fffff, got, want);
    }
  CHECK(all);
  CHECK(rounded_exp(-INFINITY) == 0);
  CHECK(rounded_exp(INFINITY) == INFINITY);
  CHECK(std::isnan(rounded_exp(NAN)));
}

TEST_CASE("routing: whatever the logits are, distinct experts that there are") {
  const float inf = INFINITY;
  for (const std::vector<float>& logits : std::vector<std::vector<float>>{
           {NAN, NAN, NAN, NAN}, {-inf, -inf, -inf, -inf}, {inf, inf, inf, inf}, {1, NAN, -inf, 2}, {-NAN, 0, inf, 3}})
    for (const scoring s : {scoring::softmax, scoring::softmax_of_chosen, scoring::sigmoid})
      for (const u32 kept : {1u, 2u}) {
        const router r{.experts = 4,
                       .active = 2,
                       .score = s,
                       .groups = 2,
                       .groups_kept = kept,
                       .group_by = group_score::best_two,
                       .renormalise = true};
        const choice c = choose(r, logits);
        CHECK(c.experts[0] < 4);
        CHECK(c.experts[1] < 4);
        CHECK(c.experts[0] != c.experts[1]);
      }
  const router plain{.experts = 4, .active = 1, .score = scoring::softmax_of_chosen};
  CHECK(choose(plain, {1, NAN, inf, 2}).experts[0] == 1);  // as torch.topk
}
