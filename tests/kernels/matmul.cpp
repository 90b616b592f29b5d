// SPDX-License-Identifier: MIT
// matmul.cpp: every format on every isa against double, and the promise of one order of sums.
#include "cke/kernels/matmul.hpp"

#include <functional>
#include <memory>

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

namespace {

// A packed matrix [rows][cols] of what a file holds, without its types: tests are compiled once, not for each kernel.
class any_matrix {
 public:
  any_matrix(u32 r, u32 c) : rows(r), cols(c) {}
  virtual ~any_matrix() = default;
  virtual std::vector<float> values(u32 row) = 0;
  virtual std::vector<float> multiply(const float* x, u32 n) = 0;  // [n][rows]; x is [n][cols]
  const u32 rows, cols;
};

// Where a unit's products go, tile by tile: y [n][rows].
struct product {
  std::vector<float>& y;
  u32 row, rows, most, next = 0;
  [[gnu::noinline]] void operator()(u32 first, u32 count, const float* out) {
    REQUIRE(first == next);
    REQUIRE(count <= most);
    REQUIRE(reinterpret_cast<std::uintptr_t>(out) % 64 == 0);
    for (u32 t = 0; t < count; ++t)
      std::copy_n(out + t * unit_rows, std::min(unit_rows, rows - row), &y[u64{first + t} * rows + row]);
    next = first + count;
  }
};

template <dtype F, class Isa> class matrix final : public any_matrix {
 public:
  matrix(const std::vector<std::byte>& file, u32 r, u32 c, dtype source)
      : any_matrix(r, c), units(packed<F, Isa>::bytes(ceil_div(r, unit_rows), c) / 64) {
    packed<F, Isa>::pack(data_of(units), ceil_div(r, unit_rows), c, [&](auto&& pack_unit) {
      for (u32 first = 0; first < rows; first += unit_rows) {
        std::vector<const std::byte*> from;
        for (u32 i = first; i < std::min(rows, first + unit_rows); ++i)
          from.push_back(&file[bytes_of(source, u64{i} * cols)]);
        pack_unit(first / unit_rows, {static_cast<u32>(from.size()), from.data(), source});
      }
    });
  }
  std::vector<float> values(u32 row) override {
    std::vector<float> v(cols);
    packed<F, Isa>::unpack_row(unit(row), row % unit_rows, cols, v.data());
    return v;
  }
  std::vector<float> multiply(const float* x, u32 n) override {
    using m = matmul<F, Isa>;
    using operand = typename m::x_operand;
    std::vector<std::byte> tiles(operand::bytes(n, cols), std::byte{0xff});
    for (u32 t = 0; t < n; ++t) operand::put(tiles.data(), n, cols, t, 0, cols, x + u64{t} * cols);
    std::vector<float> y(u64{n} * rows);
    for (u32 row = 0; row < rows; row += unit_rows)
      m::unit(unit(row), tiles.data(), operand::token_bytes(cols), n, cols, product{y, row, rows, m::max_tile});
    return y;
  }

 private:
  std::byte* unit(u32 row) { return data_of(units) + row / unit_rows * packed<F, Isa>::unit_bytes(cols); }
  std::vector<cache_line> units;
};

// A kernel: its format and instruction set.
struct kernel_kind {
  dtype type;
  std::string_view isa;
  bool is_scalar, is_wasm;
  // `source`: what the file holds, if it is not `type`.
  std::unique_ptr<any_matrix> (*pack)(const std::vector<std::byte>& file, u32 rows, u32 cols, dtype source);
  std::vector<double> (*kept)(const float* x, u32 cols);  // what the operand keeps of a row of x

  std::unique_ptr<any_matrix> make(const std::vector<std::byte>& file, u32 rows, u32 cols) const {
    return pack(file, rows, cols, type);
  }
};
template <dtype F, class Isa> constexpr kernel_kind kernel_kind_of() {
  return {F,
          Isa::name,
          simd::is_scalar<Isa>,
          std::is_same_v<Isa, isa::wasm>,
          [](const std::vector<std::byte>& file, u32 rows, u32 cols, dtype source) -> std::unique_ptr<any_matrix> {
            return std::make_unique<matrix<F, Isa>>(file, rows, cols, source);
          },
          [](const float* x, u32 cols) {
            using operand = typename matmul<F, Isa>::x_operand;
            std::vector<std::byte> tile(operand::bytes(1, cols));
            operand::put(tile.data(), 1, cols, 0, 0, cols, x);
            std::vector<double> v(cols);
            for (u32 k = 0; k < cols; ++k)
              v[k] = double{operand::get(tile.data(), operand::token_bytes(cols), 1, 0, k)};
            return v;
          }};
}

// f(kernel, the scalar one of its format)
void for_each_kernel(const std::function<void(const kernel_kind&, const kernel_kind&)>& f) {
  const auto look = [&](const kernel_kind& one, const kernel_kind& scalar) {
    CAPTURE(one.isa);
    CAPTURE(info(one.type).name);
    f(one, scalar);
  };
  for_each_isa_of_integers([&]<class Isa>() {
    const auto look_at = [&]<dtype... F>() { (look(kernel_kind_of<F, Isa>(), kernel_kind_of<F, isa::scalar>()), ...); };
    if constexpr (!is_another_avx2<Isa>) look_at.template operator()<dtype::f32, dtype::f16, dtype::bf16>();
    look_at.template
    operator()<dtype::q8_0, dtype::q4_0, dtype::q4_k, dtype::q5_k, dtype::q6_k, dtype::q4_1, dtype::q5_0, dtype::q5_1,
               dtype::q2_k, dtype::q3_k, dtype::iq4_nl, dtype::iq4_xs, dtype::mxfp4, dtype::i8_row, dtype::i4_row>();
  });
}

}  // namespace

