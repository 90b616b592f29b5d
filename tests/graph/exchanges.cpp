// SPDX-License-Identifier: MIT
// exchanges.cpp: how programs are cut over ranks: every unit is one rank's, and a Qwen3 layer has four exchanges.
#include <cke/graph/describe_ranks.hpp>
#include <cke/models/gemma3.hpp>
#include <cke/models/qwen3.hpp>
#include <cke/models/qwen3_moe.hpp>

#include <doctest/doctest.h>

#include <vector>

#include "../blocks.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

using dense = program<Qwen3_0_6B, Q8_0>;
using experts = program<Qwen3_30B_A3B, Q8_0>;

static_assert(count_exchanges(dense::body<0>(), form::decode) == 4);
static_assert(count_exchanges(dense::body<0>(), form::prefill) == 4);
static_assert(count_exchanges(experts::body<0>(), form::decode) == 4);
static_assert(count_exchanges(experts::body<0>(), form::prefill) == 4);
static_assert(count_exchanges(dense::header_code(), form::decode) == 1);
static_assert(count_exchanges(dense::footer_code(), form::decode) == 1);

// Gemma scales a token's embedding in the phase that reads it from the table: all ranks need it before.
constexpr bool is_exchanged_before_scale(form f) {
  const code& c = program<Gemma_3_1B, Q8_0>::header_code();
  bool before = false;
  for_each_run(c, phases_of(c, f), [&](u32, u32 end) {
    before |= c.ops[end - 1].op == opcode::embedding && c.ops[end].op == opcode::scale;
  });
  return before;
}
static_assert(is_exchanged_before_scale(form::decode) && is_exchanged_before_scale(form::prefill));
static_assert(count_exchanges(program<Gemma_3_1B, Q8_0>::header_code(), form::decode) == 1);

// Calls f(code) for the codes of some programs.
template <class F> void each_code_of_all(F f) {
  for (const code* c : {&dense::header_code(), &dense::body<0>(), &dense::footer_code(), &experts::body<0>()}) f(*c);
}

TEST_CASE("exchanges: a rank's units of a matrix are those of its packed rows, and each is one rank's") {
  each_code_of_all([](const code& c) {
    for (u32 slot = 0; slot < c.slots.size(); ++slot) {
      if (!c.slots[slot].quantisable) continue;
      for (const u32 ranks : {1u, 2u, 3u, 5u, 64u}) {
        CAPTURE(ranks);
        const u32 units = packed_units(c.slots[slot]);
        std::vector<u32> owners(units);
        for (u32 r = 0; r < ranks; ++r) {
          const own_rows own = own_rows_of(c, slot, {r, ranks});
          for (u32 u = 0; u < units; ++u) owners[u] += own.has(u);
        }
        const bool whole = own_rows_of(c, slot, {0, ranks}) == own_rows{};
        for (const u32 n : owners) CHECK(n == (whole ? ranks : 1));
      }
    }
  });
}

TEST_CASE("exchanges: columns of an output are one rank's each, and all of them") {
  each_code_of_all([](const code& c) {
    for (u32 at = 0; at < c.ops.size(); ++at) {
      const cut_step how = cut_of(c, at);
      if (how.by == rank_cut::none || how.by == rank_cut::ids) continue;
      for (u32 o = 0; o < c.ops[at].out.count; ++o)
        for (const u32 ranks : {1u, 2u, 3u, 5u, 64u}) {
          CAPTURE(ranks);
          std::vector<u32> writers(c.regs[c.ops[at].out[o]].width);
          for (u32 r = 0; r < ranks; ++r)
            for_own_columns(c, at, o, {r, ranks}, [&](u32 first, u32 count) {
              for (u32 i = first; i < first + count; ++i) ++writers[i];
            });
          bool once = true;
          for (const u32 n : writers) once &= n == 1;
          CHECK(once);
        }
    }
  });
}

TEST_CASE("exchanges: units of a step, of a few heads and of experts") {
  const code& c = experts::body<0>();
  const auto step = [&](opcode op) {
    u32 at = 0;
    while (c.ops[at].op != op) ++at;
    return at;
  };
  const auto units_of_rank = [&](u32 at, split by, share_of_rank who, u32 units) {
    const own_units own(c, at, by, who, units);
    std::vector<u32> all;
    for (u32 k = 0; k < own.count(); ++k) all.push_back(own[k]);
    return all;
  };
  // 4 kv heads of 128: 16 units of q, 4 of k and of v for each pair of ranks' heads
  const u32 qkv = step(opcode::qkv_matmul);
  CHECK(units_of_rank(qkv, split::kv_heads, {1, 2}, 4) == std::vector<u32>{2, 3});
  const std::vector<u32> rows = units_of_rank(qkv, split::rows, {3, 4}, 160);
  REQUIRE(rows.size() == 40);
  CHECK(std::vector<u32>{rows[0], rows[31], rows[32], rows[36]} == std::vector<u32>{96, 127, 140, 156});
  // 768 rows of each expert: 24 units
  CHECK(units_of_rank(step(opcode::expert_act), split::experts, {23, 24}, 48) == std::vector<u32>{23, 47});
}

TEST_CASE("exchanges: the plan of ranks: what they hold adds up, beside what each has whole") {
  u64 matrices = 0, vectors = 0;
  dense::for_each_weight([&](const weight& w) { (w.slot.quantisable ? matrices : vectors) += w.bytes; });
  for (const u32 ranks : {1u, 2u, 4u}) {
    const u64 each = matrices / ranks + vectors;
    std::string list = std::to_string(each);
    for (u32 r = 1; r < ranks; ++r) list += ',' + std::to_string(each);
    const std::string plan = describe_ranks_json(dense::data, ranks, 2);
    CHECK(plan.find("\"weight_bytes\":[" + list + ']') != std::string::npos);
    CHECK(plan.find("\"exchanges\":114") != std::string::npos);  // 28 layers of 4, header and footer
  }
}

}  // namespace
