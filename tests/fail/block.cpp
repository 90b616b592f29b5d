// expect: matmul_params
// expect: rmsnorm|norm_params
#include <cke/graph/code.hpp>

using namespace cke;
using namespace cke::graph;
void step(builder& b) { b.emit<opcode::rmsnorm>({stream}, {stream}, {}, matmul_params{.rows = 64, .cols = 32}); }
