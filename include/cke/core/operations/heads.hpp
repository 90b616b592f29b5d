// SPDX-License-Identifier: MIT
// heads.hpp: the steps of attention: norm and rope of each head, the cache, the scores. Kernels:
// kernels/attention/attention_steps.hpp.
#pragma once

#include "../opcode.hpp"
#include "../params.hpp"

namespace cke {

// A row of queries, [heads][head_dim], and one of keys, [kv_heads][head_dim].
struct head_shape {
  u32 heads{}, kv_heads{}, head_dim{};
  constexpr u32 group() const { return heads / kv_heads; }  // query heads that share a kv head
  constexpr void each(auto&& f) const { f("heads", heads), f("kv_heads", kv_heads), f("head_dim", head_dim); }
  constexpr bool operator==(const head_shape&) const = default;
};
// The rope that cos and sin are computed for.
struct turned_head {
  const rotary* rope{};  // null: no rotation
  u32 head_dim{};
};

struct head_norm_params {
  head_shape shape;
  real eps{}, offset{};  // offset: of the weights
  constexpr u32 head_units() const { return shape.kv_heads; }
  constexpr void each(auto&& f) const { shape.each(f), f("eps", eps), f("offset", offset); }
  constexpr bool operator==(const head_norm_params&) const = default;
};
struct rope_params {
  head_shape shape;
  rotary rope{};
  constexpr u32 head_units() const { return shape.kv_heads; }
  constexpr turned_head turned() const { return {&rope, shape.head_dim}; }
  constexpr void each(auto&& f) const { shape.each(f), f("rope", rope); }
  constexpr bool operator==(const rope_params&) const = default;
};
struct head_norm_rope_params {
  head_norm_params norm;
  rotary rope{};
  constexpr u32 head_units() const { return norm.head_units(); }
  constexpr turned_head turned() const { return {&rope, norm.shape.head_dim}; }
  constexpr void each(auto&& f) const { norm.each(f), f("rope", rope); }
  constexpr bool operator==(const head_norm_rope_params&) const = default;
};
struct kv_store_params {
  u32 kv_heads{}, head_dim{};
  constexpr u32 head_units() const { return kv_heads; }
  constexpr void each(auto&& f) const { f("kv_heads", kv_heads), f("head_dim", head_dim); }
  constexpr bool operator==(const kv_store_params&) const = default;
};
struct attention_params {
  head_shape shape;
  u32 window = everything;  // positions that a query sees, its own the last; of patches: the side of a window
  real scale{};             // of a score; 0: head_dim^-1/2
  real cap{};               // of a score; 0: none
  bool bidirectional{};     // every row of a segment sees all of it
  bool sees_image{};        // a row of an image sees all rows of the image
  constexpr u32 head_units() const { return shape.kv_heads; }
  constexpr void each(auto&& f) const {
    shape.each(f), f("window", window == everything ? 0 : window), f("scale", scale), f("cap", cap);
    f("bidirectional", bidirectional), f("sees_image", sees_image);
  }
  constexpr bool operator==(const attention_params&) const = default;
};

template <> struct operation<opcode::head_norm> {
  using params = head_norm_params;
  static constexpr op_facts facts{"head_norm", {split::kv_heads, true}, {split::tokens, true}};
};
template <> struct operation<opcode::rope> {
  using params = rope_params;
  static constexpr op_facts facts{"rope", {split::kv_heads, true}, {split::tokens, true}};
};
template <> struct operation<opcode::head_norm_rope> {
  using params = head_norm_rope_params;
  static constexpr op_facts facts{"head_norm_rope", {split::kv_heads, true}, {split::tokens, true}};
  static constexpr params fuse(const head_norm_params& norm, const rope_params& rope) { return {norm, rope.rope}; }
};
template <> struct operation<opcode::kv_store> {
  using params = kv_store_params;
  static constexpr op_facts facts{"kv_store", {split::kv_heads, true}, {split::tokens, true}, typed_by::cache};
};
template <> struct operation<opcode::attend> {
  using params = attention_params;
  static constexpr op_facts facts{"attend", {split::kv_heads, true}, {split::tiles, false}, typed_by::cache};
};
template <> struct operation<opcode::attend_quantize> {
  using params = attention_params;
  static constexpr op_facts facts{"attend_quantize", {split::kv_heads, true}, {split::tiles, false}, typed_by::cache};
};

}  // namespace cke
