// expect: cke: cuda: a block of the megakernel needs more shared memory than its generation has
// expect: block_fits<1
#include <cke/cuda/host/emulated.cuh>
#include <cke/cuda/megakernel.cuh>
#include <cke/models/qwen3.hpp>
using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using wide =
    qwen3<qwen3_config{.vocab = 64, .dim = 64, .hidden = 64, .layers = 1, .heads = 64, .kv_heads = 1, .head_dim = 512}>;
using tokens = cuda::megakernel<program<wide, F32>, dtype::f32>;
auto* const run = &tokens::on<cuda::sm75>::run;
