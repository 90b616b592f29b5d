// SPDX-License-Identifier: MIT
// numbers.hpp: what kernel tests share: fixtures of numbers, random rows, comparisons.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "../blocks.hpp"
#include "cke/core/isa.hpp"
#include "cke/kernels/formats/convert.hpp"

namespace numbers {

using cke::u32;
using cke::u64;

// A flat file of T, read from front to back.
template <class T> class fixture {
 public:
  explicit fixture(const char* name) {
    std::ifstream in(std::string(CKE_TEST_DATA "/kernels/") + name,
                     std::ios::binary | std::ios::ate);
    REQUIRE_MESSAGE(in, name);
    values_.resize(static_cast<std::size_t>(in.tellg()) / sizeof(T));
    in.seekg(0).read(reinterpret_cast<char*>(values_.data()),
                     static_cast<std::streamsize>(values_.size() * sizeof(T)));
    REQUIRE(in);
  }
  T next() {
    REQUIRE(at_ < values_.size());
    return values_[at_++];
  }
  u32 count() { return static_cast<u32>(next()); }
  std::vector<T> next(u64 n) {
    REQUIRE(n <= values_.size() - at_);
    at_ += n;
    return {values_.data() + at_ - n, values_.data() + at_};
  }
  bool done() const { return at_ == values_.size(); }

 private:
  std::vector<T> values_;
  std::size_t at_{};
};

inline std::vector<float> random_row(u64 n, u32 seed, float spread = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> row(n);
  for (float& x : row) x = normal(bits);
  return row;
}

// `count` random numbers as a file of type t has them: normal ones, or random codes with small
// scales.
inline std::vector<std::byte> random_file(cke::dtype t, u64 count, u32 seed) {
  std::vector<std::byte> out(cke::bytes_of(t, count));
  if (cke::kernels::convertible(t)) {
    cke::kernels::from_f32(t, random_row(count, seed).data(), static_cast<u32>(count), out.data());
    return out;
  }
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal(0, t == cke::dtype::q6_k || t == cke::dtype::iq4_xs ? 0.001f : 0.01f);
  for (std::byte& b : out) b = static_cast<std::byte>(bits());
  for (u64 block = 0; block < out.size(); block += cke::info(t).bytes) {
    const float d = normal(bits);
    blocks::set_scales(t, &out[block], d, normal(bits));
  }
  return out;
}

// The greatest |a - b| / (1 + |b|); infinite for a NaN.
inline double distance(const float* a, const float* b, u64 n) {
  double worst = 0;
  for (u64 i = 0; i < n; ++i) {
    const double d = std::abs(double{a[i]} - double{b[i]}) / (1 + std::abs(double{b[i]}));
    worst = d <= worst ? worst : std::isnan(d) ? HUGE_VAL : d;
  }
  return worst;
}
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  return distance(a.data(), b.data(), a.size());
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Packed weights and registers begin at a cache line.
struct cache_line {
  alignas(64) std::byte bytes[64];
};
inline std::byte* data_of(std::vector<cache_line>& lines) { return reinterpret_cast<std::byte*>(lines.data()); }
inline const std::byte* data_of(const std::vector<cache_line>& lines) { return reinterpret_cast<const std::byte*>(lines.data()); }

// Every isa that this build can run: the native one and its bases. Tests that run under an emulator leave out the
// oracle, which is not about its machine.
template <class Isa, class F> void for_each_isa(F&& f) {
  f.template operator()<Isa>();
#ifdef CKE_TEST_EMULATED
  if constexpr (!std::is_same_v<typename Isa::base, cke::isa::scalar>)
#endif
    if constexpr (!std::is_void_v<typename Isa::base>) for_each_isa<typename Isa::base>(f);
}
template <class F> void for_each_isa(F&& f) { for_each_isa<cke::isa::native>(std::forward<F>(f)); }

// And avx2_vnni, which may be none of them, and is avx2 but for the dots of integers.
template <class Isa> inline constexpr bool is_another_avx2 = std::is_same_v<Isa, cke::isa::avx2_vnni> && !std::is_same_v<Isa, cke::isa::native>;
template <class F> void for_each_isa_of_integers(F&& f) {
  for_each_isa(f);
#ifdef CKE_HAS_AVX2_VNNI
  if constexpr (is_another_avx2<cke::isa::avx2_vnni>) f.template operator()<cke::isa::avx2_vnni>();
#endif
}

}  // namespace numbers
