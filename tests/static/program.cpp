// SPDX-License-Identifier: MIT
// program.cpp: the instruction list of Qwen3-0.6B, step by step, and the parameter counts of all presets.
#include "cke/graph/program.hpp"

#include "presets.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

using plain = program<Qwen3_0_6B, Q8_0, false>;
using fused = program<Qwen3_0_6B, Q8_0>;
using enum opcode;

template <std::size_t N> constexpr bool steps_are(const code& c, const opcode (&want)[N]) {
  if (c.ops.size() != N) return false;
  for (u32 i = 0; i < N; ++i)
    if (c.ops[i].op != want[i]) return false;
  return true;
}
template <class P> constexpr u32 matmuls(role is) {
  u32 n = 0;
  P::for_each_op([&](place where, u32, const instruction& i, const code& c) {
    n += where == place::body && i.op == matmul && c.slots[i.weight[0]].is == is;
  });
  return n;
}

// 564 = 1 + 28 * 20 + 3 steps, and 28 stores into the cache
static_assert(plain::count() == 592 && plain::count() - plain::count(kv_store) == 564);
static_assert(plain::header_code().ops.size() == 1 && plain::footer_code().ops.size() == 3 && plain::body_count == 1);
static_assert(plain::count(embedding) == 1 && plain::count(logits) == 1);
static_assert(plain::count(rmsnorm) == 57 && plain::count(residual_save) == 56 && plain::count(residual_add) == 56);
static_assert(plain::count(quantize) == 4 * 28 + 1 && plain::count(head_norm) == 28 && plain::count(rope) == 28);
static_assert(plain::count(attend) == 28 && plain::count(kv_store) == 28 && plain::count(act_mul) == 28);
static_assert(matmuls<plain>(role::q) == 28 && matmuls<plain>(role::k) == 28 && matmuls<plain>(role::v) == 28);
static_assert(matmuls<plain>(role::o) == 28 && matmuls<plain>(role::gate) == 28 && matmuls<plain>(role::down) == 28);
static_assert(plain::count(matmul) == 6 * 28);

// one layer as the lowering writes it: 20 steps
constexpr opcode layer_of_20[]{residual_save, rmsnorm, quantize, matmul,   matmul,       matmul,        head_norm,
                               rope,          attend,  quantize, matmul,   residual_add, residual_save, rmsnorm,
                               quantize,      matmul,  act_mul,  quantize, matmul,       residual_add};
static_assert(steps_are(lowered_block<at<0, plain::kinds>, plain::variants.list[0].formats>, layer_of_20));
static_assert(steps_are(plain::footer_code(), {rmsnorm, quantize, logits}));

// and as it runs: 9 steps, 4 barriers
static_assert(steps_are(fused::body<0>(),
                        {norm_quantize, qkv_matmul, head_norm_rope, kv_store, attend_quantize, matmul_add,
                         norm_quantize, matmul_act_quantize, matmul_add}));
static_assert(steps_are(fused::footer_code(), {norm_quantize, logits}));
static_assert(fused::count() == 1 + 28 * 9 + 2);
static_assert(phases_of(fused::body<0>(), form::decode).barriers() == 4 &&
              fused::barriers(form::decode) == 1 + 28 * 4 + 1);
static_assert(phases_of(fused::body<0>(), form::prefill).barriers() == 8);
// a row that nobody wants ends where the last layer has stored its key and value
static_assert(fused::row_end.layer == 27 &&
              fused::body<0>().ops[phases_of(fused::body<0>(), form::prefill).phases[fused::row_end.phase].first].op ==
                  attend_quantize);

// without quantisation: 16 steps as the spike found, one more for the cache
static_assert(program<Qwen3_0_6B, F32, false>::count() == 1 + 28 * 17 + 2);
// llama has no norm on q and k
static_assert(program<Llama_3_2_1B, Q8_0, false>::count(head_norm) == 0 &&
              program<Llama_3_2_1B, Q8_0, false>::count() == 1 + 16 * 20 + 3);
static_assert(program<Llama_3_2_1B, Q8_0>::count(rope) == 16 &&
              program<Llama_3_2_1B, Q8_0>::barriers(form::decode) == 1 + 16 * 4 + 1);

