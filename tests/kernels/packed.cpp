// SPDX-License-Identifier: MIT
// packed.cpp: rows of a file into units and back, bit for bit with gguf-py and PyTorch.
#include "cke/kernels/formats/packed_bf16.hpp"

#include "numbers.hpp"

using namespace cke;
using namespace cke::kernels;
using namespace numbers;

namespace {

constexpr dtype formats[] = {dtype::f32, dtype::f16, dtype::bf16, dtype::q8_0};

// matmul.bin: the same rows in every encoding; `rounded` is what gguf-py reads back from q8_0.
struct encoded_row {
  std::vector<std::byte> as[4];  // by position in `formats`
  std::vector<float> rounded;

  const std::byte* in(dtype t) const {
    return as[std::find(std::begin(formats), std::end(formats), t) - formats].data();
  }
};
struct encoded_rows {
  u32 cols{};
  std::vector<encoded_row> rows;

  encoded_rows() {
    fixture<std::byte> file("matmul.bin");
    const u32 n = read<u32>(file.next(4).data());
    cols = read<u32>(file.next(4).data());
    rows.resize(n);
    for (auto& r : rows) {
      for (u32 i = 0; i < 4; ++i) r.as[i] = file.next(bytes_of(formats[i], cols));
      const auto floats = file.next(u64{cols} * 4);
      r.rounded.resize(cols);
      std::memcpy(r.rounded.data(), floats.data(), floats.size());
    }
    REQUIRE(file.done());
  }
};

constexpr dtype block_formats[] = {dtype::q4_0, dtype::q4_1, dtype::q5_0, dtype::q5_1,   dtype::q2_k,   dtype::q3_k,
                                   dtype::q4_k, dtype::q5_k, dtype::q6_k, dtype::iq4_nl, dtype::iq4_xs, dtype::mxfp4};

// Every (format, isa) of a list.
template <const auto& List, class F> void for_each_packed(F&& f) {
  for_each_isa_of_integers([&]<class Isa>() {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f.template operator()<List[I], Isa>(), ...);
    }(std::make_index_sequence<std::size(List)>());
  });
}

// One unit of rows; memory is full of ones before, so that forgotten padding shows.
template <dtype F, class Isa>
std::vector<std::byte> pack(const std::vector<const std::byte*>& rows, u32 cols, dtype source) {
  std::vector<std::byte> unit(packed<F, Isa>::bytes(1, cols), std::byte{0xff});
  const u64 taken = packed<F, Isa>::pack(unit.data(), 1, cols, [&](auto&& pack_unit) {
    pack_unit(0, {static_cast<u32>(rows.size()), rows.data(), source});
  });
  CHECK(taken <= unit.size());
  CHECK(taken % 64 == 0);
  return unit;
}

}  // namespace

TEST_CASE("convert: every encoding of a row is PyTorch's and gguf-py's, to the bit") {
  const encoded_rows file;
  for (const encoded_row& row : file.rows) {
    std::vector<float> x(file.cols), back(file.cols);
    std::memcpy(x.data(), row.in(dtype::f32), u64{file.cols} * 4);
    for (const dtype t : formats) {
      CAPTURE(info(t).name);
      std::vector<std::byte> bytes(bytes_of(t, file.cols));
      from_f32(t, x.data(), file.cols, bytes.data());
      CHECK(std::memcmp(bytes.data(), row.in(t), bytes.size()) == 0);
    }
    to_f32(dtype::q8_0, row.in(dtype::q8_0), file.cols, back.data());
    CHECK(same_bits(back, row.rounded));
  }
}

TEST_CASE("packed: a unit of any source is a unit of the converted file, and reads back") {
  const encoded_rows file;
  for_each_packed<formats>([&]<dtype F, class Isa>() {
    CAPTURE(Isa::name);
    CAPTURE(info(F).name);
    for (const dtype source : formats) {
      CAPTURE(info(source).name);
      std::vector<const std::byte*> rows;
      for (const encoded_row& r : file.rows) rows.push_back(r.in(source));
      const auto unit = pack<F, Isa>(rows, file.cols, source);
      for (u32 i = 0; i < unit_rows; ++i) {
        std::vector<float> source_values(file.cols), want(file.cols), got(file.cols);
        if (i < rows.size()) {
          std::vector<std::byte> bytes(bytes_of(F, file.cols));
          to_f32(source, rows[i], file.cols, source_values.data());
          from_f32(F, source_values.data(), file.cols, bytes.data());
          to_f32(F, source == F ? rows[i] : bytes.data(), file.cols, want.data());
        }
        packed<F, Isa>::unpack_row(unit.data(), i, file.cols, got.data());
        CHECK(distance(got, want) == 0);
      }
    }
  });
}

