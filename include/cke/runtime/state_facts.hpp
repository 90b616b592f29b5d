// SPDX-License-Identifier: MIT
// state_facts.hpp: where the states of a sequence lie in its pages, and which of them pass.
#pragma once

#include <algorithm>
#include <span>

#include "../graph/program_data.hpp"
#include "../kernels/kernel.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Whether an isa is a device's. All states are persistent there: it runs many positions ahead of the host, which could
// not give pages of transient ones back in time.
template <class Isa> inline constexpr bool is_device = false;

// What sequences need to know of a program's states.
struct state_facts {
  page_plan plan{};
  bool has_transient{}, transient_apart{};  // whether transient states have pages of their own
  bool slides{}, turns_by_context{};
  u32 layers{}, first_persistent{};
  std::span<const kv_place> places{};  // in the order of for_each_state

  constexpr u32 page_positions() const { return plan.positions(); }
  // The first page whose transient states a position reads.
  constexpr u32 first_seen(u32 position) const {
    return (position - std::min(position, plan.reach)) / page_positions();
  }
};

// The plan of a page. Where transient states have no pages of their own, all are persistent.
constexpr page_plan page_of_states(const program_data& p, dtype kv, bool transient_apart) {
  return transient_apart ? p.page(kv) : p.page(kv).all_persistent();
}

// f(place) for each state, in the order of for_each_state; block_bytes(head_dim): of a block of a cache.
template <class F> constexpr void for_each_place(const program_data& p, dtype kv, bool transient_apart,
                                                 u64 (*block_bytes)(u32 head_dim), F f) {
  const page_plan plan = page_of_states(p, kv, transient_apart), apart_plan = p.page(kv);
  const bool has_transient = plan.bytes(plan.transient) > 0;
  p.for_each_state(kv, [&](const state_descriptor& d) {
    const bool recurs = is_recurrent(d.what), apart = has_transient && d.transient;
    const u64 before = recurs   ? (apart ? plan.transient : plan.persistent).caches
        : d.transient && !apart ? apart_plan.persistent.caches
                                : 0;
    f(kv_place{before + d.offset, recurs ? 0 : block_bytes(d.head_dim), plan.blocks, apart});
  });
}

constexpr state_facts facts_of_states(const program_data& p, dtype kv, bool transient_apart,
                                      std::span<const kv_place> places) {
  const page_plan plan = page_of_states(p, kv, transient_apart);
  return {plan,     plan.bytes(plan.transient) > 0, transient_apart, p.slides(), p.turns_by_context(),
          p.layers, p.first_persistent(),           places};
}

}  // namespace cke::runtime
CKE_COLD_END
