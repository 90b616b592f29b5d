// SPDX-License-Identifier: MIT
// similarity.cpp: the score of an image and a text, and the two numbers of a checkpoint that it needs.
#include "cke/similarity.hpp"

#include <vector>

#include "refused.hpp"

using namespace cke;
using towers::refused;

namespace {

// A file with two numbers of a type.
template <class Bits> struct two_numbers {
  Bits scale, bias;
  dtype type;
  const char* stored;

  similarity read() const {
    const auto one = [&](const char* name, const Bits& bits) {
      return io::tensor_ref{name, type, stored, {1}, std::as_bytes(std::span(&bits, 1)), {}};
    };
    return read_similarity(io::tensor_index({one("logit_bias", bias), one("logit_scale", scale)}), "file");
  }
};

}  // namespace

TEST_CASE("similarity: the cosine of two rows, scaled and shifted") {
  const similarity of{.scale = 10, .bias = -2};
  const std::vector<float> a{3, 0, 4}, b{6, 0, 8}, across{0, 5, 0}, none(3);
  CHECK(of.logit(a, b) == doctest::Approx(8));
  CHECK(of.logit(a, across) == doctest::Approx(-2));
  CHECK(of.logit(a, none) == -2);  // a row without a direction
  CHECK(similarity::probability(0) == 0.5);
  CHECK(similarity::probability(-1000) == 0);
  CHECK(refused(errc::usage, [&] { of.logit(a, std::vector<float>(2)); }) ==
        "row of a text: expected 3 numbers, as that of the image, found 2");
}

TEST_CASE("similarity: its numbers may be stored as f32, f16 or bf16") {
  const auto check = [](const similarity& s) {
    CHECK(s.scale == doctest::Approx(std::exp(2.5)));
    CHECK(s.bias == -1.25);
  };
  check(two_numbers<float>{2.5f, -1.25f, dtype::f32, "F32"}.read());
  check(two_numbers<u16>{0x4100, 0xbd00, dtype::f16, "F16"}.read());
  check(two_numbers<u16>{0x4020, 0xbfa0, dtype::bf16, "BF16"}.read());
  CHECK(refused(errc::tensor_dtype, [] { two_numbers<u64>{1, 1, dtype::q8_0, "I64"}.read(); }) ==
        "file: tensor logit_scale: expected f32, f16 or bf16, found I64");
  CHECK(refused(errc::tensor_missing, [] { read_similarity(io::tensor_index(), "file"); }) ==
        "file: tensor logit_scale: expected one number, found none");
  const float numbers[2]{};
  const io::tensor_ref two{"logit_scale", dtype::f32, "F32", {2}, std::as_bytes(std::span(numbers)), {}};
  CHECK(refused(errc::tensor_shape, [&] { read_similarity(io::tensor_index({two}), "file"); }) ==
        "file: tensor logit_scale: expected one number, found 2");
}
