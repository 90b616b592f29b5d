// SPDX-License-Identifier: MIT
// state_layout.hpp: where the states of a sequence lie in its pages.
#pragma once

#include "../graph/program.hpp"
#include "../kernels/attention/kv_cache.hpp"
#include "../kernels/kernel.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Whether transient states have pages of their own. On a device all states are persistent: it runs many positions ahead
// of the host, which could not give pages back in time.
template <class Isa> inline constexpr bool keeps_transient_apart = true;

template <class P, dtype KV, class Isa> struct state_layout {
  static constexpr page_plan plan = keeps_transient_apart<Isa> ? P::page(KV) : P::page(KV).all_persistent();
  static constexpr bool has_transient = plan.bytes(plan.transient) > 0;

  // Where each state lies in a page.
  static constexpr auto places = [] {
    small_vector<kv_place, std::max<std::size_t>(P::layers, 1) * 4> all;
    P::for_each_state(KV, [&](const state_descriptor& d) {
      const bool recurs = is_recurrent(d.what), apart = has_transient && d.transient;
      const u64 before = recurs   ? (apart ? plan.transient : plan.persistent).caches
          : d.transient && !apart ? P::page(KV).persistent.caches
                                  : 0;
      all.push({before + d.offset, recurs ? 0 : kv_cache<KV, Isa>::block_bytes(d.head_dim), plan.blocks, apart});
    });
    return all;
  }();
};

}  // namespace cke::runtime
CKE_COLD_END
