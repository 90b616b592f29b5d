// SPDX-License-Identifier: MIT
// kernels.cu: every kernel, and the executor of a model, compiled for every generation; check_kernels.py reads what
// became of them.
#include <cke/cuda/executor.cuh>
#include <cke/cuda/gpu.cuh>
#include <cke/models/qwen3_moe.hpp>

namespace cke::cuda {

template <class... Kernels> void instantiate(gpu& device, const step& s) { (device.launch<Kernels>({}, s), ...); }
template <opcode... Ops> void instantiate_rows(gpu& device, const step& s) {
  instantiate<step_kernel<Ops, dtype::f32>...>(device, s);
}
template <dtype... Formats> void instantiate_formats(gpu& device, const step& s) {
  instantiate<step_kernel<opcode::embedding, Formats>..., multiply_kernel<Formats, 1>...,
              multiply_kernel<Formats, most_tokens>..., expert_kernel<Formats, 1>...,
              expert_kernel<Formats, most_tokens>..., wide_kernel<Formats>..., wide_expert_kernel<Formats>...>(device,
                                                                                                               s);
}
template <dtype... Caches> void instantiate_caches(gpu& device, const step& s) {
  instantiate<step_kernel<opcode::kv_store, Caches>..., attend_block_kernel<Caches>...,
              attend_rows_kernel<Caches, 4>..., attend_rows_kernel<Caches, 8>...>(device, s);
}

void every_kernel(gpu& device, const step& s) {
  using enum opcode;
  instantiate_rows<rmsnorm, norm_quantize, quantize, residual_save, residual_add, scale, softcap, act, act_mul,
                   act_mul_quantize, head_norm, rope, head_norm_rope, router, route, sort_by_expert, gather>(device, s);
  instantiate_formats<dtype::q8_0, dtype::q4_k, dtype::bf16, dtype::f16, dtype::f32>(device, s);
  instantiate_caches<dtype::bf16, dtype::f16, dtype::f32>(device, s);
  instantiate<attend_join_kernel, join_experts_kernel, choose_kernel>(device, s);
}

// Many tokens in one launch: products of bytes, with experts too, and of plain numbers.
template <class M, class Formats> void many_tokens(gpu& device, const megakernel_call& call) {
  using kernel = megakernel<program<M, Formats>, dtype::bf16>;
  const u32 bytes = kernel::shared_bytes(kernel::slots_of(device.block_memory()));
  device.launch_together<kernel>(device.template room_for<kernel>(bytes, kernel::plan::heads), bytes, call, [] {});
}
void megakernels(gpu& device, const megakernel_call& call) {
  many_tokens<Qwen3_0_6B, Q8_0>(device, call), many_tokens<Qwen3_30B_A3B, Q8_0>(device, call),
      many_tokens<Qwen3_0_6B, BF16>(device, call);
}

}  // namespace cke::cuda

template class cke::runtime::device_executor<cke::graph::program<cke::Qwen3_0_6B, cke::Q8_0>, cke::dtype::bf16,
                                             cke::cuda::gpu>;
template class cke::runtime::device_executor<cke::graph::program<cke::Qwen3_30B_A3B, cke::Q8_0>, cke::dtype::bf16,
                                             cke::cuda::gpu>;
