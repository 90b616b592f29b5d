// expect: cke: attention: rope.dims must be even and at most head_dim
// expect: rope_fits_head<18, 16>
#include <cke/layers.hpp>
using namespace cke;
using wrong = attention<attention_options{.dim = 64, .heads = 4, .kv_heads = 4, .head_dim = 16, .rope = {.dims = 18}}>;
constexpr u32 n = wrong::in;
