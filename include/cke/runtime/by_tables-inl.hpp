// SPDX-License-Identifier: MIT
// by_tables-inl.hpp: the executor of by_tables.hpp.
#pragma once

#include "executor-inl.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

CKE_ONCE std::unique_ptr<pass_executor> make_executor(const compiled_program& m, const state_facts& states,
                                                      const weights& w, team& threads, const model_options& o) {
  return std::make_unique<executor<>>(m, states, w, threads, o.limits(), o.hints);
}

}  // namespace cke::runtime
CKE_COLD_END
