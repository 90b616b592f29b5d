// expect: cke: moe: beside experts of a latent the shared expert has no gate
// expect: latent_has_no_shared_gate<16, true>
#include <cke/layers.hpp>
using namespace cke;
constexpr u32 n = moe<moe_options{.dim = 64, .hidden = 32, .route = {.experts = 8, .active = 2}, .shared = 8, .shared_gate = true, .latent = 16}>::in;
