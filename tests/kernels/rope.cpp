// SPDX-License-Identifier: MIT
// rope.cpp: frequencies of every scaling rule against transformers, and the rotation of a head.
#include "cke/kernels/attention/rope.hpp"
#include "cke/kernels/attention/rope_frequencies.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

TEST_CASE("rope: frequencies, attention factor and rotation are transformers', for every rule") {
  constexpr rope_scaling rules[]{rope_scaling::none,        rope_scaling::linear, rope_scaling::dynamic,
                                 rope_scaling::llama3,      rope_scaling::yarn,   rope_scaling::longrope,
                                 rope_scaling::proportional};
  fixture<double> f("rope.f64");
  for (u32 cases = f.count(); cases > 0; --cases) {
    rotary r;
    const u32 rule = f.count();
    r.rule = rules[rule];
    r.dims = f.count();
    const u32 head_dim = f.count();
    r.theta = f.next(), r.factor = f.next(), r.low = f.next(), r.high = f.next();
    r.beta_fast = f.next(), r.beta_slow = f.next(), r.mscale = f.next(), r.mscale_all = f.next();
    r.truncate = f.next() != 0;
    r.attention_factor = f.next();
    r.original = f.count(), r.max_position = f.count();
    const u32 context = f.count();
    rope_factors factors;
    factors.long_count = factors.short_count = r.dims / 2;
    for (u32 i = 0; i < r.dims / 2; ++i) factors.longs[i] = f.next();
    for (u32 i = 0; i < r.dims / 2; ++i) factors.shorts[i] = f.next();
    r.factors = &factors;
    CAPTURE(rule);
    CAPTURE(cases);

    const rope_frequencies made = rope_frequencies::of(r, head_dim, context);
    CHECK(made.attention_factor == doctest::Approx(f.next()).epsilon(1e-6));
    const u32 width = f.count();
    REQUIRE(rope_width(r, head_dim) == width);
    REQUIRE(made.inverse.size() == width / 2);
    for (const float x : made.inverse) {
      const double expected = f.next();
      CHECK(std::abs(x - expected) <= 5e-7 * expected);
    }

    // An angle is off by position * 1e-7, which the tolerance of a far position has to allow.
    const u32 position = f.count();
    const double tolerance = 2e-6 + 3e-7 * position;
    std::vector<float> cos(width / 2), sin(width / 2);
    made.row(position, cos.data(), sin.data());
    std::vector<float> x(head_dim), split(head_dim), adjacent(head_dim);
    for (auto* row : {&x, &split, &adjacent})
      for (float& value : *row) value = static_cast<float>(f.next());
    for_each_isa([&]<class Isa>() {
      CAPTURE(Isa::name);
      auto turned = x;
      rope_kernel<Isa>::apply(turned.data(), cos.data(), sin.data(), width, pairing::split);
      CHECK(distance(turned, split) < tolerance);
      turned = x;
      rope_kernel<Isa>::apply(turned.data(), cos.data(), sin.data(), width, pairing::adjacent);
      CHECK(distance(turned, adjacent) < tolerance);
    });
  }
  CHECK(f.done());
}

TEST_CASE("rope: dims beyond the rotated ones are not touched") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    for (const u32 dims : {2u, 6u, 30u, 64u, 90u}) {
      const auto before = random_row(96, dims), c = random_row(48, 1), s = random_row(48, 2);
      for (const pairing pairs : {pairing::split, pairing::adjacent}) {
        auto x = before;
        rope_kernel<Isa>::apply(x.data(), c.data(), s.data(), dims, pairs);
        CHECK(std::equal(x.begin() + dims, x.end(), before.begin() + dims));
        for (u32 i = 0; i < dims; ++i) CHECK(x[i] != before[i]);
      }
    }
  });
}

TEST_CASE("rope: a patch turns by its row and column, whichever way its numbers are paired") {
  constexpr u32 dims = 24, beyond = 3;
  constexpr double theta = 100;
  constexpr u32 row = 5, column = 11;
  for (const rope_axes axes : {rope_axes::row_column, rope_axes::column_row, rope_axes::alternate})
    for (const pairing pairs : {pairing::split, pairing::split_halves}) {
      const rotary r{.dims = dims, .theta = theta, .pairs = pairs, .axes = axes};
      const rope_frequencies made = rope_frequencies::of(r, dims, 1);
      std::vector<float> cos(dims / 2), sin(dims / 2);
      const bool column_first = axes == rope_axes::column_row;
      made.row_by_axis([&](u32 i) { return (i < dims / 4) == column_first ? column : row; }, cos.data(), sin.data());
      const auto x = random_row(dims + beyond, 7);
      auto want = x;
      for (u32 i = 0; i < dims / 2; ++i) {
        const u32 axis = i / (dims / 4), nth = i % (dims / 4);
        // the frequencies of half the dims for each axis; or those of all dims, dealt to the axes in turn
        const double exponent = axes == rope_axes::alternate ? (2. * nth + axis) * 2 / dims : nth * 2. / (dims / 2.);
        const double angle = (axis == u32{column_first} ? row : column) * std::pow(theta, -exponent);
        const u32 first = pairs == pairing::split ? i : axis * dims / 2 + nth;
        const u32 second = first + (pairs == pairing::split ? dims / 2 : dims / 4);
        want[first] = static_cast<float>(double{x[first]} * std::cos(angle) - double{x[second]} * std::sin(angle));
        want[second] = static_cast<float>(double{x[second]} * std::cos(angle) + double{x[first]} * std::sin(angle));
      }
      for_each_isa([&]<class Isa>() {
        CAPTURE(Isa::name);
        auto turned = x;
        rope_kernel<Isa>::apply(turned.data(), cos.data(), sin.data(), dims, pairs);
        CHECK(distance(turned, want) < 3e-6);
      });
    }
}

TEST_CASE("rope: yarn's temperature") {
  CHECK(yarn_mscale(0.5, 3) == 1);
  CHECK(yarn_mscale(40) == doctest::Approx(1.36888795));
}
