// expect: cke: attention: heads must be a multiple of kv_heads
// expect: heads_divide<6, 4>
#include <cke/models/llama.hpp>
using namespace cke;
using wrong = llama<{.vocab = 512, .dim = 64, .hidden = 128, .layers = 2, .heads = 6, .kv_heads = 4, .head_dim = 16}>;
constexpr u32 n = wrong::in;
