// expect: cke: registry: an executable operation without a kernel; specialise cke::kernels::kernel in a header that
// expect: registered<\(?(cke::opcode\))?120
#include <cke/core/operations/rows.hpp>
constexpr auto twirl = static_cast<cke::opcode>(120);
template <> struct cke::operation<twirl> {
  using params = row_params;
  static constexpr op_facts facts{"twirl", {split::tokens, true}, {split::tokens, true}};
};
#include <cke/kernels/registry.hpp>
