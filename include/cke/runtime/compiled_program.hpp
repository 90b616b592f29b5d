// SPDX-License-Identifier: MIT
// compiled_program.hpp: what the compiler makes of a program's type: the program as data, and the kernels of its steps.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "../graph/program_data.hpp"
#include "../kernels/attention/kv_blocks.hpp"
#include "../kernels/kernel.hpp"
#include "packed_layout.hpp"
#include "rank_link.hpp"
#include "state_facts.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

class pass_executor;
class team;
class weights;
struct model_options;

// A step's kernel, and the bytes of scratch that it uses in a pass of at most so many tokens.
struct step_code {
  kernel_entry run;
  scratch_entry scratch;
};

// kernels::kv_cache of one type.
struct cache_code {
  dtype type;
  u64 (*block_bytes)(u32 head_dim);  // of a kv head
  u32 (*part_floats)(u32 head_dim);  // of a partial result of attention
  void (*store)(const kv_blocks& head, u32 position, u32 head_dim, const float* k, const float* v);
};

// What differs between instruction sets besides kernels.
struct isa_code {
  std::string_view name;
  bool transient_apart;  // whether transient states have pages of their own
  u64 (*token_bytes)(const view&);
  void (*norm_row)(const norm_params& p, const float* scales, float* row);  // in place

  view from_row(view v, u32 row) const {
    v.data += row * token_bytes(v);
    return v;
  }
};

// All that weights, executors and sequences ask of a model's type. What reads it is compiled once for all models.
struct compiled_program {
  const program_data* program;
  const step_code* const* steps;  // of each code: header, bodies, footer
  std::span<const packed_format> (*formats)();
  const cache_code& (*cache)();
  const isa_code& (*isa)();
  std::unique_ptr<pass_executor> (*executor)(const compiled_program&, const state_facts&, const weights&, team&,
                                             const model_options&);
  // Of a model that runs by_ranks: whether this rank packs a unit of a matrix. Null: there is one rank.
  bool (*has_unit)(const program_data&, const weight&, u32 unit, const rank_link&);

  u32 codes() const { return program->body_count + 2; }
  const code& code_at(u32 index) const {
    return index == 0 ? *program->header : index == codes() - 1 ? *program->footer : *program->bodies[index - 1];
  }
  // f(index, code): header, bodies, footer.
  template <class F> void each_code(F f) const {
    for (u32 index = 0; index < codes(); ++index) f(index, code_at(index));
  }
  packed_layout packed() const { return {program, formats()}; }
};

}  // namespace cke::runtime
CKE_COLD_END
