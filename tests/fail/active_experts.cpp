// expect: cke: moe: a token chooses at least one expert and not more than there are
// expect: active_experts_exist<9, 8>
#include <cke/layers.hpp>
using namespace cke;
constexpr u32 n = moe<moe_options{.dim = 64, .hidden = 32, .route = {.experts = 8, .active = 9}}>::in;
