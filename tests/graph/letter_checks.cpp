// SPDX-License-Identifier: MIT
// letter_checks.cpp: adapters refuse plans with another dtype, shape, state or parameter block than their steps work
// on.
#include "cke/graph/letter_checks.hpp"

#include <doctest/doctest.h>

#include "cke/graph/program.hpp"
#include "cke/models/deepseek.hpp"
#include "cke/models/gemma3.hpp"
#include "cke/models/gemma4.hpp"
#include "cke/models/granitemoehybrid.hpp"
#include "cke/models/lfm2.hpp"
#include "cke/models/llama.hpp"
#include "cke/models/nemotron_h.hpp"
#include "cke/models/qwen3_5.hpp"
#include "cke/models/qwen3_moe.hpp"
#include "cke/models/qwen3_next.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

// Every plan of a program that is executed, with its stores.
template <class P, class F> void each_plan(F f) {
  f(contract(P::header_code()));
  for (const code* c : P::bodies) f(contract(*c));
  f(contract(P::footer_code()));
}

// The layer of llama3 with its stores, changed.
template <class F> std::string refused(F change, errc code = errc::malformed) {
  using P = program<Llama_3_2_1B, Q8_0, false>;
  execution_plan plan = contract(*P::bodies[0]);
  change(plan);
  try {
    check_letters(plan);
  } catch (const Error& e) {
    CHECK(e.code == code);
    return e.what();
  }
  return "no error";
}

u32 step_of(const execution_plan& plan, opcode op, u32 nth = 0) {
  for (u32 i = 0; i < plan.steps.ops.size(); ++i)
    if (plan.steps.ops[i].op == op && nth-- == 0) return i;
  FAIL("no such step");
  return 0;
}

}  // namespace

TEST_CASE_TEMPLATE("letter_checks: the plans of every kind of letter pass", M, Llama_3_2_1B, Qwen3_30B_A3B,
                   Granite_4_0_H_350M, Gemma_3_270M, Gemma_4_E2B, DeepSeek_V2_Lite, LFM2_350M, Qwen3_5_0_8B) {
  u32 letters = 0;
  const auto check = [&](const execution_plan& plan) {
    check_letters(plan);
    letters += plan.instructions.size();
    for (const instruction& i : plan.steps.ops) CHECK(operands_of(plan.steps, i).known);
  };
  each_plan<program<M, BF16, false>>(check);
  each_plan<program<M, Q4_K_M, false>>(check);
  CHECK(letters > 10);
}

TEST_CASE("letter_checks: another dtype") {
  CHECK(refused([](execution_plan& p) {
          p.steps.regs[p.steps.ops[step_of(p, opcode::rmsnorm)].out[0]].as = dtype::q8_0;
        }) == "letter 0 (rmsnorm), step 0 (rmsnorm): output 0: expected 2048 f32, found 2048 q8_0");
  CHECK(refused([](execution_plan& p) {
          p.steps.regs[p.steps.ops[step_of(p, opcode::quantize)].out[0]].as = dtype::bf16;
        }).find("(matmul): input 0: expected 2048 q8_0, found 2048 bf16") != std::string::npos);
}

TEST_CASE("letter_checks: another shape, of a register, of a weight, or too few operands") {
  CHECK(refused([](execution_plan& p) {
          p.steps.regs[p.steps.ops[step_of(p, opcode::attend)].out[0]].width = 64;
        }).find("(attend): output 0: expected 2048 f32, found 64 f32") != std::string::npos);
  CHECK(refused([](execution_plan& p) {
          p.steps.slots[p.steps.ops[step_of(p, opcode::matmul)].weight[0]].rows = 7;
        }).find("weight q: expected 2048 x 2048, found 7 x 2048") != std::string::npos);
  CHECK(refused([](execution_plan& p) {
          p.steps.ops[step_of(p, opcode::residual_add)].in = {stream};
        }).find("(residual_add): inputs: expected 2 registers, found 1") != std::string::npos);
  CHECK(refused([](execution_plan& p) {
          p.steps.ops[step_of(p, opcode::rope)].in.item[0] = 47;
        }).find("(rope): input 0: expected a register of the plan, found 47") != std::string::npos);
  CHECK(refused([](execution_plan& p) {
          p.steps.ops[step_of(p, opcode::rmsnorm)].weight = {};
        }).find("(rmsnorm): weights: expected 1, found 0") != std::string::npos);
}

TEST_CASE("letter_checks: another state, or none") {
  CHECK(refused([](execution_plan& p) {
          p.steps.states[0].what = keeps_what::conv;
        }).find("(kv_store): state: expected kv of 8 heads of 64, all rows, found conv of 8 heads of 64, all rows") !=
        std::string::npos);
  CHECK(refused([](execution_plan& p) { p.steps.states[0].heads = 4; }).find("found kv of 4 heads") !=
        std::string::npos);
  CHECK(refused([](execution_plan& p) {
          p.steps.ops[step_of(p, opcode::attend)].state = absent;
        }).find("(attend): state: expected kv of 8 heads of 64, all rows, found none") != std::string::npos);
  CHECK(refused([](execution_plan& p) { p.steps.ops[step_of(p, opcode::attend)].state = 3; }).ends_with("found 3"));
  CHECK(refused([](execution_plan& p) {
          p.steps.ops[step_of(p, opcode::rope)].state = 0;
        }).find("(rope): state: expected none, found 0") != std::string::npos);
}

TEST_CASE("letter_checks: parameter blocks say what the steps compute") {
  const errc wrong = errc::invalid_param_block;
  CHECK(refused([](execution_plan& p) { p.param_blocks[0] = encode(rmsnorm_v1{.eps = 1, .weight_offset = 0}); }, wrong)
            .find("(rmsnorm): param block: expected the numbers of its steps, found others") != std::string::npos);
  CHECK(refused([](execution_plan& p) { p.param_blocks[1] = encode(attention_v1{32, 8, 64, 1e4f, true}); }, wrong)
            .find("letter 1 (multihead_attention)") != std::string::npos);
  CHECK(refused([](execution_plan& p) { p.param_blocks[1].version = 2; }, wrong).find("version 2") !=
        std::string::npos);
  CHECK(refused([](execution_plan& p) { p.instructions[1].param_block = 0; }, wrong)
            .ends_with("expected one of opcode 1, found one of opcode 0"));
  CHECK(refused([](execution_plan& p) { p.instructions[0].param_block = 9; }, wrong)
            .ends_with("expected one of the plan, found 9"));
  CHECK(refused([](execution_plan& p) { p.instructions[0].param_block = macro_instruction::no_params; }, wrong)
            .ends_with("param block: expected one, found none"));
  CHECK(refused([](execution_plan& p) { p.instructions[0].last = 60; }) ==
        "letter 0: expected steps of the plan, found 0 to 60");
}
