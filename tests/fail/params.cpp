// expect: cke: params: an instruction has another kind of parameter block
// expect: kind
#include <cke/core/operations.hpp>

constexpr cke::params p = cke::matmul_params{.rows = 64, .cols = 32};
static_assert(p.as<cke::attention_params>().shape.heads == 64);
