// SPDX-License-Identifier: MIT
// gemm.cpp: products with strides, against sums in double, and the bits of cut ones.
#include <doctest/doctest.h>

#include <cke/train/gemm.hpp>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace cke;
using namespace cke::train;

std::vector<float> random_numbers(u64 n, u32 seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> number;
  std::vector<float> x(n);
  for (float& v : x) v = number(random);
  return x;
}

// A product of odd sizes, with A and B each as stored or transposed, added to a C whose rows are further apart.
struct some_product {
  u32 m, n, k;
  bool a_turned, b_turned;
  std::vector<float> a = random_numbers(u64{m} * k, 1), b = random_numbers(u64{k} * n, 2),
                     c = random_numbers(u64{m} * (n + 3), 3);

  some_product times(float factors, float sums) const {
    some_product to = *this;
    for (float& x : to.a) x *= factors;
    for (float& x : to.b) x *= factors;
    for (float& x : to.c) x *= sums;
    return to;
  }
  product whole(std::vector<float>& to, bool bf16 = false) const {
    return {m,
            n,
            k,
            a.data(),
            a_turned ? 1u : k,
            a_turned ? m : 1u,
            b.data(),
            b_turned ? 1u : n,
            b_turned ? k : 1u,
            to.data(),
            n + 3,
            bf16};
  }
};

template <class Isa> void check(const some_product& p) {
  std::vector<std::byte> scratch(gemm<Isa>::scratch_bytes + 64);
  std::vector<float> once = p.c;
  const product all = p.whole(once);
  gemm<Isa>::all(all, scratch.data());
  for (u32 i = 0; i < p.m; ++i)
    for (u32 j = 0; j < p.n; ++j) {
      double want = static_cast<double>(p.c[i * all.cm + j]), size = std::abs(want);
      for (u32 k = 0; k < p.k; ++k) {
        const double term =
            static_cast<double>(all.a[i * all.am + k * all.ak]) * static_cast<double>(all.b[k * all.bk + j * all.bn]);
        want += term, size += std::abs(term);
      }
      REQUIRE(std::abs(static_cast<double>(once[i * all.cm + j]) - want) <= 1e-6 * size);
    }
  for (u32 i = 0; i < p.m; ++i)  // what lies between the rows is untouched
    CHECK(std::memcmp(&once[i * all.cm + p.n], &p.c[i * all.cm + p.n], 3 * sizeof(float)) == 0);
}

// A product has the same bits in parts.
template <class Isa> void check_parts(const some_product& p, bool bf16) {
  std::vector<std::byte> scratch(gemm<Isa>::scratch_bytes + 64);
  std::vector<float> once = p.c, cut = p.c;
  gemm<Isa>::all(p.whole(once, bf16), scratch.data());

  // Row by row, and k in three parts.
  const u32 cuts[]{0, p.k / 3, p.k - p.k / 4, p.k};
  for (u32 part = 0; part < 3; ++part)
    for (u32 i = 0; i < p.m; ++i) {
      product one = p.whole(cut, bf16);
      one.m = 1, one.a += i * one.am + cuts[part] * one.ak, one.c += i * one.cm;
      one.b += cuts[part] * one.bk, one.k = cuts[part + 1] - cuts[part];
      gemm<Isa>::all(one, scratch.data());
    }
  CHECK(std::memcmp(cut.data(), once.data(), once.size() * sizeof(float)) == 0);

  // In the units of several threads.
  for (const u32 threads : {2u, 7u}) {
    std::vector<float> shared = p.c;
    const product parts = p.whole(shared, bf16);
    const auto units = gemm<Isa>::cut_for(p.m, p.n, threads);
    for (u32 u = 0; u < units.units; ++u) gemm<Isa>::unit(parts, units, u, scratch.data());
    CHECK(std::memcmp(shared.data(), once.data(), once.size() * sizeof(float)) == 0);
  }
}

// A product that sets C has the bits of one that adds to zeros, or to a row's numbers in every row.
template <class Isa> void check_begun(const some_product& p, bool bf16) {
  std::vector<std::byte> scratch(gemm<Isa>::scratch_bytes + 64);
  const std::vector<float> row = random_numbers(p.n, 4);
  for (const float* const begin : {static_cast<const float*>(nullptr), row.data()}) {
    std::vector<float> want = p.c, found = p.c;
    product adds = p.whole(want, bf16), sets = p.whole(found, bf16);
    for (u32 i = 0; i < p.m; ++i)
      for (u32 j = 0; j < p.n; ++j) {
        want[i * adds.cm + j] = begin ? begin[j] : 0;
        found[i * adds.cm + j] = std::numeric_limits<float>::quiet_NaN();
      }
    sets.sets = true, sets.row = begin;
    gemm<Isa>::all(adds, scratch.data());
    gemm<Isa>::all(sets, scratch.data());
    CHECK(std::memcmp(found.data(), want.data(), found.size() * sizeof(float)) == 0);
  }
}

// With factors that it rounds, a product has the bits of one whose factors were rounded before.
template <class Isa> void check_bf16(const some_product& p) {
  std::vector<std::byte> scratch(gemm<Isa>::scratch_bytes + 64);
  some_product before = p;
  for (std::vector<float>* const numbers : {&before.a, &before.b})
    for (float& x : *numbers) x = from_bf16(to_bf16(x));
  std::vector<float> want = p.c, found = p.c;
  gemm<Isa>::all(before.whole(want), scratch.data());
  gemm<Isa>::all(p.whole(found, true), scratch.data());
  CHECK(std::memcmp(found.data(), want.data(), want.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("train: gemm", Isa, isa::scalar, isa::native) {
  for (const auto& [m, n, k] : {std::array{1u, 1u, 1u},
                                {7u, 5u, 3u},
                                {100u, 33u, 17u},
                                {13u, 150u, 300u},
                                {97u, 129u, 257u},
                                {25u, 67u, 0u},
                                {700u, 40u, 20u},
                                {50u, 300u, 600u}}) {
    if (std::is_same_v<Isa, isa::scalar> && m * n * k > 1'000'000) continue;  // it has no blocks to cross
    for (const bool a : {false, true})
      for (const bool b : {false, true}) {
        const some_product p{m, n, k, a, b};
        check<Isa>(p);
        check_bf16<Isa>(p);
        for (const bool bf16 : {false, true}) check_begun<Isa>(p, bf16);
        for (const bool bf16 : {false, true}) {
          check_parts<Isa>(p, bf16);
          check_parts<Isa>(p.times(1e-19f, 1e-38f), bf16);  // some subnormal
          check_parts<Isa>(p.times(1e-25f, 1e-40f), bf16);  // zeros, some of them negative
        }
      }
  }
}
