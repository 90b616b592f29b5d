// SPDX-License-Identifier: MIT
// f8_matrix.cpp: 8-bit floats as torch reads them, and their scales where blocks end.
#include "cke/runtime/f8_matrix.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

struct some_tensor {
  dtype type;
  std::vector<u64> shape;
  std::span<const std::byte> bytes;
  source_tensor as(std::string_view name) const { return {name, type, "", shape, bytes}; }
};
struct some_tensors final : tensor_source {
  std::map<std::string, some_tensor> all;
  explicit some_tensors(std::map<std::string, some_tensor> tensors = {}) : all(std::move(tensors)) {}
  u64 count() const override { return all.size(); }
  u64 number_of(std::string_view name) const override {
    const auto at = all.find(std::string(name));
    return at == all.end() ? none : static_cast<u64>(std::distance(all.begin(), at));
  }
  source_tensor tensor(u64 number) const override {
    const auto& [name, t] = *std::next(all.begin(), static_cast<std::ptrdiff_t>(number));
    return t.as(name);
  }
  void drop(u64, std::span<const std::byte>) const override {}
};

}  // namespace

TEST_CASE("f8_e4m3: all 256 codes, as torch.float8_e4m3fn has them and as IEEE's rules say") {
  std::ifstream in(CKE_TEST_DATA "/models/deepseek_v3_fp8/codes.npy", std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(file.size() > 256 * sizeof(float));
  for (u32 code = 0; code < 256; ++code) {
    CAPTURE(code);
    float torch{};
    std::memcpy(&torch, file.data() + file.size() - (256 - code) * sizeof torch, sizeof torch);
    const float ours = from_f8_e4m3(static_cast<u8>(code));
    if ((code & 127) == 127) {
      CHECK((std::isnan(ours) && std::isnan(torch)));
      continue;
    }
    CHECK(std::bit_cast<u32>(ours) == std::bit_cast<u32>(torch));
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    CHECK(std::abs(ours) ==
          static_cast<float>(std::ldexp(exponent ? 8 + mantissa : mantissa, (exponent ? exponent : 1) - 10)));
  }
}

TEST_CASE("f8_matrix: every number has the scale of its block, also in the last ones, from any column on") {
  constexpr u64 rows = 130, columns = 261;
  for (const dtype scale_type : {dtype::f32, dtype::bf16}) {
    std::vector<std::byte> codes(rows * columns), scales;
    for (u64 i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i * 7 % 127 + i % 2 * 128);
    for (u32 i = 0; i < 6; ++i) {
      const float scale = 0.25f + static_cast<float>(i);  // exact in bf16
      const u32 bits = std::bit_cast<u32>(scale);
      for (u32 b = scale_type == dtype::f32 ? 0 : 2; b < 4; ++b)
        scales.push_back(static_cast<std::byte>(bits >> 8 * b));
    }
    const some_tensors from({{"w.weight_scale_inv", {scale_type, {2, 3}, scales}}});
    const some_tensor w{dtype::f8_e4m3, {rows, columns}, codes};
    const f8_matrix m = f8_matrix_of(from, "file", w.as("w.weight"));
    for (const u64 first : {u64{0}, u64{5}, u64{128}, u64{255}})
      for (const u64 row : {u64{0}, u64{127}, u64{128}, u64{129}}) {
        std::vector<float> out(columns - first, -1);
        m.read(row, first, out.size(), out.data());
        for (u64 c = first; c < columns; ++c) {
          const float scale = 0.25f + static_cast<float>(row / 128 * 3 + c / 128);
          CHECK(out[c - first] == from_f8_e4m3(static_cast<u8>(codes[row * columns + c])) * scale);
        }
      }
  }
}

TEST_CASE("f8_matrix: scales that are missing, of another shape or another type") {
  const std::vector<std::byte> bytes(256 * 128);
  const auto error = [&](const some_tensors& from, std::vector<u64> shape) -> std::string {
    try {
      f8_matrix_of(from, "file", some_tensor{dtype::f8_e4m3, std::move(shape), bytes}.as("w.weight"));
    } catch (const Error& e) { return e.what(); }
    return {};
  };
  const auto scales = [&](dtype type, std::vector<u64> shape) {
    return some_tensors({{"w.weight_scale_inv", {type, std::move(shape), bytes}}});
  };
  CHECK(error(scales(dtype::f32, {2, 1}), {256, 128}).empty());
  CHECK(error(some_tensors(), {256, 128}) ==
        "file: tensor w.weight_scale_inv: expected this tensor, found none of this name");
  CHECK(error(scales(dtype::f32, {1, 2}), {256, 128}) ==
        "file: tensor w.weight_scale_inv: expected shape [2, 1], found another");
  CHECK(error(scales(dtype::f32, {}), {256, 128}) ==
        "file: tensor w.weight_scale_inv: expected shape [2, 1], found another");
  CHECK(error(scales(dtype::f16, {2, 1}), {256, 128}) ==
        "file: tensor w.weight_scale_inv: expected f32 or bf16, found another type");
  CHECK(error(scales(dtype::f32, {2, 1}), {2, 128, 128}) ==
        "file: tensor w.weight: expected two dimensions in f8_e4m3, found 3");
}
