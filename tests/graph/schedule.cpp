// SPDX-License-Identifier: MIT
// schedule.cpp: phases are simulated: inside one, nobody touches what somebody else writes.
#include "cke/graph/schedule.hpp"

#include <doctest/doctest.h>

#include <map>

#include "cke/graph/program.hpp"
#include "cke/models/gemma3.hpp"
#include "cke/models/glm4_moe.hpp"
#include "cke/models/llama.hpp"
#include "cke/models/qwen2_moe.hpp"
#include "cke/models/qwen3_moe.hpp"
#include "disjoint.hpp"
#include "random_code.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

// A register is a grid of cells, tokens by columns; a unit of work covers some of them.
constexpr u32 tokens = 3, columns = 4, cells = tokens * columns, all_cells = (1u << cells) - 1;
u32 units(split by) {
  return by == split::tokens ? tokens : by == split::tiles ? cells : by == split::per_thread ? 1 : columns;
}
u32 covered(split by, u32 unit) {
  u32 mask = 0;
  for (u32 t = 0; t < tokens; ++t)
    for (u32 c = 0; c < columns; ++c) {
      const bool mine = by == split::tokens ? t == unit
          : by == split::tiles              ? t * columns + c == unit
                                            : by == split::per_thread || c == unit;
      if (mine) mask |= 1u << (t * columns + c);
    }
  return mask;
}

struct touched {
  u32 read{}, written{};
};
using trace = std::map<u32, touched>;  // by register; states come after the registers

// What one unit of a step touches in memory that is shared.
void touch(const code& c, form f, const instruction& i, u32 unit, trace& t) {
  const partition how = partition_of(i, f);
  const u32 mine = covered(how.by, unit), seen = how.local ? mine : all_cells;
  for (u32 k = 0; k < i.in.count; ++k)
    if (!is_per_thread(c, f, i.in[k])) t[i.in[k]].read |= i.out.has(i.in[k]) ? mine : seen;
  for (u32 k = 0; k < i.out.count; ++k)
    if (!is_per_thread(c, f, i.out[k])) t[i.out[k]].written |= mine;
  if (i.op == opcode::kv_store) t[max_regs + i.state].written |= mine;
  else if (i.state != absent) t[max_regs + i.state].read |= seen;
}

// Empty when the schedule is right; else what is wrong. Whoever may work at the same time is an actor: between two
// barriers every unit of every phase, and a thread that is still in the steps that all repeat.
std::string trouble_in(const code& c, form f, const schedule& s) {
  u32 next = 0;
  std::vector<trace> actors;
  for (const phase& p : s.phases) {
    if (p.first != next || p.per_thread + p.count == 0) return "a step is skipped or repeated";
    next = p.first + 1u * p.per_thread + p.count;
    if (p.per_thread) {
      actors.emplace_back();
      for (u32 i = p.first; i < u32{p.first} + p.per_thread; ++i) {
        if (partition_of(c.ops[i], f).by != split::per_thread) return "a step is repeated by all threads";
        touch(c, f, c.ops[i], 0, actors.back());
      }
    }
    for (u32 unit = 0; p.count && unit < units(p.by); ++unit) {
      actors.emplace_back();
      for (u32 i = u32{p.first} + p.per_thread; i < next; ++i) {
        if (partition_of(c.ops[i], f).by != p.by) return "a step is cut in another way than its phase";
        touch(c, f, c.ops[i], unit, actors.back());
      }
    }
    if (!p.barrier) continue;
    for (const trace& a : actors)
      for (const trace& b : actors)
        for (const auto& [r, x] : a)
          if (const auto y = b.find(r); &a != &b && y != b.end() && (x.written & (y->second.read | y->second.written)))
            return "phase from step " + std::to_string(p.first) + ": register " + std::to_string(r);
    actors.clear();
  }
  if (!actors.empty()) return "no barrier at the end";
  return next == c.ops.size() ? "" : "steps are missing";
}

constexpr form forms[]{form::decode, form::prefill};

template <class P> void check_program() {
  for (const form f : forms) {
    CHECK(trouble_in(P::header_code(), f, phases_of(P::header_code(), f)) == "");
    for (const code* c : P::bodies) CHECK(trouble_in(*c, f, phases_of(*c, f)) == "");
    CHECK(trouble_in(P::footer_code(), f, phases_of(P::footer_code(), f)) == "");
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
  check_program<program<Gemma_3_270M, Q8_0>>();  // one kv head
}

// In every code, no barrier but those that somebody needs: without it two actors would meet.
void check_no_barrier_is_idle(const code& c, form f) {
  const schedule s = phases_of(c, f);
  for (u32 at = 0; at + 1 < s.phases.size(); ++at) {
    if (!s.phases[at].barrier) continue;
    schedule fewer = s;
    fewer.phases[at].barrier = false;
    CHECK(trouble_in(c, f, fewer) != "");
  }
}

TEST_CASE("schedule: taking any barrier away is seen") {
  const code& dense = program<Qwen3_0_6B, Q8_0>::body<0>();
  REQUIRE(phases_of(dense, form::decode).barriers() == 4);
  for (const form f : forms) check_no_barrier_is_idle(dense, f);
  for (const form f : forms) check_no_barrier_is_idle(program<GLM_4_5_Air, Q8_0>::body<1>(), f);
}

TEST_CASE("schedule: steps that have nothing to do with one another need no barrier between them") {
  builder b(64);
  const reg x = b.temp(64);
  b.emit(opcode::rmsnorm, {stream}, {x});
  const reg one = b.temp(64), two = b.temp(64), sum = b.temp(64);
  b.emit(opcode::matmul, {x}, {one});
  b.emit(opcode::router, {x}, {two});
  b.emit(opcode::residual_add, {one, two}, {sum});
  const schedule s = phases_of(b, form::decode);
  REQUIRE(s.phases.size() == 3);
  CHECK(!s.phases[0].barrier);
  CHECK(s.barriers() == 2);
  CHECK(trouble_in(b, form::decode, s) == "");
  const layout l = place_registers(b, form::decode, 4);  // what lives at once lies apart, over phases too
  CHECK(disjoint(b, form::decode, l));
  CHECK((l.offset[one] + l.bytes[one] <= l.offset[two] || l.offset[two] + l.bytes[two] <= l.offset[one]));
}

TEST_CASE("schedule: a mixture of experts") {
  check_program<program<Qwen3_30B_A3B, Q8_0>>();
  check_program<program<Qwen1_5_MoE_A2_7B, Q8_0, false>>();
  check_program<program<GLM_4_5_Air, BF16>>();
}
