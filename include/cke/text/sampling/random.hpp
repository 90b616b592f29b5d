// SPDX-License-Identifier: MIT
// random.hpp: random numbers as a pure function of (seed, position), so that sampling has no state.
#pragma once

#include <array>

#include "../../core/types.hpp"

namespace cke::text {

// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC
// 2011). A keyed bijection of 128-bit counters; words are least significant first.
constexpr std::array<u32, 4> philox4x32(std::array<u32, 4> counter, std::array<u32, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const u64 a = u64{0xD2511F53u} * counter[0];
    const u64 b = u64{0xCD9E8D57u} * counter[2];
    counter = {static_cast<u32>(b >> 32) ^ counter[1] ^ key[0], static_cast<u32>(b),
               static_cast<u32>(a >> 32) ^ counter[3] ^ key[1], static_cast<u32>(a)};
    key[0] += 0x9E3779B9u;  // the golden ratio
    key[1] += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return counter;
}

// The random number for `seed` at `position`: uniform in [0, 1), a multiple of 2^-53. A float's 24 bits could not
// select most of a vocabulary of 150,000: tokens of the tail are rarer than 2^-24.
constexpr double uniform(u64 seed, u64 position) {
  const auto low = [](u64 x) { return static_cast<u32>(x); };
  const auto high = [](u64 x) { return static_cast<u32>(x >> 32); };
  const auto word = philox4x32({low(position), high(position), 0, 0}, {low(seed), high(seed)});
  const u64 bits = (u64{word[0]} << 32 | word[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace cke::text
