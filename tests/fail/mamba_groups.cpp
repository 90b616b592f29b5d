// expect: cke: mamba_mixer: heads must be a multiple of groups
// expect: groups_share_heads<6, 4>
#include <cke/models/mamba2.hpp>
using namespace cke;
using wrong = mamba2<{.vocab = 512, .dim = 64, .layers = 2, .heads = 6, .head_dim = 16, .ssm_groups = 4}>;
constexpr u32 n = wrong::in;
