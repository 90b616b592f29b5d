// expect: cke: attention: head_dim must be even
// expect: head_dim_is_even<15>
#include <cke/layers.hpp>
using namespace cke;
using wrong = attention<attention_options{.dim = 60, .heads = 4, .kv_heads = 4, .head_dim = 15}>;
constexpr u32 n = wrong::in;
