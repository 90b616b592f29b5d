// SPDX-License-Identifier: MIT
// hidden_rows.hpp: the rows of the stream after the model's last norm, for embeddings.
#pragma once

#include "pass_part.hpp"
#include "weights.hpp"
#include "workspace.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Gives a part's rows, which begin at `row` of the stream, to its sink. They are normed in place: nothing reads them
// again.
inline void give_normed_rows(workspace& space, const weights& w, const pass_part& p, u32 row) {
  const compiled_program& m = space.compiled();
  const instruction& norm = m.program->unfused_footer->ops[0];  // rmsnorm of one part (program checks it)
  const auto& how = norm.p.as<norm_params>();
  const auto* const scales = reinterpret_cast<const float*>(w.row(m.program->layers + 1)[norm.weight[0]]);
  for (u32 r = p.first; r < p.tokens(); ++r) {
    float* const x = space.row(row + r);
    m.isa().norm_row(how, scales, x);
    p.hidden.take(p.hidden.user, p.index + r - p.first, x);
  }
}

}  // namespace cke::runtime
CKE_COLD_END
