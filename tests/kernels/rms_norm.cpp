// SPDX-License-Identifier: MIT
// rms_norm.cpp: the norm against transformers' modules.
#include "cke/kernels/rms_norm.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

TEST_CASE("rms_norm: rows of any length, with and without an offset, are transformers'") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    fixture<float> f("norm.f32");
    for (u32 cases = f.count(); cases > 0; --cases) {
      const u32 n = f.count();
      const float eps = f.next(), offset = f.next();
      auto x = f.next(n);
      const auto w = f.next(n), expected = f.next(n);
      CAPTURE(n);
      std::vector<float> out(n);
      rms_norm_kernel<Isa>::row(x.data(), w.data(), n, eps, offset, out.data());
      CHECK(distance(out, expected) < 1e-6);
      rms_norm_kernel<Isa>::row(x.data(), w.data(), n, eps, offset, x.data());
      CHECK(same_bits(x, out));
    }
    CHECK(f.done());
  });
}

TEST_CASE("rms_norm: without weights the row only gets the length sqrt(n)") {
  for_each_isa([]<class Isa>() {
    CAPTURE(Isa::name);
    for (u32 n = 1; n < 150; n += 7) {
      const auto x = random_row(n, n, 5);
      std::vector<float> out(n), unit(n, 1.f), same(n);
      rms_norm_kernel<Isa>::row(x.data(), nullptr, n, 1e-9f, 0.5f, out.data());
      double squares = 0;
      for (const float v : out) squares += double{v} * double{v};
      CHECK(squares / n == doctest::Approx(1).epsilon(1e-5));
      rms_norm_kernel<Isa>::row(x.data(), unit.data(), n, 1e-9f, 0.f, same.data());
      CHECK(same_bits(same, out));
    }
  });
}
