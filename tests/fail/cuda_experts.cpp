// expect: cke: cuda: the megakernel has no mixtures of experts
// expect: without_experts<cke::program
// expect: cke: cuda: no product with experts of this dtype; specialise cke::cuda::format
// expect: expert_kernel<cke::dtype::q6_k, 1>
#include <cke/cuda/emulated.cuh>
#include <cke/cuda/megakernel.cuh>
#include <cke/models/qwen3_moe.hpp>
using namespace cke;
using mixed = qwen3_moe<qwen3_moe_config{.vocab = 64, .dim = 64, .expert_hidden = 64, .layers = 1, .heads = 2, .kv_heads = 1, .head_dim = 32, .experts = 4, .active = 2}>;
using tokens = cuda::megakernel<program<mixed, F32>, dtype::f32>;
auto* const run = &tokens::on<cuda::sm75>::run;
auto* const hidden = &cuda::emitter<opcode::expert_act, dtype::q6_k, cuda::emulated<cuda::sm75>>::to;
