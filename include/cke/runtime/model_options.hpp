// SPDX-License-Identifier: MIT
// model_options.hpp: how a model is loaded.
#pragma once

#include <algorithm>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../graph/plan.hpp"
#include "rank_link.hpp"
#include "team.hpp"
#include "weights.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

struct model_options {
  u32 threads = 0;               // 0: the cores that the process may use
  u32 context = 4096;            // positions of a session; rope rules that depend on a length use this one
  u32 chunk = 512;               // most tokens of one pass
  u32 logit_rows = 1;            // most rows of logits of one pass
  u32 cache_positions = 0;       // of all sessions together; 0: a context for each session
  progress_callback progress{};  // weights packed, weights in all
  cke::hints hints{};            // what changes speed alone; hints.chunk, if given, goes before chunk
  rank_link ranks{};             // the others that run the model too, where it runs by_ranks (ranks.hpp)

  // For a model of so many layers. Throws config_range.
  void validate(u32 layers = ~0u) const {
    const auto check = [](std::string_view name, u32 value, u32 least, u32 most) {
      if (value < least || value > most)
        throw Error(errc::config_range, {}, name, concat({least, " to ", most}), concat({value}));
    };
    check("context", context, 1, most_positions);
    check("chunk", chunk, 1, hints.longest_chunk);
    check("logit_rows", logit_rows, 1, 1 << 16);
    check("cache_positions", cache_positions, 0, 1 << 30);
    check("threads", threads, 0, team::max_threads);
    check("hints.prefill_threads", hints.prefill_threads.value_or(0), 0, team::max_threads);
    check("hints.decode_threads", hints.decode_threads.value_or(0), 0, team::max_threads);
    check("hints.chunk", hints.chunk.value_or(1), 1, hints.longest_chunk);
    check("hints.units_per_claim", hints.units_per_claim.value_or(1), 1, hints.most_claimed);
    check("hints.spins", hints.spins.value_or(1), 1, hints.most_spins);
    for (const layer_hints& l : hints.layers) {
      const std::string range = concat({"hints.layers ", l.first, "-", l.last});
      check(range, l.last, l.first, layers - 1);
      check(concat({range, ": units_per_claim"}), l.units_per_claim.value_or(1), 1, hints.most_claimed);
    }
  }
  // A pass needs no more rows than the context, or than a row of logits for each of many sessions.
  capacity limits() const {
    return {context, std::min(hints.chunk.value_or(chunk), std::max(context, logit_rows)), logit_rows};
  }
  bool huge_pages() const { return hints.huge_pages.value_or(*default_hints.huge_pages); }
};

}  // namespace cke::runtime
CKE_COLD_END
