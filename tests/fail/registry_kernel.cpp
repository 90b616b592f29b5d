// expect: cke: registry: an executable operation without a kernel; specialise cke::kernels::kernel in a header that
// expect: operation<\(?(cke::opcode\))?200
#include <cke/kernels/registry.hpp>
using namespace cke;
using namespace cke::kernels;
constexpr op_info more[] = {{opcode::rmsnorm, "rmsnorm", {split::tokens, true}, {split::tokens, true}},
                            {static_cast<opcode>(200), "twirl", {split::tokens, true}, {split::tokens, true}}};
static_assert(registry::complete<more>());
