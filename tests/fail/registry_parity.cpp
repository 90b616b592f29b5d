// expect: cke: parity: a kernel without a parity test; specialise parity::driver for its operation
// expect: parity<(cke::kernels::registry::)?entry<\(?(cke::opcode\))?200, .*(scalar|avx2)
#define CKE_TEST_DATA ""
#include "../kernels/registry/parity.hpp"
constexpr auto twirl = static_cast<cke::opcode>(200);
template <> struct cke::operation<twirl> {
  using params = row_params;
  static constexpr op_facts facts{"twirl", {split::tokens, true}, {split::tokens, true}};
};
template <class Isa> struct cke::kernels::kernel<twirl, cke::dtype::f32, Isa> {
  static void run(const row_params&, const work&, u32) {}
};
template void parity::test_form<cke::kernels::registry::form<twirl, cke::dtype::f32>, cke::activation::silu>();
