// expect: cke: registry: an operation without a line on what it computes; add it to summaries in kernels/registry.hpp
// expect: registered<\(?(cke::opcode\))?120
#include <cke/core/operations/rows.hpp>
constexpr auto twirl = static_cast<cke::opcode>(120);
template <> struct cke::operation<twirl> {
  using params = row_params;
  static constexpr op_facts facts{"twirl", {split::tokens, true}, {split::tokens, true}};
};
#include <cke/kernels/kernel.hpp>
template <class Isa> struct cke::kernels::kernel<twirl, cke::dtype::f32, Isa> {
  static void run(const row_params&, const work&, u32) {}
};
#include <cke/kernels/registry.hpp>
