// SPDX-License-Identifier: MIT
// rank_link.hpp: a rank's way to the others that run a model with it, and how an executor works without them.
#pragma once

#include "../core/types.hpp"

namespace cke::runtime {

// `count` 1: there are no others.
struct rank_link {
  u32 rank = 0, count = 1;
  // Every rank calls it with the same sizes, bytes[count]. Returns when `all` has the parts of all ranks, one after the
  // other. It does not fail: where a rank is lost, the process ends.
  void (*all_gather)(void* user, const void* mine, void* all, const u64* bytes) = nullptr;
  void* user = nullptr;
};

// All units of every step are its own, and nothing is exchanged. ranks.hpp has the other way.
struct one_rank {
  one_rank(const auto&, const auto&) {}
  struct all_units {
    u32 units;
    u32 count() const { return units; }
    u32 operator[](u32 n) const { return n; }
  };
  static all_units own(const auto&, u32, auto, u32 units) { return {units}; }
  static constexpr bool runs_apart(const auto&, const auto&, u32) { return false; }
  static void run_apart(auto&, const auto&, const auto&, u32, auto*) {}
  static void exchange(auto&, const auto&, u32) {}
};

}  // namespace cke::runtime
