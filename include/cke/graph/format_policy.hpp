// SPDX-License-Identifier: MIT
// format_policy.hpp: which number format each weight has: policies that answer for a slot.
#pragma once

#include "../core/dtype.hpp"
#include "../core/role.hpp"

namespace cke::graph {

// A router is small, and rounding it would change choices; GGUF keeps it in f32 too, as it does the gate of shared
// experts.
constexpr bool narrows(const weight_slot& w) {
  return w.quantisable && w.is != role::router && w.is != role::shared_gate;
}

// Answers `of(slot, layer, layers, tied)`. Vectors, routers and rows that are not whole blocks stay f32.
template <dtype T> struct one_format {
  static constexpr dtype of(const weight_slot& w, u32, u32, bool) {
    return narrows(w) && w.cols % info(T).block == 0 ? T : dtype::f32;
  }
  static constexpr std::string_view name = info(T).name;
};

// llama.cpp's recipes (llama_tensor_get_type): one type for most matrices, and Q6_K for the head (a tied embedding is
// one) and, with MoreBits, for v and down of every third layer and the outer eighths. Rows that are not whole blocks
// get llama.cpp's fallback type.
template <dtype Most, bool MoreBits> struct recipe {
  static constexpr dtype of(const weight_slot& w, u32 layer, u32 layers, bool tied) {
    if (!narrows(w)) return dtype::f32;
    const u32 eighth = layers / 8;
    const bool outer = layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
    const bool better = w.is == role::head || (tied && w.is == role::embed) ||
        (MoreBits && outer &&
         (w.is == role::v || w.is == role::down || w.is == role::down_experts || w.is == role::down_shared));
    const dtype t = better ? dtype::q6_k : Most;
    if (w.cols % info(t).block == 0) return t;
    if (w.cols % 32 != 0) return dtype::f16;
    return t == dtype::q4_k ? dtype::q5_0 : t == dtype::q5_k ? dtype::q5_1 : dtype::q8_0;
  }
};

// The formats that a file stores, matrix by matrix.
struct stored_matrices {
  role is{};
  u32 first{}, last{};  // layers [first, last)
  dtype type{};
};
template <const auto& Table> struct stored_formats {
  static constexpr dtype of(const weight_slot& w, u32 layer, u32, bool) {
    for (const stored_matrices& m : Table)
      if (w.quantisable && w.is == m.is && m.first <= layer && layer < m.last) return m.type;
    return dtype::f32;
  }
};

struct F32 : one_format<dtype::f32> {};
struct F16 : one_format<dtype::f16> {};
struct BF16 : one_format<dtype::bf16> {};
struct Q8_0 : one_format<dtype::q8_0> {};
struct I8 : one_format<dtype::i8_row> {};
// Four bits are too few for a row of scores: head and embedding have eight.
struct I4 {
  static constexpr dtype of(const weight_slot& w, u32 layer, u32 layers, bool tied) {
    return w.is == role::head || w.is == role::embed ? I8::of(w, layer, layers, tied)
                                                     : one_format<dtype::i4_row>::of(w, layer, layers, tied);
  }
};
struct Q4_0 : recipe<dtype::q4_0, false> {};
struct Q4_K_M : recipe<dtype::q4_k, true> {};
struct Q5_K_M : recipe<dtype::q5_k, true> {};
struct Q6_K : recipe<dtype::q6_k, false> {};

}  // namespace cke::graph

// The names for programs to use.
namespace cke {
using graph::F32, graph::F16, graph::BF16, graph::Q8_0, graph::I8, graph::I4, graph::Q4_0, graph::Q4_K_M, graph::Q5_K_M,
    graph::Q6_K;
using graph::stored_formats, graph::stored_matrices;
}  // namespace cke