TEST_CASE("matmul: close to double, and a token's bits do not depend on its company") {
  for_each_kernel([](const kernel_kind& k, const kernel_kind&) {
    const dtype_info& of = info(k.type);
    constexpr u32 most = 33;
    for (const u32 cols : {1u, 24u, 32u, 96u, 160u, 256u, 768u})
      for (const u32 rows : {1u, 31u, 33u, 144u}) {
        if (cols % of.block || (rows == 144 && cols != 96 && cols != 256)) continue;
        if (cols >= 256 && of.block < 256 && rows != 33) continue;
        CAPTURE(cols);
        CAPTURE(rows);
        const auto w = k.make(random_file(k.type, u64{rows} * cols, rows + cols), rows, cols);
        const auto x = random_row(most * cols, cols, 3);
        const auto y = w->multiply(x.data(), most);
        for (u32 n = 1; n <= 17; ++n) {
          auto part = y;
          part.resize(u64{n} * rows);
          CHECK(same_bits(w->multiply(x.data(), n), part));
        }
        // One rounding for each step of a chain, and some for scales.
        const bool integers = of.partner == dtype::q8_0 && !k.is_scalar;
        const double tolerance = 0x1p-24 * (4 + (integers ? cols / 32 : cols));
        looked_at all;
        for (u32 t = 0; t < most; ++t) {
          const auto xs = k.kept(&x[u64{t} * cols], cols);
          for (u32 row = 0; row < rows; ++row) {
            const auto ws = w->values(row);
            double want = 0, magnitude = 0;
            for (u32 i = 0; i < cols; ++i) {
              want += double{ws[i]} * xs[i];
              magnitude += std::abs(double{ws[i]} * xs[i]);
            }
            const double got = y[u64{t} * rows + row];
            all.see(std::abs(got - want) <= tolerance * magnitude, t, row, got, want);
          }
        }
        CHECK(all);
      }
  });
}

TEST_CASE("matmul: simd and scalar agree on the same numbers") {
  constexpr u32 rows = 40, n = 5;
  for_each_kernel([&](const kernel_kind& k, const kernel_kind& scalar) {
    const u32 cols = info(k.type).block == 256 ? 512 : 352;
    const auto values = random_file(k.type, rows * cols, 1);
    const auto x = random_row(n * cols, 2);
    const auto want = scalar.make(values, rows, cols)->multiply(x.data(), n);
    const double within = k.is_wasm ? 3e-5 : 2e-5;  // wasm rounds each product
    CHECK(distance(k.make(values, rows, cols)->multiply(x.data(), n), want) < within);
  });
}

#ifdef CKE_HAS_AVX512_FP16
TEST_CASE("matmul: with bf16 weights, multiply-adds have the bits of dots of pairs") {
  constexpr u32 rows = 33, cols = 99, n = 13;
  const auto values = random_file(dtype::bf16, rows * cols, 1);
  const auto x = random_row(n * cols, 2);
  const auto products = [&](const kernel_kind& k) { return k.make(values, rows, cols)->multiply(x.data(), n); };
  CHECK(same_bits(products(kernel_kind_of<dtype::bf16, isa::avx512_fp16>()),
                  products(kernel_kind_of<dtype::bf16, isa::avx512_vnni>())));
}
#endif

