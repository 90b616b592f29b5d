// SPDX-License-Identifier: MIT
// unrolled_model.hpp: an unrolled model and the same one over tables, on the same numbers.
#pragma once

#include "../sameness/sameness.hpp"
#include "cke/runtime/unrolled_executor.hpp"

namespace unrolled_model {

using namespace cke;
using namespace cke::graph;
using namespace cke::runtime;
using random_model::same_bits;

template <class M, class Formats> struct pair {
  template <class How> using machine = sameness::machine<Formats, default_kv<Formats>, isa::native, 310, M, How>;
  using tables = machine<by_tables>;
  using straight = machine<unrolled>;
  using sequence = typename straight::sequence;
  static constexpr u32 vocab = straight::vocab;

  // However the text is cut: one by one, all at once, or at these places, around the rows that a pass has.
  static void check_bits() {
    const std::vector<float> want = tables::prefilled(tables::load(2, 64, 3));
    REQUIRE(want.size() == 310 * u64{vocab});
    REQUIRE(std::ranges::all_of(want, [](float x) { return std::isfinite(x); }));
    const auto m = straight::load(1, 512, 3);
    CHECK(same_bits(want, straight::decoded(m)));
    CHECK(same_bits(want, straight::prefilled(m)));
    sequence s(m);
    for (const u32 count : {1u, 15u, 16u, 17u, 2u, 48u, 31u, 128u}) {
      s.feed(std::span(straight::ids()).subspan(s.position(), count));
      CAPTURE(s.position());
      CHECK(same_bits(s.logits(), std::span(want).subspan(u64{s.position() - 1} * vocab, vocab)));
    }
  }
};

}  // namespace unrolled_model
