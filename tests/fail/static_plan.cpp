// expect: static assertion (failed|expression is not)
#include <cke/graph/program.hpp>
#include <cke/models/qwen3.hpp>
using namespace cke;
using namespace cke::graph;
static_assert(program<Qwen3_0_6B, Q8_0>::weight_bytes <= 600'000'000);  // a budget of one's own
