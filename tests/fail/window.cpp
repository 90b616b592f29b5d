// expect: cke: attention: window 0 sees no key; use everything for full attention
#include <cke/layers.hpp>
using namespace cke;
using wrong = attention<attention_options{.dim = 64, .heads = 4, .kv_heads = 4, .head_dim = 16, .window = 0}>;
constexpr u32 n = wrong::in;
