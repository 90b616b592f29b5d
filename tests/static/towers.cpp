// SPDX-License-Identifier: MIT
// towers.cpp: the program of a vision tower: its steps, its outputs, its memory, and no state that outlives a layer.
#include "cke/graph/program.hpp"
#include "cke/models/towers/qwen3_vl.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

using siglip = program<SigLIP_Base_16_224, F32>;
using qwen = program<Qwen3_VL_2B_Vision, BF16>;
using unfused = program<Qwen3_VL_2B_Vision, BF16, false>;
using enum opcode;

template <std::size_t N> constexpr bool steps_are(const code& c, const opcode (&want)[N]) {
  if (c.ops.size() != N) return false;
  for (u32 i = 0; i < N; ++i)
    if (c.ops[i].op != want[i]) return false;
  return true;
}

// a network reads ids, a tower rows of numbers
static_assert(siglip::is_tower && siglip::patch_width == 3 * 16 * 16);
static_assert(qwen::is_tower && qwen::patch_width == 3 * 2 * 16 * 16);
static_assert(steps_are(siglip::header_code(), {vision_patch_embed, learned_positions}));

// a layer as the lowering writes it, and as it runs
static_assert(steps_are(unfused::body<0>(),
                        {residual_save, layer_norm, quantize, matmul,   matmul,       matmul,        rope,
                         kv_store,      attend,     quantize, matmul,   residual_add, residual_save, layer_norm,
                         quantize,      matmul,     act,      quantize, matmul,       residual_add}));
static_assert(steps_are(qwen::body<0>(),
                        {layer_norm_quantize, qkv_matmul, rope, kv_store, attend_quantize, matmul_add,
                         layer_norm_quantize, matmul, act, quantize, matmul_add}));
// a tapped layer goes on from the stream, and leaves it alone
static_assert(qwen::body_count == 2);
static_assert(steps_are(qwen::body<1>(),
                        {layer_norm_quantize, qkv_matmul, rope, kv_store, attend_quantize, matmul_add,
                         layer_norm_quantize, matmul, act, quantize, matmul_add, spatial_merge, layer_norm_quantize,
                         matmul, act, quantize, matmul}));
static_assert(qwen::body<1>().ops[16].out.has(tapped) && !qwen::body<1>().ops[16].out.has(stream));

// four patches become a row of features, in the output and in all three taps
static_assert(siglip::merged == 1 && siglip::merge_side == 1 && siglip::tap_outputs.count == 0);
static_assert(qwen::merged == 4 && qwen::merge_side == 2 && qwen::vocab == 2048);
static_assert(qwen::tap_outputs.count == 3 && qwen::tap_outputs.width == 2048 && qwen::tap_outputs.tokens == 4);
static_assert(qwen::tap_outputs.of[5] == 0 && qwen::tap_outputs.of[11] == 1 && qwen::tap_outputs.of[17] == 2);
static_assert(qwen::beside_width == 3 * 2048 && siglip::beside_width == 0);

// keys and values live from one step to the next: no state in the plan, no page
static_assert([] {
  u32 states = 0;
  qwen::for_each_state(dtype::bf16, [&](const state_descriptor&) { ++states; });
  return states == 0 && qwen::state_bytes({128, 1, 1}, dtype::bf16) == 0;
}());
static_assert(qwen::unfused[0].states[0].life == lifecycle::step_ephemeral);
static_assert(!qwen::recurrent && !qwen::turns_by_context);

// activations: the patches stand where ids would, the taps where layer inputs would
constexpr u32 patches = 1024;
constexpr auto memory = qwen::activations({key_block, patches, patches});
static_assert(memory.stream == patches * row_stride(1024) * 4 && memory.ids == patches * row_stride(1536) * 4);
static_assert(memory.layer_inputs == patches * row_stride(3 * 2048) * 4);
static_assert(siglip::activations({key_block, patches, patches}).layer_inputs == 0);

// parameters, as their authors count them
static_assert(siglip::parameters == 590'592 + 196 * 768 + 12 * 7'087'872 + 2 * 768);

}  // namespace
