// SPDX-License-Identifier: MIT
// rule_table.hpp: every operation that can be trained, with its way forth and back, by opcode.
#pragma once

#include "loss.hpp"
#include "rule_attend.hpp"
#include "rule_conv.hpp"
#include "rule_delta.hpp"
#include "rule_experts.hpp"
#include "rule_latent.hpp"
#include "rule_scan.hpp"

namespace cke::train {

struct rule_entry {
  void (*forward)(const tape_step&, const step_work&, const crew&, std::byte* shared) = nullptr;
  void (*backward)(const tape_step&, const step_work&, const crew&, std::byte* shared) = nullptr;
  u64 (*scratch_bytes)(const params&, u32 rows, u32 longest) = nullptr;
  u64 (*shared_bytes)(const params&, u32 rows, u32 longest) = nullptr;
  bool writes_fresh = false;
};

template <opcode Op, class Isa> struct rule_functions {
  using rule = train::rule<Op, Isa>;
  using block = params_of<Op>;

  // By its kernel of inference, in f32, cut as for a prompt.
  static void by_kernel(const tape_step& step, const step_work& s, const crew& c) {
    work w = s.w;
    w.by = partition_of(step.i, form::prefill).by;
    w.scratch = c.scratch;
    const auto run = [&](kernel_entry kernel) {
      c.share(units_of(step.i.p, w.by, w.tokens, step.row_units, static_cast<u32>(w.tiles.size())),
              [&](u32 unit) { kernel(step.i.p, w, unit); });
    };
    if constexpr (requires { block{}.act; })
      with_activation(activation_of(step.i.p),
                      [&]<activation A>() { run(kernel_of<Op, kernel_types{}.with(A), Isa>()); });
    else run(kernel_of<Op, kernel_types{}, Isa>());
  }
  static void forward(const tape_step& step, const step_work& s, const crew& c, std::byte* shared) {
    if constexpr (requires { rule::forward(block{}, s, c, shared); })
      rule::forward(step.i.p.get<block>(), s, c, shared);
    else if constexpr (requires { &rule::forward; }) rule::forward(step.i.p.get<block>(), s, c);
    else by_kernel(step, s, c);
  }
  static void backward(const tape_step& step, const step_work& s, const crew& c, std::byte* shared) {
    if constexpr (requires { rule::backward(block{}, s, c, shared); })
      rule::backward(step.i.p.get<block>(), s, c, shared);
    else rule::backward(step.i.p.get<block>(), s, c);
  }
  static u64 scratch_bytes(const params& p, u32 rows, u32 longest) {
    u64 most = gemm<Isa>::scratch_bytes;
    if constexpr (requires { &rule::scratch_bytes; })
      most = std::max(most, rule::scratch_bytes(p.get<block>(), rows, longest));
    if constexpr (!requires { &rule::forward; }) most = std::max(most, scratch_of<Op, kernel_types{}, Isa>(p, rows));
    return most;
  }
  static u64 shared_bytes(const params& p, u32 rows, u32 longest) {
    if constexpr (requires { &rule::shared_bytes; }) return rule::shared_bytes(p.get<block>(), rows, longest);
    else return 0;
  }
  static constexpr bool writes_fresh() {
    if constexpr (requires { rule::writes_fresh; }) return rule::writes_fresh;
    else return false;
  }
  static constexpr rule_entry entry{forward, backward, scratch_bytes, shared_bytes, writes_fresh()};
};

// By opcode, and the loss.
struct rule_table {
  std::array<rule_entry, 128> of;
  double (*row_loss)(float* logits, u32 vocab, u32 target, const loss_options&, float by);
  const rule_entry& operator[](opcode op) const { return of[static_cast<u8>(op)]; }
};
template <class Isa> inline constexpr rule_table rules_from_headers = [] {
  std::array<rule_entry, 128> all{};
  const auto add = [&]<std::size_t... Op>(std::index_sequence<Op...>) {
    (
        [&] {
          if constexpr (has_rule<opcode{Op}>) all[Op] = rule_functions<opcode{Op}, Isa>::entry;
        }(),
        ...);
  };
  add(std::make_index_sequence<128>{});
  return rule_table{all, row_loss<Isa>};
}();

#ifdef CKE_COMPILED
template <class Isa> const rule_table& compiled_rules();  // of the compiled part (compiled/rules.cpp), for isa::native
#endif
template <class Isa> const rule_table& rules_of() {
#ifdef CKE_COMPILED
  if constexpr (std::is_same_v<Isa, isa::native>) return compiled_rules<Isa>();
  else
#endif
    return rules_from_headers<Isa>;
}

}  // namespace cke::train
