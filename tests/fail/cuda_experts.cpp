// expect: cke: cuda: no product with experts of this dtype; specialise cke::cuda::format
// expect: expert_kernel<cke::dtype::q6_k, 1>
#include <cke/cuda/emit.cuh>
#include <cke/cuda/host/emulated.cuh>
using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
auto* const hidden = &cuda::emitter<opcode::expert_act, dtype::q6_k, cuda::emulated<cuda::sm75>>::to;
