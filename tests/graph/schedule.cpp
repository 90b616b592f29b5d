// SPDX-License-Identifier: MIT
// schedule.cpp: phases are simulated: inside one, nobody touches what somebody else writes.
#include "cke/graph/schedule.hpp"

#include <doctest/doctest.h>

#include <map>

#include "cke/graph/program.hpp"
#include "cke/models/llama.hpp"
#include "cke/models/qwen3.hpp"
#include "random_code.hpp"

using namespace cke;

namespace {

// A register is a grid of cells, tokens by columns; a unit of work covers some of them.
constexpr u32 tokens = 3, columns = 4, cells = tokens * columns, all_cells = (1u << cells) - 1;
u32 units(split by) { return by == split::tokens ? tokens : by == split::tiles ? cells : by == split::redundant ? 1 : columns; }
u32 covered(split by, u32 unit) {
  u32 mask = 0;
  for (u32 t = 0; t < tokens; ++t)
    for (u32 c = 0; c < columns; ++c) {
      const bool mine = by == split::tokens ? t == unit : by == split::tiles ? t * columns + c == unit : by == split::redundant || c == unit;
      if (mine) mask |= 1u << (t * columns + c);
    }
  return mask;
}

struct touched { u32 read{}, written{}; };
using trace = std::map<u32, touched>;  // by register; states come after the registers

// What one unit of a step touches in memory that is shared.
void touch(const code& c, form f, const instruction& i, u32 unit, trace& t) {
  const shares how = shares_of(i.op, f);
  const u32 mine = covered(how.by, unit), seen = how.own ? mine : all_cells;
  for (u32 k = 0; k < i.in.count; ++k)
    if (!is_private(c, f, i.in[k])) t[i.in[k]].read |= i.out.has(i.in[k]) ? mine : seen;
  for (u32 k = 0; k < i.out.count; ++k)
    if (!is_private(c, f, i.out[k])) t[i.out[k]].written |= mine;
  if (i.op == opcode::kv_store) t[max_regs + i.state].written |= mine;
  else if (i.state != absent) t[max_regs + i.state].read |= seen;
}

// Empty when the schedule is right; else what is wrong.
std::string trouble_in(const code& c, form f, const schedule& s) {
  u32 next = 0;
  for (const phase& p : s.phases) {
    if (p.first != next || p.redundant + p.count == 0) return "a step is skipped or repeated";
    next = p.first + 1u * p.redundant + p.count;
    std::vector<trace> actors;
    if (p.redundant) {  // a thread that is still in the steps that all repeat
      actors.emplace_back();
      for (u32 i = p.first; i < u32{p.first} + p.redundant; ++i) {
        if (shares_of(c.ops[i].op, f).by != split::redundant) return "a step is repeated by all threads";
        touch(c, f, c.ops[i], 0, actors.back());
      }
    }
    for (u32 unit = 0; p.count && unit < units(p.by); ++unit) {
      actors.emplace_back();
      for (u32 i = u32{p.first} + p.redundant; i < next; ++i) {
        if (shares_of(c.ops[i].op, f).by != p.by) return "a step is cut in another way than its phase";
        touch(c, f, c.ops[i], unit, actors.back());
      }
    }
    for (const trace& a : actors)
      for (const trace& b : actors)
        for (const auto& [r, x] : a)
          if (const auto y = b.find(r); &a != &b && y != b.end() && (x.written & (y->second.read | y->second.written)))
            return "phase from step " + std::to_string(p.first) + ": register " + std::to_string(r);
  }
  return next == c.ops.size() ? "" : "steps are missing";
}

constexpr form forms[]{form::decode, form::prefill};

template <class P> void check_program() {
  for (const form f : forms) {
    CHECK(trouble_in(P::head(), f, phases_of(P::head(), f)) == "");
    for (const code* c : P::bodies) CHECK(trouble_in(*c, f, phases_of(*c, f)) == "");
    CHECK(trouble_in(P::foot(), f, phases_of(P::foot(), f)) == "");
  }
}

}  // namespace

TEST_CASE("schedule: random codes run in phases without a race") {
  std::mt19937 random(2);
  u32 longer = 0;
  for (u32 trial = 0; trial < 1000; ++trial) {
    const code c = random_code(random, 1 + trial % 30);
    for (const form f : forms) {
      const schedule s = phases_of(c, f);
      CHECK(trouble_in(c, f, s) == "");
      longer += s.barriers() < c.ops.size();
    }
  }
  CHECK(longer > 1000);  // a barrier after every step would pass too
}

TEST_CASE("schedule: programs of models, fused and not") {
  check_program<program<Qwen3_0_6B, Q8_0>>();
  check_program<program<Qwen3_0_6B, Q8_0, false>>();
  check_program<program<Llama_3_2_1B, BF16>>();
  check_program<program<Llama_3_2_1B, F32, false>>();
}

TEST_CASE("schedule: taking any barrier away is seen, or the two phases could not be one anyway") {
  const code& c = program<Qwen3_0_6B, Q8_0>::body<0>();
  const schedule s = phases_of(c, form::decode);
  REQUIRE(s.barriers() == 4);
  for (u32 at = 0; at + 1 < s.phases.size(); ++at) {
    schedule fewer = s;
    fewer.phases[at].count = static_cast<u8>(fewer.phases[at].count + s.phases[at + 1].redundant + s.phases[at + 1].count);
    for (u32 k = at + 1; k + 1 < s.phases.size(); ++k) fewer.phases[k] = s.phases[k + 1];
    --fewer.phases.count;
    CHECK(trouble_in(c, form::decode, fewer) != "");
  }
}
