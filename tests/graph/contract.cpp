// SPDX-License-Identifier: MIT
// contract.cpp: what the runtime contract refuses, and linear scan on random codes.
#include "cke/graph/contract.hpp"

#include <doctest/doctest.h>

#include "cke/graph/program.hpp"
#include "random_code.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

template <class F> std::string error_of(errc code, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(e.code == code);
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("contract: a param block of another version, opcode or size is refused") {
  const param_block good = encode(attention_v1{16, 8, 128, 1e6f, true});
  CHECK(decode<attention_v1>(good) == attention_v1{16, 8, 128, 1e6f, true});
  validate(good);
  const auto refused = [](param_block b) { return error_of(errc::invalid_param_block, [&] { validate(b); }); };
  param_block b = good;
  b.version = 2;
  CHECK(refused(b) == "param block: expected opcode 1, version 1, 20 bytes, found opcode 1, version 2, 20 bytes");
  b = good, b.size = 24;
  CHECK(refused(b) == "param block: expected opcode 1, version 1, 20 bytes, found opcode 1, version 1, 24 bytes");
  b = good, b.op = opcode::rmsnorm;
  CHECK(refused(b) == "param block: expected opcode 0, version 1, 8 bytes, found opcode 0, version 1, 20 bytes");
  b = good, b.op = opcode::rope;
  CHECK(refused(b) == "param block: expected an opcode that has one, found 68");
  b = good, b.data[16] = 2;
  CHECK(refused(b).ends_with("found a bool that is neither 0 nor 1"));
  b = good, b.data[16] = 0;
  CHECK(!decode<attention_v1>(b).is_causal);
}

TEST_CASE("contract: a broken plan is a typed error that names the step and the rule") {
  builder b(32);
  const reg y = b.temp(32);
  b.emit<opcode::rmsnorm>({stream}, {y}, {b.vector(role::norm, 32)}, {.cols = 32});
  b.emit<opcode::residual_add>({stream, y}, {stream}, {}, {.cols = 32});
  CHECK(compile(b).peak_registers == 1);
  CHECK(compile(b).diagnostics.size() == 0);
  const auto refused = [&](auto&& breaks) {
    code c = b;
    breaks(c);
    return error_of(errc::malformed, [&] { compile(c); });
  };
  CHECK(refused([](code& c) { c.ops[0].in = {first_scratch}; }) ==
        "plan step 0: expected a producer before each reader, found opcode 0");
  CHECK(refused([](code& c) { c.ops[1].in = {u8{40}}; }) ==
        "plan step 1: expected registers of the plan, found opcode 8");
  CHECK(refused([](code& c) { c.ops[1].out = {u8{first_scratch + 1}}; }) ==
        "plan step 1: expected registers of the plan, found opcode 8");
  CHECK(refused([](code& c) { c.ops[0].weight = {u8{1}}; }) ==
        "plan step 0: expected weights of the plan, found opcode 0");
  CHECK(refused([](code& c) { c.ops[0].state = 0; }) == "plan step 0: expected states of the plan, found opcode 0");
  CHECK(refused([](code& c) { c.ops[0].op = opcode::swiglu; }) ==
        "plan step 0: expected an executable opcode, found opcode 2");
  CHECK(refused([](code& c) { c.ops[0].op = static_cast<opcode>(200); }) ==
        "plan step 0: expected an executable opcode, found opcode 200");
}

TEST_CASE("contract: diagnostics name results and registers that nobody writes") {
  builder b(32);
  const reg unused = b.temp(32), result = b.temp(32);
  b.emit(opcode::rmsnorm, {stream}, {result});
  const compiled_plan p = compile(b);
  REQUIRE(p.diagnostics.size() == 2);
  CHECK(p.diagnostics[0].about == unused);
  CHECK(p.diagnostics[0].level == diagnostic::severity::warn);
  CHECK(p.diagnostics[1].about == result);
  CHECK(p.diagnostics[1].level == diagnostic::severity::info);
}

TEST_CASE("contract: as many physical registers as live at once, and none shared by two that do") {
  std::mt19937 random(6);
  u32 saved = 0;
  for (u32 trial = 0; trial < 500; ++trial) {
    const code c = random_code(random, 1 + trial % 30);
    const compiled_plan p = compile(c);
    const physical_mapping m = map_registers(p, 16);
    CHECK(m.count == p.peak_registers);
    for (u32 a = first_scratch; a < c.regs.size(); ++a) {
      REQUIRE(m.of[a] < m.count);
      CHECK(m.bytes[m.of[a]] >= register_bytes(c.regs[a], 16));
      for (u32 b = first_scratch; b < a; ++b) CHECK(!(m.of[a] == m.of[b] && p.live.overlap(a, b)));
    }
    CHECK(m.of[stream] == absent);
    CHECK(m.of[token_ids] == absent);
    saved += c.regs.size() - first_scratch - m.count;
  }
  CHECK(saved > 500);
}

TEST_CASE("contract: a view has at most four dimensions") {
  const u32 shape[]{2, 3, 4, 5, 6};
  CHECK(describe_view(dtype::f32, std::span(shape).first(4)).stride_elems == std::array<u32, 4>{60, 20, 5, 1});
  CHECK(describe_view(dtype::f32, {}).rank == 0);
  CHECK(error_of(errc::unsupported_rank, [&] { describe_view(dtype::f32, shape); }) ==
        "view: expected at most 4 dimensions, found 5");
}

TEST_CASE("contract: adapters are found at load and routed before a pass") {
  adapter_table<int()> t;
  const auto one = [] { return 1; };
  t.add(opcode::matmul, dtype::q8_0, one, {.supports_batch = true, .supports_graph_emit = false, .max_batch = 2});
  t.add(opcode::rope, dtype::f32, one);
  CHECK(t.find(opcode::matmul, dtype::q8_0)() == 1);
  CHECK(error_of(errc::unsupported_opcode, [&] { t.find(opcode::matmul, dtype::f32); }) ==
        "opcode 66: expected an adapter for f32, found none");
  CHECK(error_of(errc::unsupported_opcode, [&] { t.find(opcode::attend, dtype::f32); }) ==
        "opcode 70: expected an adapter for f32, found none");
  // a step of several formats is another one than that of each alone
  const auto two = [] { return 2; };
  t.add(opcode::matmul, {dtype::q8_0, dtype::q4_k}, two);
  CHECK(t.find(opcode::matmul, dtype::q8_0)() == 1);
  CHECK(t.find(opcode::matmul, {dtype::q8_0, dtype::q4_k})() == 2);
  t.add(opcode::matmul, dtype::q8_0, one, {.supports_batch = true, .supports_graph_emit = false, .max_batch = 2});
  CHECK(error_of(errc::unsupported_opcode, [&] { t.find(opcode::matmul, {dtype::q8_0, dtype::q4_k, dtype::q6_k}); }) ==
        "opcode 66: expected an adapter for q8_0 and q4_k and q6_k, found none");
  const u32 slots[]{4, 1, 7};
  const auto batch = [&](u32 n) { return execution_context{form::decode, std::span(slots).first(n), {}, n}; };
  for (const u32 n : {1u, 2u}) t.route(opcode::matmul, batch(n));
  t.route(opcode::rope, batch(1));
  CHECK(error_of(errc::batch_unsupported, [&] { t.route(opcode::matmul, batch(3)); }) ==
        "opcode 66: expected at most 2 slots, found 3");
  CHECK(error_of(errc::batch_unsupported, [&] { t.route(opcode::rope, batch(2)); }) ==
        "opcode 68: expected at most 1 slots, found 2");
  t.remove(opcode::rope);
  CHECK_THROWS_AS(t.find(opcode::rope, dtype::f32), Error);
}

TEST_CASE("contract: a bias has the number of its matrix, also after one without") {
  builder b(32);
  b.matmul(role::gate, 0, 32, 32);
  b.matmul(role::gate, 0, 32, 32, true);
  b.matmul2(role::gate, role::up, 0, 32, 32, true);
  std::vector<u32> matrices, biases;
  for (const weight_slot& s : b.slots) (s.bias ? biases : matrices).push_back(s.nth);
  CHECK(matrices == std::vector<u32>{0, 1, 2, 0});
  CHECK(biases == std::vector<u32>{1, 2, 0});
}
