// expect: cke: cuda: no kernel for this opcode and dtype; specialise cke::cuda::kernel
// expect: step_kernel<cke::opcode::embedding, cke::dtype::q6_k>
// expect: cke: cuda: no product with matrices of this dtype; specialise cke::cuda::format
// expect: multiply_kernel<cke::dtype::q6_k, 1>
#include <cke/cuda/emit.cuh>
#include <cke/cuda/host/emulated.cuh>
using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using device = cuda::emulated<cuda::sm75>;
auto* const embed = &cuda::emitter<opcode::embedding, dtype::q6_k, device>::to;
auto* const multiply = &cuda::emitter<opcode::matmul, dtype::q6_k, device>::to;
