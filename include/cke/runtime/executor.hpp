// SPDX-License-Identifier: MIT
// executor.hpp: a program run on a team of threads, as a fold over the steps of each kind of block.
#pragma once

#include <span>

#include "../kernels/heads.hpp"
#include "../kernels/linear.hpp"
#include "../kernels/rows.hpp"
#include "team.hpp"
#include "weights.hpp"
#include "workspace.hpp"

namespace cke {

// A kind of block is one instantiation for each form, however many layers repeat it.
template <class P, dtype KV, class Isa> class executor {
 public:
  using slot = slot_state<P, KV, Isa>;

  executor(const weights<P, Isa>& w, team& threads, capacity k)
      : weights_(w), team_(threads), space_(k, threads.size()) {}

  const capacity& limits() const { return space_.limits(); }
  u64 bytes() const { return space_.bytes(); }

  // One pass: at most `chunk` ids go through all layers and into the slot's caches; then logits of
  // the last `rows` of them, at most `logit_rows` at a time: take(first row, rows, view).
  template <class Take> void run(std::span<const u32> ids, u32 rows, slot& s, Take&& take) {
    pass now{static_cast<u32>(ids.size()), s.position(), ids.data(), 0};
    team_.run([&](u32 thread) noexcept {
      if (form_of(now.tokens) == form::decode) layers<form::decode>(now, thread, s);
      else layers<form::prefill>(now, thread, s);
    });
    for (u32 first = now.tokens - rows; first < now.tokens;) {
      const u32 left = now.tokens - first, n = left < limits().logit_rows ? left : limits().logit_rows;
      const pass last{n, 0, nullptr, first};
      team_.run([&](u32 thread) noexcept {
        if (form_of(n) == form::decode) footer<form::decode>(last, thread, s);
        else footer<form::prefill>(last, thread, s);
      });
      take(first, n, space_.logits(form_of(n)));
      first += n;
    }
    s.advance(now.tokens);
  }

 private:
  template <form F> void layers(const pass& now, u32 thread, const slot& s) {
    run_code<P::head(), F>(0, now, thread, weights_.row(0), s, 0);
    u32 state = 0;
    for (u32 l = 0; l < P::layers; ++l) {
      [&]<std::size_t... V>(std::index_sequence<V...>) {
        (void)((P::variants.of[l] == V &&
                (run_code<P::template body<V>(), F>(V + 1, now, thread, weights_.row(l + 1), s, state), true)) ||
               ...);
      }(std::make_index_sequence<P::body_count>{});
      state += P::plain[P::kind_of[l]].states.size();
    }
  }

  template <form F> void footer(const pass& last, u32 thread, const slot& s) {
    run_code<P::foot(), F>(P::body_count + 1, last, thread, weights_.row(P::layers + 1), s, 0);
  }

  template <const code& C, form F>
  [[gnu::noinline]] void run_code(u32 index, const pass& now, u32 thread, const std::byte* const* row,
                                  const slot& s, u32 state) {
    static constexpr schedule plan = phases_of(C, F);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (run_phase<C, F, plan.phases[I]>(index, now, thread, row, s, state), ...);
    }(std::make_index_sequence<plan.phases.size()>{});
  }

  template <const code& C, form F, phase Ph>
  CKE_INLINE void run_phase(u32 index, const pass& now, u32 thread, const std::byte* const* row, const slot& s,
                            u32 state) {
    auto prepared = [&](u32 k) {
      const instruction& i = C.ops[Ph.first + k];
      return space_.prepare(C, index, F, i, now, thread, row, s, state + (i.state == absent ? 0 : i.state));
    };
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (step<C, Ph.first + K>(prepared(K), 0), ...);
    }(std::make_index_sequence<Ph.redundant>{});
    if constexpr (Ph.count > 0) {
      constexpr u32 first = u32{Ph.first} + Ph.redundant;
      constexpr const params& p = C.ops[first].p;
      const u32 units = units_of(Ph.by, now.tokens, p.kv_heads, row_units(C, C.ops[first]));
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        const work w[]{prepared(Ph.redundant + K)...};
        team_.share(thread, units, [&](u32 unit) { (step<C, first + K>(w[K], unit), ...); });
      }(std::make_index_sequence<Ph.count>{});
    }
    team_.barrier();
  }

  template <const code& C, u32 I> CKE_INLINE void step(const work& w, u32 unit) {
    static constexpr instruction i = C.ops[I];
    kernel_of<i.op, kernel_dtype(C, i, KV)>(i.p, w, unit);
  }
  // One copy for all blocks and forms: a unit is long enough for a call, and inlining doubles the code.
  template <opcode Op, dtype T> [[gnu::noinline]] static void kernel_of(const params& p, const work& w, u32 unit) {
    dispatch<Op, T, Isa>::run(p, w, unit);
  }

  const weights<P, Isa>& weights_;
  team& team_;
  workspace<P, KV, Isa> space_;
};

}  // namespace cke
