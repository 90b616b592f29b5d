// SPDX-License-Identifier: MIT
// hidden_rows.hpp: the rows of the stream after the model's last norm, for embeddings.
#pragma once

#include "../kernels/rows.hpp"
#include "pass_part.hpp"
#include "weights.hpp"
#include "workspace.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Gives a part's rows, which begin at `row` of the stream, to its sink. They are normed in place: nothing reads them
// again.
template <class P, dtype KV, class Isa>
void give_normed_rows(workspace<P, KV, Isa>& space, const weights<P, Isa>& w,
                      const pass_part<sequence_state<P, KV, Isa>>& p, u32 row) {
  static constexpr const instruction& norm = P::unfused_footer().ops[0];
  static constexpr const norm_params& p_norm = norm.p.as<norm_params>();
  static_assert(norm.op == opcode::rmsnorm && p_norm.parts == 1 && p_norm.scale.v == 0);
  const auto* const scales = reinterpret_cast<const float*>(w.row(P::layers + 1)[norm.weight[0]]);
  for (u32 r = p.first; r < p.tokens(); ++r) {
    float* const x = space.row(row + r);
    rms_norm_kernel<Isa>::row(x, scales, p_norm.cols, p_norm.eps, p_norm.offset, x);
    p.hidden.take(p.hidden.user, p.index + r - p.first, x);
  }
}

}  // namespace cke::runtime
CKE_COLD_END
