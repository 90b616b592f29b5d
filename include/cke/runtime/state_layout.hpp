// SPDX-License-Identifier: MIT
// state_layout.hpp: the state_facts of a program whose type is in sight.
#pragma once

#include "../graph/program.hpp"
#include "../kernels/attention/kv_cache.hpp"
#include "state_facts.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

template <class P, dtype KV, class Isa> struct state_layout {
  static constexpr page_plan plan = page_of_states(P::without_files, KV, !is_device<Isa>);
  static constexpr bool has_transient = plan.bytes(plan.transient) > 0;

  // Where each state lies in a page.
  static constexpr auto places = [] {
    small_vector<kv_place, std::max<std::size_t>(P::layers, 1) * 4> all;
    for_each_place(P::without_files, KV, !is_device<Isa>, &kv_cache<KV, Isa>::block_bytes,
                   [&](const kv_place& at) { all.push(at); });
    return all;
  }();

  static constexpr state_facts facts =
      facts_of_states(P::without_files, KV, !is_device<Isa>, {places.begin(), places.size()});
};

}  // namespace cke::runtime
CKE_COLD_END
