// SPDX-License-Identifier: MIT
// activation.cpp: the pointwise functions against PyTorch.
#include "cke/kernels/activation.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

template <class F> void for_each_activation(F&& f) {
  f.template operator()<activation::silu>(), f.template operator()<activation::gelu_tanh>();
  f.template operator()<activation::gelu_erf>(), f.template operator()<activation::relu2>();
}

TEST_CASE("activation: every function is PyTorch's, alone and as a gate") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    fixture<float> f("activation.f32");
    CHECK(f.count() == 1);
    const u32 n = f.count();
    const auto x = f.next(n), up = f.next(n);
    for_each_activation([&]<activation A>() {
      CAPTURE(static_cast<int>(A));
      std::vector<float> out(n);
      activate<A, Isa>::row(x.data(), n, out.data());
      CHECK(distance(out, f.next(n)) < 1e-6);
      activate<A, Isa>::gated(x.data(), up.data(), n, out.data());
      CHECK(distance(out, f.next(n)) < 1e-6);
    });
    CHECK(f.done());
  });
}

TEST_CASE("activation: a value's bits do not depend on its place in the row") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    const u32 n = 67;
    const auto gate = random_row(n, 1, 4), up = random_row(n, 2);
    for_each_activation([&]<activation A>() {
      std::vector<float> whole(n), parts(n);
      activate<A, Isa>::gated(gate.data(), up.data(), n, whole.data());
      for (u32 i = 0, step = 1; i < n; i += step, step = step % 5 + 1) {
        step = std::min(step, n - i);
        activate<A, Isa>::gated(gate.data() + i, up.data() + i, step, parts.data() + i);
      }
      CHECK(same_bits(whole, parts));
      parts = gate;  // in place
      activate<A, Isa>::gated(parts.data(), up.data(), n, parts.data());
      CHECK(same_bits(whole, parts));
    });
  });
}
