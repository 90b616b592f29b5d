// SPDX-License-Identifier: MIT
// plans.cpp: the macro plans of three families, instruction by instruction, against the lists that they have to be.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cke/graph/letter_checks.hpp"
#include "cke/graph/program.hpp"
#include "cke/models/granitemoehybrid.hpp"
#include "cke/models/llama.hpp"
#include "cke/models/qwen3_moe.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

using op = opcode;
using letters = std::vector<op>;

template <class P> execution_plan plan_of_layer(u32 layer) { return contract(P::unfused[P::kind_of[layer]]); }

letters letters_of(const execution_plan& plan) {
  letters all;
  for (const macro_instruction& m : plan.instructions) all.push_back(m.op);
  return all;
}

// What a branch computes is read by the next instruction; a norm reads the stream, and an add leaves it.
void check_buffers(const execution_plan& plan) {
  const auto& all = plan.instructions;
  for (u32 i = 0; i < all.size(); ++i) {
    const macro_instruction& m = all[i];
    CAPTURE(i);
    REQUIRE(m.out.count == 1);
    if (m.op == op::rmsnorm) CHECK((m.in.count == 1 && m.in[0] == stream));
    else CHECK(m.in.has(all[i - 1].out[0]));
    if (m.op == op::residual_add) CHECK((m.in[0] == stream && m.out[0] == stream));
    else CHECK(m.out[0] >= first_scratch);
  }
}

template <class P> void check_plans(const auto& wanted) {
  for (u32 l = 0; l < P::layers; ++l) {
    CAPTURE(l);
    const execution_plan plan = plan_of_layer<P>(l);
    CHECK(letters_of(plan) == wanted(l));
    check_buffers(plan);
    check_letters(plan);
  }
  for (const execution_plan& plan : {contract(P::unfused_header()), contract(P::unfused_footer())}) check_letters(plan);
}

real scale_of(const execution_plan& plan, u32 letter) {
  return plan.steps.ops[plan.instructions[letter].first].p.as<scale_params>().scale;
}

}  // namespace

TEST_CASE("plans: llama3 is norm, attention, add, norm, mlp, add in every layer") {
  using P = program<Llama_3_2_1B, BF16, false>;
  check_plans<P>([](u32) {
    return letters{op::rmsnorm, op::multihead_attention, op::residual_add, op::rmsnorm, op::swiglu, op::residual_add};
  });
  CHECK(letters_of(contract(P::unfused_header())) == letters{op::embedding});
  CHECK(letters_of(contract(P::unfused_footer())) == letters{op::rmsnorm, op::logits});
}

TEST_CASE("plans: qwen3_moe has experts where llama3 has an mlp") {
  using P = program<Qwen3_30B_A3B, BF16, false>;
  CHECK(P::layers == 48);
  check_plans<P>([](u32) {
    return letters{op::rmsnorm, op::multihead_attention, op::residual_add, op::rmsnorm, op::moe, op::residual_add};
  });
}

TEST_CASE("plans: granite_hybrid mixes in 28 layers and attends in layers 10, 13, 17 and 27, with its multipliers") {
  using P = program<Granite_4_0_H_350M, BF16, false>;
  CHECK(P::layers == 32);
  check_plans<P>([](u32 layer) {
    const bool attends = layer == 10 || layer == 13 || layer == 17 || layer == 27;
    return letters{op::rmsnorm, attends ? op::multihead_attention : op::mamba_mixer,
                   op::scale,   op::residual_add,
                   op::rmsnorm, op::swiglu,
                   op::scale,   op::residual_add};
  });
  for (const u32 layer : {0u, 10u, 31u})
    for (const u32 letter : {2u, 6u}) CHECK(scale_of(plan_of_layer<P>(layer), letter) == real(0.246));
  const execution_plan header = contract(P::unfused_header());
  CHECK(letters_of(header) == letters{op::embedding, op::scale});
  CHECK(scale_of(header, 1) == real(12));
  const execution_plan at = plan_of_layer<P>(10);
  const attention_v1 block = decode<attention_v1>(at.param_blocks[at.instructions[1].param_block]);
  CHECK(block == attention_v1{12, 4, 64, 0.f, true});  // without rope
}
