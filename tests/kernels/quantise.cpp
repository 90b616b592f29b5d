// SPDX-License-Identifier: MIT
// quantise.cpp: tests of kernels/formats/quantise.hpp, against ggml's reference.
#include <cke/io/mapped_file.hpp>
#include <cke/kernels/formats/quantise.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <span>
#include <vector>

using namespace cke;
using namespace cke::kernels;

namespace {

constexpr dtype types[] = {dtype::q4_0,   dtype::q4_1,   dtype::q5_0, dtype::q5_1, dtype::q8_0,
                           dtype::q2_k,   dtype::q3_k,   dtype::q4_k, dtype::q5_k, dtype::q6_k,
                           dtype::iq4_nl, dtype::iq4_xs, dtype::mxfp4};

std::vector<std::byte> quantised(dtype to, const std::vector<float>& numbers) {
  std::vector<std::byte> out(bytes_of(to, numbers.size()) + 1, std::byte{0xa5});
  kernels::quantise(to, numbers.data(), numbers.size(), out.data());
  CHECK(out.back() == std::byte{0xa5});
  out.pop_back();
  return out;
}

}  // namespace

TEST_CASE("quantise: every block is ggml's, bit for bit") {
  const io::mapped_file mapped(CKE_TEST_DATA "/kernels/quantise.bin");
  const std::span<const std::byte> file = mapped.bytes();
  const std::byte* at = file.data();
  std::vector<float> numbers(kernels::read<u32>(at));
  std::memcpy(numbers.data(), at + 4, numbers.size() * 4);
  at += 4 + numbers.size() * 4;
  for (const dtype t : types) {
    CAPTURE(info(t).name);
    const std::vector<std::byte> ours = quantised(t, numbers);
    const u32 block = info(t).bytes;
    for (std::size_t i = 0; i < ours.size(); i += block, at += block) {
      CAPTURE(i / block * info(t).block / 256);
      CHECK(std::memcmp(&ours[i], at, block) == 0);
    }
  }
  CHECK(at == file.data() + file.size());
}

TEST_CASE("quantise: numbers too small for a reciprocal, and the greatest, are no trap") {
  std::vector<float> numbers(256);
  for (const float size : {std::numeric_limits<float>::denorm_min(), 3e-39f, 1e-20f, 65504.f}) {
    for (u32 i = 0; i < 256; ++i) numbers[i] = size * (i % 3 == 0 ? -1.f : i % 5 == 0 ? 1.f : 0.25f);
    for (const dtype t : types) {
      CAPTURE(info(t).name);
      CAPTURE(size);
      CHECK(quantised(t, numbers) == quantised(t, numbers));
    }
  }
}
