// expect: cke: dispatch: no kernel for this opcode, dtype and isa; specialise cke::kernels::kernel
// expect: dispatch<cke::opcode::matmul, cke::dtype::q8_k, cke::isa::\w+>
#include <cke/kernels/linear.hpp>
using namespace cke;
using namespace cke::kernels;
void multiply(const params& p, const work& w) { dispatch<opcode::matmul, dtype::q8_k, isa::native>::run(p, w, 0); }
