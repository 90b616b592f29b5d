// expect: cke: registry: an operation without a line on what it computes; add it to summaries in kernels/registry.hpp
// expect: operation<\(?(cke::opcode\))?200
#include <cke/kernels/registry.hpp>
using namespace cke;
using namespace cke::kernels;
constexpr auto twirl = static_cast<opcode>(200);
template <class Isa> struct cke::kernels::kernel<twirl, dtype::f32, Isa> {
  static void run(const params&, const work&, u32) {}
};
constexpr op_info more[] = {{twirl, "twirl", {split::tokens, true}, {split::tokens, true}}};
static_assert(registry::complete<more>());
