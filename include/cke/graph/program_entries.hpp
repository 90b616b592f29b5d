// SPDX-License-Identifier: MIT
// program_entries.hpp: what the tables of a program contain: weights, states, variants, and facts of its family.
#pragma once

#include <span>
#include <string_view>

#include "code.hpp"
#include "page_plan.hpp"

namespace cke::graph {

struct weight {
  place where{};
  u32 layer{};
  weight_slot slot{};
  dtype as{};
  u64 offset{}, bytes{};  // tight, in the format's own blocks
};
// ADR 0001's StateDescriptor: a layer's k and v of a key block, or its recurrent state.
struct state_descriptor {
  u32 id{};
  keeps_what what{};
  lifecycle life{};
  bool transient{};                                   // otherwise persistent; see page_plan
  u32 layer{}, owner{}, heads{}, head_dim{}, rows{};  // rows: positions that a query sees; recurrent: rows of the state
  u64 offset{}, bytes{};  // among the caches of its part of a page, or among its recurrent states
  u16 align = 64;
  bool zero_init = true;
};

// Layers with equal kind and equal formats are one variant: one code.
struct variant {
  u8 kind{};
  signature formats{};
};

// What a model's family says of its files.
struct family_facts {
  std::string_view name{};                     // empty: a model without a family
  std::span<const name_rule> names{};          // empty: a model without names of tensors
  std::span<const std::string_view> unread{};  // how names begin of tensors that are left unread
  bool predicts_ahead = false;                 // files have layers after the last, for speculative decoding
};

}  // namespace cke::graph
