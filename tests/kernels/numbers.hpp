// SPDX-License-Identifier: MIT
// numbers.hpp: what kernel tests share: fixtures of numbers, random rows, comparisons.
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "../blocks.hpp"
#include "cke/core/isa.hpp"
#include "cke/io/mapped_file.hpp"
#include "cke/kernels/formats/file_rows.hpp"

namespace numbers {

using cke::u32;
using cke::u64;

// A flat file of T, read from front to back.
template <class T> class fixture {
 public:
  explicit fixture(const char* name) {
    const cke::io::mapped_file file(std::string(CKE_TEST_DATA "/kernels/") + name);
    values_.resize(file.bytes().size() / sizeof(T));
    std::memcpy(values_.data(), file.bytes().data(), values_.size() * sizeof(T));
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

// Where two rows of numbers differ most, for a message: in `width` columns, or one long row where that is 0.
struct difference {
  double apart{};            // the greatest |got - want| / (1 + |want|); infinite for a NaN
  u64 at{}, differ{}, of{};  // where; how many numbers differ at all, of how many
  u64 width{};
  float got{}, want{};

  bool operator<(double bound) const { return apart < bound; }
  bool operator<=(double bound) const { return apart <= bound; }
  bool operator==(double bound) const { return apart == bound; }
  friend std::ostream& operator<<(std::ostream& out, const difference& d) {
    if (d.differ == 0 && d.apart == 0) return out << "no difference";
    out << d.apart << " at ";
    if (d.width) out << "row " << d.at / d.width << ", column " << d.at % d.width;
    else out << "number " << d.at;
    const auto digits = out.precision(9);  // that tell all floats apart
    out << ": " << d.got << " instead of " << d.want << " (" << d.differ << " of " << d.of << " differ)";
    out.precision(digits);
    return out;
  }
};
inline difference distance(const float* a, const float* b, u64 n, u64 width = 0) {
  difference worst{.of = n, .width = width};
  for (u64 i = 0; i < n; ++i) {
    const bool same = std::bit_cast<u32>(a[i]) == std::bit_cast<u32>(b[i]);
    if (same && std::isfinite(a[i])) continue;
    const double d = std::abs(double{a[i]} - double{b[i]}) / (1 + std::abs(double{b[i]}));
    if (!(d <= worst.apart) || worst.differ == 0)
      worst.apart = std::isnan(d) ? HUGE_VAL : d, worst.at = i, worst.got = a[i], worst.want = b[i];
    worst.differ += !same;
  }
  return worst;
}
inline difference distance(const std::vector<float>& a, const std::vector<float>& b, u64 width = 0) {
  REQUIRE(a.size() == b.size());
  return distance(a.data(), b.data(), a.size(), width);
}

// Whether all bits are the same; a failed check prints where they are not.
struct equality : difference {
  explicit operator bool() const { return differ == 0; }
};
inline equality same_bits(const std::vector<float>& a, const std::vector<float>& b, u64 width = 0) {
  if (a.size() != b.size())
    return {{.apart = HUGE_VAL, .at = std::min(a.size(), b.size()), .differ = 1, .of = b.size()}};
  return {distance(a, b, width)};
}

// Numbers that a test looks at one by one: a failed CHECK of it prints the worst of those that are wrong.
class looked_at {
 public:
  void see(bool right, u64 row, u64 column, double got, double want) {
    ++of_;
    if (right) return;
    const double apart = std::abs(got - want);
    if (wrong_++ == 0 || !(apart <= apart_)) apart_ = apart, row_ = row, column_ = column, got_ = got, want_ = want;
  }
  explicit operator bool() const { return wrong_ == 0; }
  friend std::ostream& operator<<(std::ostream& out, const looked_at& all) {
    if (all.wrong_ == 0) return out << "all " << all.of_ << " right";
    const auto digits = out.precision(17);
    out << all.wrong_ << " of " << all.of_ << " wrong, the worst in row " << all.row_ << ", column " << all.column_
        << ": " << all.got_ << " instead of " << all.want_;
    out.precision(digits);
    return out;
  }

 private:
  u64 of_{}, wrong_{}, row_{}, column_{};
  double apart_{}, got_{}, want_{};
};

// Packed weights and registers begin at a cache line.
struct cache_line {
  alignas(64) std::byte bytes[64];
};
inline std::byte* data_of(std::vector<cache_line>& lines) { return reinterpret_cast<std::byte*>(lines.data()); }
inline const std::byte* data_of(const std::vector<cache_line>& lines) {
  return reinterpret_cast<const std::byte*>(lines.data());
}

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
template <class Isa> inline constexpr bool is_another_avx2 =
    std::is_same_v<Isa, cke::isa::avx2_vnni> && !std::is_same_v<Isa, cke::isa::native>;
template <class F> void for_each_isa_of_integers(F&& f) {
  for_each_isa(f);
#ifdef CKE_HAS_AVX2_VNNI
  if constexpr (is_another_avx2<cke::isa::avx2_vnni>) f.template operator()<cke::isa::avx2_vnni>();
#endif
}

}  // namespace numbers