// the contract's numbers
constexpr auto number = [](opcode op) { return static_cast<u32>(op); };
static_assert(number(rmsnorm) == 0 && number(multihead_attention) == 1 && number(swiglu) == 2 && number(moe) == 3);
static_assert(number(mamba_mixer) == 4 && number(shortconv) == 5 && number(mla_attention) == 6 &&
              number(embedding) == 7);
static_assert(number(residual_add) == 8 && number(vision_patch_embed) == 16 && number(spatial_merge) == 17);
static_assert(number(deepstack_extract) == 18 && number(scatter) == 19 && number(logits) == 32);
static_assert(number(residual_save) == 64 && number(norm_quantize) == 96);

// every operation has a name of its own
static_assert([] {
  for (const op_info& a : ops)
    for (const op_info& b : ops)
      if (a.op != b.op && a.name == b.name) return false;
  return ops.size() == 66;
}());
static_assert(!is_operation(none));

// parameters, as their authors count them
template <class M> constexpr u64 parameters = program<M, BF16>::parameters;
static_assert(parameters<Qwen3_0_6B> == 596'049'920 && parameters<Qwen3_1_7B> == 1'720'574'976);
static_assert(parameters<Qwen3_4B> == 4'022'468'096 && parameters<Qwen3_8B> == 8'190'735'360);
static_assert(parameters<Qwen3_14B> == 14'768'307'200 && parameters<Qwen3_32B> == 32'762'123'264);
static_assert(parameters<SmolLM2_135M> == 134'515'008 && parameters<SmolLM2_360M> == 361'821'120);
static_assert(parameters<SmolLM2_1_7B> == 1'711'376'384 && parameters<Llama_3_2_1B> == 1'235'814'400);
static_assert(parameters<Llama_3_2_3B> == 3'212'749'824 && parameters<Llama_3_1_8B> == 8'030'261'248);
static_assert(parameters<Qwen2_5_0_5B> == 494'032'768 && parameters<Qwen2_5_7B> == 7'615'616'512);
static_assert(parameters<Mistral_7B_v0_1> == 7'241'732'096 && parameters<Mistral_Nemo_12B> == 12'247'782'400);
static_assert(parameters<Gemma_2_2B> == 2'614'341'888 && parameters<Gemma_2_27B> == 27'227'128'320);
static_assert(parameters<Gemma_3_270M> == 268'098'176 && parameters<Gemma_3_1B> == 999'885'952);
static_assert(parameters<GLM_4_9B> == 9'400'279'040 && parameters<OLMo_2_1B> == 1'484'916'736);
static_assert(parameters<Phi_3_mini_4k> == 3'821'079'552 && parameters<Phi_4> == 14'659'507'200);
static_assert(parameters<SmolLM3_3B> == 3'075'098'624);
static_assert(parameters<Qwen3_30B_A3B> == 30'532'122'624 && parameters<Qwen3_235B_A22B> == 235'093'634'560);
static_assert(parameters<Mixtral_8x7B> == 46'702'792'704 && parameters<OLMoE_1B_7B> == 6'919'161'856);
static_assert(parameters<Qwen1_5_MoE_A2_7B> == 14'315'784'192 && parameters<Qwen2_57B_A14B> == 57'408'658'944);
static_assert(parameters<Mamba2_130M> == 128'989'632 && parameters<Granite_4_0_H_350M> == 340'332'224 &&
              parameters<Nemotron_H_8B> == 8'100'852'736);
static_assert(parameters<Granite_3_0_1B_A400M> == 1'334'628'352 && parameters<GLM_4_5_Air> == 106'852'251'264);

// A mixture of experts: its norm feeds the router as f32 and the experts as they want it; five barriers a layer.
using mixture = program<Qwen3_30B_A3B, Q8_0>;
static_assert(steps_are(mixture::body<0>(),
                        {norm_quantize, qkv_matmul, head_norm_rope, kv_store, attend_quantize, matmul_add, rmsnorm,
                         opcode::router, route, sort_by_expert, gather, expert_act, expert_sum_add}));
static_assert(phases_of(mixture::body<0>(), form::decode).barriers() == 5 &&
              mixture::barriers(form::decode) == 1 + 48 * 5 + 1);
static_assert(phases_of(mixture::body<0>(), form::prefill).barriers() == 9);
// A shared expert costs none: its steps and the others' have nothing to do with one another until the sum.
static_assert(phases_of(program<Qwen1_5_MoE_A2_7B, Q8_0>::body<0>(), form::decode).barriers() == 5);
static_assert(steps_are(program<GLM_4_5_Air, Q8_0>::body<1>(),
                        {norm_quantize, qkv_matmul, rope, kv_store, attend_quantize, matmul_add, rmsnorm, quantize,
                         matmul_act_quantize, opcode::router, route, sort_by_expert, matmul, gather, expert_act,
                         expert_sum_add}));
static_assert(program<GLM_4_5_Air, Q8_0>::barriers(form::decode) == 1 + 4 + 45 * 5 + 1 &&
              program<GLM_4_5_Air, Q8_0>::body_count == 2);
// A mamba2 mixer waits as often as attention and its output; an mlp without a gate is one step more than its norm and
// sum.
using hybrid = program<Nemotron_H_8B, Q8_0>;
static_assert(steps_are(hybrid::body<0>(),
                        {norm_quantize, opcode::matmul, opcode::matmul, opcode::matmul, causal_conv, state_scan,
                         norm_quantize, matmul_add}));
static_assert(steps_are(hybrid::body<1>(), {norm_quantize, up_act_quantize, matmul_add}));
static_assert(phases_of(hybrid::body<0>(), form::decode).barriers() == 4 &&
              phases_of(hybrid::body<1>(), form::decode).barriers() == 2 && hybrid::body_count == 3);
static_assert(mixture::body_count == 1 && mixture::count(expert_sum_add) == 48);

// two kinds of layers where a family has them: the last of six is full, the last of four has no rope
static_assert(program<Gemma_3_270M, Q8_0>::body_count == 2 && program<Gemma_2_2B, Q8_0>::body_count == 2);
static_assert(program<SmolLM3_3B, Q8_0>::body_count == 2 && program<SmolLM3_3B, Q8_0>::count(rope) == 27);
static_assert(program<Gemma_3_270M, Q8_0>::kind_of[4] == 1 && program<Gemma_3_270M, Q8_0>::kind_of[5] == 0);
// what a family does not use is no step: gemma's scale, gemma 2's cap, granite's multipliers
static_assert(program<Gemma_3_270M, Q8_0>::count(scale) == 1 && program<Gemma_3_270M, Q8_0>::count(softcap) == 0);
static_assert(program<Gemma_2_2B, Q8_0>::count(softcap) == 1 &&
              program<Granite_3_3_2B, Q8_0>::count(scale) == 2 + 2 * 40);
static_assert(program<Qwen2_5_0_5B, Q8_0>::count() == program<Llama_3_2_1B, Q8_0>::count() / 16 * 24 + 3);
// a norm after a branch costs no barrier at decode: every thread computes it; a projection of one kv head is shared,
// and costs one
static_assert(program<Gemma_3_270M, Q8_0>::barriers(form::decode) == 1 + 18 * 7 + 1);
static_assert(program<Gemma_3_4B, Q8_0>::barriers(form::decode) == 1 + 34 * 6 + 1);

// equal layers are one variant, however many; a model's tensors: 11 in a layer, and 2 or 3 around
static_assert(program<Qwen3_32B, Q8_0>::body_count == 1 && program<Qwen3_32B, Q8_0>::layers == 64);
template <class M> constexpr u32 tensors = [] {
  u32 n = 0;
  program<M, BF16>::for_each_weight([&](const weight&) { ++n; });
  return n;
}();
static_assert(tensors<Qwen3_0_6B> == 2 + 28 * 11 && tensors<Qwen3_8B> == 3 + 36 * 11 &&
              tensors<SmolLM2_135M> == 2 + 30 * 9);

// a cache may be larger than 4 GiB
static_assert(program<Qwen3_8B, BF16>::state_bytes({.context = 131072}, dtype::f32) ==
              2ull * 36 * 8 * 131072 * 128 * 4);

}  // namespace
