// SPDX-License-Identifier: MIT
// contract.cpp: the runtime contract's view of a layer, and its bytes.
#include "cke/graph/contract.hpp"

#include "cke/graph/program.hpp"
#include "presets.hpp"

using namespace cke;
using namespace cke::graph;

namespace {

using enum opcode;
using plain = program<Qwen3_0_6B, Q8_0, false>;
constexpr code layer = lowered_block<at<0, plain::kinds>, plain::variants.list[0].formats>;

// ---- one layer as macro instructions ---------------------------------------------------------------

constexpr execution_plan plan = contract(layer);
constexpr opcode macros[]{rmsnorm, multihead_attention, residual_add, rmsnorm, swiglu, residual_add};
static_assert([] {
  for (u32 i = 0; i < 6; ++i)
    if (plan.instructions[i].op != macros[i]) return false;
  return plan.instructions.size() == 6;
}());
constexpr const macro_instruction& attention_of_layer = plan.instructions[1];
static_assert(attention_of_layer.weight.count == 6 && attention_of_layer.in.count == 1 &&
              attention_of_layer.out.count == 1);
static_assert(attention_of_layer.in[0] == plan.instructions[0].out[0] && attention_of_layer.state == 0);
static_assert(plan.instructions[2].in.has(stream) && plan.instructions[2].in.has(attention_of_layer.out[0]));
static_assert(plan.instructions[2].out[0] == stream && plan.instructions[5].out[0] == stream);
// Every fine step belongs to exactly one letter, in order.
static_assert([] {
  u32 next = 0;
  for (const auto& m : plan.instructions) {
    if (m.first != next || m.last < m.first) return false;
    next = m.last + 1u;
  }
  return next == plan.steps.ops.size();
}());

// ---- parameter blocks: golden bytes -----------------------------------------------------------------

template <std::size_t N> constexpr bool bytes_are(const param_block& b, const u8 (&want)[N]) {
  for (u32 i = 0; i < b.data.size(); ++i)
    if (b.data[i] != (i < N ? want[i] : 0)) return false;
  return b.size == N && b.version == 1;
}
static_assert(plan.param_blocks.size() == 3 && plan.instructions[1].param_block == 1);
static_assert(plan.instructions[2].param_block == macro_instruction::no_params);
static_assert(bytes_are(plan.param_blocks[0], {0xbd, 0x37, 0x86, 0x35, 0, 0, 0, 0}));  // 1e-6f, 0.f
static_assert(bytes_are(plan.param_blocks[1],
                        {16, 0, 0, 0, 8, 0, 0, 0, 128, 0, 0, 0, 0, 0x24, 0x74, 0x49, 1, 0, 0, 0}));  // 1e6f
static_assert(bytes_are(encode(rmsnorm_v1{.eps = 1, .weight_offset = -2}), {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}));
static_assert(decode<attention_v1>(plan.param_blocks[1]) == attention_v1{16, 8, 128, 1e6f, true});
static_assert(decode<rmsnorm_v1>(encode(rmsnorm_v1{1e-5f, 1})) == rmsnorm_v1{1e-5f, 1});
static_assert(sizeof(param_block::data) == 256 && offsetof(param_block, data) % 8 == 0 && alignof(param_block) == 8);
static_assert(std::is_trivially_copyable_v<param_block> && sizeof(params) <= 256);

// ---- compiled plans and registers, for every preset --------------------------------------------------

// Linear scan is exact on straight-line code, and no two registers that live at once share one.
constexpr bool well_mapped(const code& c) {
  const compiled_plan p = compile(c);
  const physical_mapping m = map_registers(p, 16);
  for (u32 a = first_scratch; a < c.regs.size(); ++a) {
    if (p.live.used(a) != (m.of[a] != absent)) return false;
    if (p.live.used(a) && m.bytes[m.of[a]] < register_bytes(c.regs[a], 16)) return false;
    for (u32 b = first_scratch; b < a; ++b)
      if (p.live.used(a) && p.live.used(b) && p.live.overlap(a, b) && m.of[a] == m.of[b]) return false;
  }
  return m.count == p.peak_registers;
}
template <class P> constexpr bool well_mapped_program() {
  for (const code* c : P::bodies)
    if (!well_mapped(*c)) return false;
  return well_mapped(P::header_code()) && well_mapped(P::footer_code());
}
template <class P> constexpr bool is_well_mapped =
    well_mapped_program<P>();  // constants of their own: compilers limit steps
template <class... Ms> constexpr bool all_well_mapped(list<Ms...>) {
  return (... && (is_well_mapped<program<Ms, Q8_0>> && is_well_mapped<program<Ms, Q8_0, false>>));
}
static_assert(all_well_mapped(presets{}));
static_assert(compile(plain::body<0>()).peak_registers == 5 &&
              compile(program<Qwen3_0_6B, Q8_0>::body<0>()).peak_registers == 4);
static_assert(compile(plain::footer_code()).diagnostics.size() == 1);  // the logits

// ---- views -------------------------------------------------------------------------------------------

constexpr u32 shape[]{2, 3, 5};
constexpr view_desc dense = describe_view(dtype::f32, shape), padded = describe_view(dtype::f32, shape, 16);
static_assert(dense.rank == 3 && dense.stride_elems == std::array<u32, 4>{15, 5, 1, 0} &&
              dense.order == arrangement::contiguous);
static_assert(padded.stride_elems == std::array<u32, 4>{48, 16, 1, 0} && padded.order == arrangement::strided);
static_assert(describe_view(dtype::q8_0, shape).order == arrangement::backend_native);

}  // namespace
