// SPDX-License-Identifier: MIT
// matmul.cpp: every format on every isa against double, and the promise of one order of sums.
#include "cke/kernels/matmul.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

namespace {

template <class F> void for_each_format(F&& f) {
  for_each_isa([&]<class Isa>() {
    f.template operator()<dtype::f32, Isa>();
    f.template operator()<dtype::f16, Isa>();
    f.template operator()<dtype::bf16, Isa>();
    f.template operator()<dtype::q8_0, Isa>();
  });
}

struct cache_line {
  alignas(64) std::byte bytes[64];
};

// A packed matrix [rows][cols].
template <dtype F, class Isa> struct matrix {
  u32 rows, cols;
  std::vector<cache_line> units;

  matrix(const std::vector<float>& w, u32 r, u32 c)
      : rows(r), cols(c), units(packed<F, Isa>::bytes(r, c) / 64) {
    for (u32 first = 0; first < rows; first += unit_rows) {
      std::vector<const std::byte*> from;
      for (u32 i = first; i < std::min(rows, first + unit_rows); ++i)
        from.push_back(reinterpret_cast<const std::byte*>(&w[u64{i} * cols]));
      packed<F, Isa>::pack_unit(unit(first), static_cast<u32>(from.size()), cols, from.data(),
                                dtype::f32);
    }
  }
  std::byte* unit(u32 row) {
    return units[row / unit_rows * packed<F, Isa>::unit_bytes(cols) / 64].bytes;
  }
  std::vector<float> values(u32 row) {
    std::vector<float> v(cols);
    packed<F, Isa>::unpack_row(unit(row), row % unit_rows, cols, v.data());
    return v;
  }

  // [n][rows]; x is [n][cols]
  std::vector<float> multiply(const float* x, u32 n) {
    using m = matmul<F, Isa>;
    using operand = typename m::x_operand;
    std::vector<std::byte> tiles(operand::bytes(n, cols), std::byte{0xff});
    for (u32 t = 0; t < n; ++t) operand::put(tiles.data(), n, cols, t, 0, cols, x + u64{t} * cols);
    std::vector<float> y(u64{n} * rows);
    u32 next = 0;
    for (u32 row = 0; row < rows; row += unit_rows, next = 0)
      m::unit(unit(row), tiles.data(), operand::token_bytes(cols), n, cols,
              [&](u32 first, u32 count, const float* out) {
                REQUIRE(first == next);
                REQUIRE(count <= m::max_tile);
                REQUIRE(reinterpret_cast<std::uintptr_t>(out) % 64 == 0);
                for (u32 t = 0; t < count; ++t)
                  std::copy_n(out + t * unit_rows, std::min(unit_rows, rows - row),
                              &y[u64{first + t} * rows + row]);
                next = first + count;
              });
    return y;
  }
};

// What the operand keeps of a row of x.
template <dtype F, class Isa> std::vector<double> kept(const float* x, u32 cols) {
  using operand = typename matmul<F, Isa>::x_operand;
  std::vector<std::byte> tile(operand::bytes(1, cols));
  operand::put(tile.data(), 1, cols, 0, 0, cols, x);
  std::vector<double> v(cols);
  for (u32 k = 0; k < cols; ++k)
    v[k] = double{operand::get(tile.data(), operand::token_bytes(cols), 1, 0, k)};
  return v;
}

}  // namespace

TEST_CASE("matmul: close to double, and a token's bits do not depend on its company") {
  for_each_format([]<dtype F, class Isa>() {
    CAPTURE(Isa::name);
    CAPTURE(info(F).name);
    constexpr u32 most = 33;
    for (const u32 cols : {1u, 24u, 32u, 96u, 160u})
      for (const u32 rows : {1u, 31u, 33u, 144u}) {
        if (cols % info(F).block || (rows == 144 && cols != 96)) continue;
        CAPTURE(cols);
        CAPTURE(rows);
        matrix<F, Isa> w(random_row(u64{rows} * cols, rows + cols), rows, cols);
        const auto x = random_row(most * cols, cols, 3);
        const auto y = w.multiply(x.data(), most);
        for (u32 n = 1; n <= 17; ++n) {
          auto part = y;
          part.resize(u64{n} * rows);
          CHECK(same_bits(w.multiply(x.data(), n), part));
        }
        // One rounding for each step of a chain, and some for scales.
        const bool integers = F == dtype::q8_0 && !simd::is_scalar<Isa>;
        const double tolerance = 0x1p-24 * (4 + (integers ? cols / 32 : cols));
        u32 wrong = 0;
        for (u32 t = 0; t < most; ++t) {
          const auto xs = kept<F, Isa>(&x[u64{t} * cols], cols);
          for (u32 row = 0; row < rows; ++row) {
            const auto ws = w.values(row);
            double want = 0, magnitude = 0;
            for (u32 k = 0; k < cols; ++k) {
              want += double{ws[k]} * xs[k];
              magnitude += std::abs(double{ws[k]} * xs[k]);
            }
            wrong += !(std::abs(double{y[u64{t} * rows + row]} - want) <= tolerance * magnitude);
          }
        }
        CHECK(wrong == 0);
      }
  });
}

TEST_CASE("matmul: simd and scalar agree on the same numbers") {
  constexpr u32 rows = 40, cols = 352, n = 5;
  const auto values = random_row(rows * cols, 1), x = random_row(n * cols, 2);
  for_each_format([&]<dtype F, class Isa>() {
    CAPTURE(Isa::name);
    CAPTURE(info(F).name);
    const auto want = matrix<F, isa::scalar>(values, rows, cols).multiply(x.data(), n);
    CHECK(distance(matrix<F, Isa>(values, rows, cols).multiply(x.data(), n), want) < 2e-5);
  });
}

TEST_CASE("matmul: zeros stay zeros, the largest codes do not saturate, NaN stays in its token") {
  constexpr u32 cols = 64, n = 6;
  for_each_format([]<dtype F, class Isa>() {
    CAPTURE(Isa::name);
    CAPTURE(info(F).name);
    std::vector<float> w(3 * cols);  // 0: zeros; 1: all greatest; 2: alternating
    for (u32 k = 0; k < cols; ++k) {
      w[cols + k] = -8192;
      w[2 * cols + k] = k % 2 ? 8192.f : -8192.f;
    }
    std::vector<float> x(n * cols, 4096.f);
    std::fill_n(x.data(), cols, 0.f);
    x[3 * cols + 7] = NAN;
    const auto y = matrix<F, Isa>(w, 3, cols).multiply(x.data(), n);
    for (u32 t = 0; t < n; ++t) {
      if (t == 3) {
        CHECK(std::isnan(y[t * 3 + 1]));
        continue;
      }
      CHECK(y[t * 3] == 0);
      CHECK(y[t * 3 + 1] == doctest::Approx(t ? -8192. * 4096 * cols : 0).epsilon(1e-3));
      CHECK(y[t * 3 + 2] == doctest::Approx(0));
    }
  });
}
