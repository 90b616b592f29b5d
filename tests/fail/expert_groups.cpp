// expect: cke: moe: experts must be a multiple of groups
// expect: groups_divide<3, 8>
#include <cke/layers.hpp>
using namespace cke;
constexpr u32 n = moe<moe_options{.dim = 64, .hidden = 32, .route = {.experts = 8, .active = 2, .groups = 3, .groups_kept = 2}}>::in;
