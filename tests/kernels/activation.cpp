// SPDX-License-Identifier: MIT
// activation.cpp: the pointwise functions against PyTorch.
#include "cke/kernels/activation.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace numbers;

TEST_CASE("activation: every function is PyTorch's, alone and as a gate") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    fixture<float> f("activation.f32");
    CHECK(f.count() == 1);
    const u32 n = f.count();
    const auto x = f.next(n), up = f.next(n);
    for (const activation a :
         {activation::silu, activation::gelu_tanh, activation::gelu_erf, activation::relu2}) {
      CAPTURE(static_cast<int>(a));
      std::vector<float> out(n);
      ungated<Isa>::row(a, x.data(), n, out.data());
      CHECK(distance(out, f.next(n)) < 1e-6);
      gated<Isa>::row(a, x.data(), up.data(), n, out.data());
      CHECK(distance(out, f.next(n)) < 1e-6);
    }
    CHECK(f.done());
  });
}

TEST_CASE("activation: a value's bits do not depend on its place in the row") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    const u32 n = 67;
    const auto gate = random_row(n, 1, 4), up = random_row(n, 2);
    for (const activation a :
         {activation::silu, activation::gelu_tanh, activation::gelu_erf, activation::relu2}) {
      std::vector<float> whole(n), parts(n);
      gated<Isa>::row(a, gate.data(), up.data(), n, whole.data());
      for (u32 i = 0, step = 1; i < n; i += step, step = step % 5 + 1) {
        step = std::min(step, n - i);
        gated<Isa>::row(a, gate.data() + i, up.data() + i, step, parts.data() + i);
      }
      CHECK(same_bits(whole, parts));
      parts = gate;  // in place
      gated<Isa>::row(a, parts.data(), up.data(), n, parts.data());
      CHECK(same_bits(whole, parts));
    }
  });
}
