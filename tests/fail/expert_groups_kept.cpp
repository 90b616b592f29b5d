// expect: cke: moe: the groups kept must have the active experts
// expect: kept_groups_suffice<1, 4, 3, 8>
#include <cke/layers.hpp>
using namespace cke;
constexpr u32 n = moe<moe_options{.dim = 64, .hidden = 32, .route = {.experts = 8, .active = 3, .groups = 4, .groups_kept = 1}}>::in;
