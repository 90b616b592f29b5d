// expect: cke: unrolled: the model reads images or is a tower; leave out cke::unrolled
#include <cke/models/llama.hpp>
#include <cke/runtime/unrolled_executor.hpp>
using namespace cke;
using sees = llama<{.vocab = 512, .dim = 64, .hidden = 128, .layers = 2, .heads = 4, .kv_heads = 4, .images = true}>;
template class cke::runtime::unrolled_executor<graph::program<sees, F32>, dtype::f32, isa::native>;