TEST_CASE("matmul: zeros stay zeros, the largest codes do not saturate, NaN stays in its token") {
  constexpr u32 cols = 64, n = 6;
  for_each_kernel([](const kernel_kind& of, const kernel_kind&) {
    if (!convertible(of.type)) return;
    std::vector<float> w(3 * cols);  // 0: zeros; 1: all greatest; 2: alternating
    for (u32 k = 0; k < cols; ++k) {
      w[cols + k] = -8192;
      w[2 * cols + k] = k % 2 ? 8192.f : -8192.f;
    }
    std::vector<float> x(n * cols, 4096.f);
    std::fill_n(x.data(), cols, 0.f);
    x[3 * cols + 7] = NAN;
    std::vector<std::byte> file(bytes_of(of.type, 3 * cols));
    from_f32(of.type, w.data(), 3 * cols, file.data());
    const auto y = of.make(file, 3, cols)->multiply(x.data(), n);
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

TEST_CASE("matmul: blocks of extreme codes and scales, against the largest activations") {
  static constexpr u32 cols = 512, rows = 6, n = 21;
  for_each_kernel([](const kernel_kind& of, const kernel_kind&) {
    if (convertible(of.type)) return;
    const u32 row_bytes = static_cast<u32>(bytes_of(of.type, cols));
    std::vector<std::byte> file(rows * row_bytes);  // row 0: d = 0
    for (u32 row = 1; row < rows; ++row)
      for (u32 i = 0; i < row_bytes; ++i)
        file[row * row_bytes + i] =
            static_cast<std::byte>(row == 1 || (row == 2 && i % 2) || (row > 2 && i % row) ? 0xff : 0);
    const float scales[rows][2] = {{0, 0}, {1, 0}, {65504, -65504}, {0x1p-24f, 0}, {0, -1}, {-2, 3}};
    for (u32 row = 0; row < rows; ++row)
      for (u32 block = 0; block < row_bytes; block += info(of.type).bytes)
        blocks::set_scales(of.type, &file[row * row_bytes + block], scales[row][0], scales[row][1]);
    std::vector<float> x(n * cols);
    for (u32 i = 0; i < n * cols; ++i) x[i] = (i / cols % 3 == 0 ? 1.f : i % (i / cols) ? -1.f : 1.f) * 4096;
    std::fill_n(&x[5 * cols], cols, 0.f);
    x[7 * cols + 300] = NAN;
    const auto w = of.make(file, rows, cols);
    const auto y = w->multiply(x.data(), n);
    for (u32 t = 0; t < n; ++t)
      for (u32 row = 0; row < rows; ++row) {
        CAPTURE(t);
        CAPTURE(row);
        const float got = y[t * rows + row];
        if (t == 7) {
          CHECK(std::isnan(got));
          continue;
        }
        const auto ws = w->values(row);
        double want = 0, magnitude = 0;
        for (u32 k = 0; k < cols; ++k) {
          const double term = double{ws[k]} * double{x[t * cols + k]};  // |x| is 4096 or 0: kept exactly
          want += term, magnitude += std::abs(term);
        }
        if (row == 0 || t == 5) CHECK(got == 0);
        // The scalar kernel rounds each of the 512 terms, simd each sum of 32.
        CHECK(std::abs(double{got} - want) <= (of.is_scalar ? 0x1p-19 : 0x1p-20) * magnitude);
      }
  });
}

TEST_CASE("matmul: i8 and i4 are rows of one scale, as PyTorch rounds them") {
  fixture<std::byte> file("row_wise.bin");
  const auto number = [&] { return read<u32>(file.next(4).data()); };
  const u32 rows = number(), cols = number(), n = number();
  const auto floats = [&](u64 count) {
    const auto bytes = file.next(count * 4);
    std::vector<float> out(count);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  };
  const auto w = floats(u64{rows} * cols), x = floats(u64{n} * cols);
  std::vector<std::byte> source(w.size() * 4);
  std::memcpy(source.data(), w.data(), source.size());
  const auto check = [&]<dtype F>() {
    const auto kept = floats(u64{rows} * cols), y = floats(u64{n} * rows);
    for_each_isa([&]<class Isa>() {
      CAPTURE(Isa::name);
      const auto m = kernel_kind_of<F, Isa>().pack(source, rows, cols, dtype::f32);
      for (u32 row = 0; row < rows; ++row)
        CHECK(same_bits(m->values(row), {&kept[u64{row} * cols], &kept[u64{row} * cols] + cols}));
      // Activations are rounded to 8 bits of their block's greatest.
      const auto got = m->multiply(x.data(), n);
      for (u32 t = 0; t < n; ++t)
        for (u32 row = 0; row < rows; ++row) {
          double size = 0;
          for (u32 k = 0; k < cols; ++k) size += std::pow(double{kept[u64{row} * cols + k]}, 2);
          CHECK(std::abs(got[t * rows + row] - y[t * rows + row]) <= 0.03 * std::sqrt(size));
        }
    });
  };
  check.template operator()<dtype::i8_row>();
  check.template operator()<dtype::i4_row>();
  CHECK(file.done());
}

TEST_CASE("matmul: a row whose scale is no number is one itself, and its neighbours are not") {
  std::vector<float> w(3 * 64, 1.f);
  w[64 + 40] = NAN;
  w[128 + 1] = 1e30f;
  std::vector<std::byte> source(w.size() * 4);
  std::memcpy(source.data(), w.data(), source.size());
  const auto y = kernel_kind_of<dtype::i4_row, isa::native>()
                     .pack(source, 3, 64, dtype::f32)
                     ->multiply(std::vector<float>(64, 1.f).data(), 1);
  CHECK(y[0] == doctest::Approx(64).epsilon(1e-3));
  CHECK(std::isnan(y[1]));
  CHECK(std::isnan(y[2]));
}