TEST_CASE("packed: blocks of a file read back as gguf-py reads them, and take no more room") {
  fixture<std::byte> file("block_formats.bin");
  const u32 n = read<u32>(file.next(4).data()), cols = read<u32>(file.next(4).data());
  for (const dtype t : block_formats) {
    CAPTURE(info(t).name);
    std::vector<std::vector<std::byte>> rows;
    std::vector<const std::byte*> at;
    std::vector<std::vector<float>> want(n, std::vector<float>(cols));
    for (u32 i = 0; i < n; ++i) {
      rows.push_back(file.next(bytes_of(t, cols)));
      const auto floats = file.next(u64{cols} * 4);
      std::memcpy(want[i].data(), floats.data(), floats.size());
    }
    for (const auto& r : rows) at.push_back(r.data());
    for_each_packed<block_formats>([&]<dtype F, class Isa>() {
      if (F != t) return;
      CAPTURE(Isa::name);
      using p = packed<F, Isa>;
      CHECK(p::unit_bytes(cols) == 32 * bytes_of(t, cols));
      for (const u32 width : {cols, info(F).block}) {  // all of it; one block alone
        const auto unit = pack<F, Isa>(at, width, F);
        for (u32 i = 0; i < unit_rows; ++i) {
          std::vector<float> got(width), row(width);
          if (i < n) row.assign(want[i].begin(), want[i].begin() + width);
          p::unpack_row(unit.data(), i, width, got.data());
          if (i < n) CHECK(same_bits(got, row));
          else CHECK(distance(got, row) == 0);
        }
      }
      CHECK_THROWS_AS((pack<F, Isa>(at, 256, dtype::f32)), Error);  // nothing is rounded to them
    });
  }
  REQUIRE(file.done());
}

TEST_CASE("packed: sizes, odd widths, and the widths of many chunks") {
  for_each_packed<formats>([]<dtype F, class Isa>() {
    using p = packed<F, Isa>;
    CAPTURE(Isa::name);
    CAPTURE(info(F).name);
    for (const u32 cols : {1u, 7u, 24u, 31u, 96u, 255u, 257u, 608u}) {
      if (cols % info(F).block) continue;
      CAPTURE(cols);
      CHECK(p::unit_bytes(cols) % 64 == 0);
      CHECK(p::bytes(1, cols) >= bytes_of(F, cols) * 32);
      CHECK(p::bytes(2, cols) == 2 * p::bytes(1, cols));
      std::vector<std::vector<std::byte>> rows;
      std::vector<const std::byte*> at;
      for (u32 i = 0; i < 5; ++i) {
        rows.emplace_back(bytes_of(F, cols));
        from_f32(F, random_row(cols, i).data(), cols, rows.back().data());
        at.push_back(rows.back().data());
      }
      const auto unit = pack<F, Isa>(at, cols, F);
      for (u32 i = 0; i < unit_rows; ++i) {
        std::vector<float> got(cols), want(cols);
        if (i < 5) to_f32(F, at[i], cols, want.data());
        p::unpack_row(unit.data(), i, cols, got.data());
        CHECK(same_bits(got, want));
      }
    }
  });
}

TEST_CASE("convert: NaN survives, infinities do not become numbers, unknown types are errors") {
  std::vector<float> x(32, 1.f), y(32);
  std::vector<std::byte> bytes(34);
  for (const float odd : {NAN, HUGE_VALF}) {
    x[5] = odd;
    from_f32(dtype::q8_0, x.data(), 32, bytes.data());
    to_f32(dtype::q8_0, bytes.data(), 32, y.data());
    CHECK(!std::isfinite(y[5]));
  }
  CHECK_THROWS_AS(to_f32(dtype::q6_k, bytes.data(), 32, y.data()), Error);
  CHECK_THROWS_AS(from_f32(dtype::q4_0, x.data(), 32, bytes.data()), Error);
  for (const auto& row : dtypes)
    CHECK(convertible(row.type) == (std::find(std::begin(formats), std::end(formats), row.type) != std::end(formats)));
}
