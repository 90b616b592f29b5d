// expect: cke: cuda: beside what a block of the megakernel needs there is no room for its rings
// expect: ring_fits<1, 2>
// expect: cke: cuda: rings bring other weights than products take
// expect: stream_is_whole<8, 4>
#include <cke/cuda/host/emulated.cuh>
#include <cke/cuda/megakernel.cuh>
#include <cke/models/qwen3.hpp>
using namespace cke;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using wide =
    qwen3<qwen3_config{.vocab = 64, .dim = 64, .hidden = 64, .layers = 1, .heads = 32, .kv_heads = 1, .head_dim = 320}>;
using tokens = cuda::megakernel<program<wide, F32>, dtype::f32>;
auto* const run = &tokens::on<cuda::sm86>::run;
bool whole = cuda::stream_is_whole<8, 4>::value;
