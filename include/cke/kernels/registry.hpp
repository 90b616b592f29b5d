// SPDX-License-Identifier: MIT
// registry.hpp: every CPU kernel of this build as a list of types, operation x formats x instruction set.
//
// The only entry by hand is one line on what an operation computes: the compiler asks for each executable operation,
// number format and instruction set whether there is a specialisation of cke::kernel. The command `cke kernels` prints
// the list, and the tests generate each kernel's parity test from it.
#pragma once

#include <algorithm>
#include <array>
#include <boost/hana/all_of.hpp>
#include <boost/hana/bool.hpp>
#include <boost/hana/filter.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/integral_constant.hpp>
#include <boost/hana/is_empty.hpp>
#include <boost/hana/length.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>

#include "attention/attention_steps.hpp"
#include "attention/latent.hpp"
#include "experts.hpp"
#include "gated_delta.hpp"
#include "linear.hpp"
#include "rows.hpp"
#include "short_conv.hpp"
#include "state_scan.hpp"
#include "towers.hpp"

namespace cke::kernels::registry {

namespace hana = boost::hana;

// The result of an operation, and how many matrices it multiplies by; these may have different formats in one step.
struct summary {
  opcode op;
  std::string_view computes;
  u32 matrices = 0;
};
inline constexpr summary summaries[] = {
    {opcode::rmsnorm, "norm(x) * weight, of a row or of its equal parts"},
    {opcode::embedding, "the row of each token's id", 1},
    {opcode::residual_add, "a + b"},
    {opcode::logits, "W x of the vocabulary", 1},
    {opcode::scale, "x * number"},
    {opcode::softcap, "cap * tanh(x / cap)"},
    {opcode::residual_save, "a copy of the stream"},
    {opcode::quantize, "x in the form that the next matrix takes"},
    {opcode::matmul, "W x + bias; also gate and up side by side", 2},
    {opcode::head_norm, "norm of each head of q and k"},
    {opcode::rope, "each head of q and k turned by its position"},
    {opcode::kv_store, "keys and values into the cache"},
    {opcode::attend, "softmax(q k^T * scale) v over the cache"},
    {opcode::act_mul, "act(gate) * up"},
    {opcode::norm_quantize, "rmsnorm, then quantize"},
    {opcode::head_norm_rope, "head_norm, then rope"},
    {opcode::act_mul_quantize, "act_mul, then quantize"},
    {opcode::matmul_add, "stream + (W x + bias)", 1},
    {opcode::qkv_matmul, "q, k and v of one input", 3},
    {opcode::attend_quantize, "attend, then quantize"},
    {opcode::matmul_act, "act(G x) * (U x)", 2},
    {opcode::matmul_act_quantize, "matmul_act, then quantize", 2},
    {opcode::router, "W x, a score for each expert", 1},
    {opcode::route, "the experts that a token chooses, and their weights"},
    {opcode::sort_by_expert, "rows (token, expert), expert by expert"},
    {opcode::gather, "those rows of x, quantized"},
    {opcode::expert_act, "act(G x) * (U x) of each chosen expert", 2},
    {opcode::expert_sum, "sum of weight * (D h) over a token's experts", 1},
    {opcode::expert_sum_add, "stream + expert_sum", 1},
    {opcode::gated_conv, "c * conv(b * x), causal, a few taps"},
    {opcode::causal_conv, "act(conv(x) + bias), causal, a few taps"},
    {opcode::gated_delta, "the gated delta rule, token by token"},
    {opcode::gate_mul, "x * sigmoid(gate)"},
    {opcode::latent_key, "the key that all heads share: norm(latent), rope(rest)"},
    {opcode::split_heads, "each head's query in two parts, one of them turned"},
    {opcode::head_matmul, "W x with a matrix of its own for each head", 1},
    {opcode::act, "act(x)"},
    {opcode::up_act, "act(U x)", 1},
    {opcode::up_act_quantize, "up_act, then quantize", 1},
    {opcode::expert_up, "act(U x) of each chosen expert", 1},
    {opcode::state_scan, "the selective scan of Mamba 2, token by token"},
    {opcode::scatter, "features of images in the place of embeddings"},
    {opcode::vision_patch_embed, "W x + bias of each patch", 1},
    {opcode::learned_positions, "x + rows of a table, weighed by the place of a patch"},
    {opcode::layer_norm, "(x - mean) / deviation * weight + bias"},
    {opcode::layer_norm_quantize, "layer_norm, then quantize"},
    {opcode::affine, "x * by + offset"},
    {opcode::standardise, "(x - bias) * scale"},
    {opcode::clamp, "x between two learned bounds"},
    {opcode::spatial_merge, "neighbouring rows, one after the other in one row"},
    {opcode::average_pool, "the mean of neighbouring rows"},
    {opcode::last_row, "the last of neighbouring rows"},
    {opcode::attention_pool, "softmax(q k^T) v of one row over neighbouring rows"},
    {opcode::learned_row, "a row of weights"},
};
constexpr const summary* summary_of(opcode op) {
  for (const summary& s : summaries)
    if (s.op == op) return &s;
  return nullptr;
}

// One kernel. A step with several matrices names all their formats if they differ.
template <opcode Op, kernel_types T, class Isa> struct entry {
  static constexpr opcode op = Op;
  static constexpr kernel_types types = T;
  using isa = Isa;
};

template <opcode Op, dtype T, class Isa, dtype... More>
inline constexpr bool has_kernel = !requires { typename kernel<Op, T, Isa, More...>::missing; };

// A tuple of integral constants from an array of numbers.
template <const auto& Values> inline constexpr auto constants = []<std::size_t... I>(std::index_sequence<I...>) {
  return hana::tuple_c<std::remove_cvref_t<decltype(Values[0])>, Values[I]...>;
}(std::make_index_sequence<std::size(Values)>{});

// The operations that are steps: those with a parameter block (core/operations/). A letter has none.
inline constexpr auto executable = [] {
  std::array<opcode, std::ranges::count_if(ops, [](const op_info& o) { return o.block != block_kind::none; })> out{};
  std::size_t n = 0;
  for (const op_info& o : ops)
    if (o.block != block_kind::none) out[n++] = o.op;
  return out;
}();
inline constexpr auto operations = constants<executable>;

inline constexpr auto all_formats = [] {
  std::array<dtype, std::size(dtypes)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = dtypes[i].type;
  return out;
}();

// Instruction sets that the compiler may use; the scalar one, which is the oracle, comes first.
struct is_usable {
  template <class Isa> constexpr auto operator()(hana::basic_type<Isa>) const {
    return hana::bool_c < simd::is_scalar<Isa> || requires { typename isa::xsimd_arch<Isa>::type; } > ;
  }
};
inline constexpr auto isas = hana::filter(hana::tuple_t<isa::scalar, isa::avx2, isa::avx2_vnni, isa::avx512,
                                                        isa::avx512_vnni, isa::avx512_fp16, isa::neon, isa::wasm>,
                                          is_usable{});

// The formats that an operation has kernels for.
template <opcode Op> struct takes {
  template <dtype T> constexpr auto operator()(hana::integral_constant<dtype, T>) const {
    return hana::bool_c < has_kernel<Op, T, isa::scalar> || has_kernel < Op, T, isa::native >> ;
  }
};
template <opcode Op> inline constexpr auto formats_of = hana::filter(constants<all_formats>, takes<Op>{});

template <opcode Op> struct has_oracle {
  template <dtype T> constexpr auto operator()(hana::integral_constant<dtype, T>) const {
    return hana::bool_c<has_kernel<Op, T, isa::scalar>>;
  }
};

// Steps whose matrices differ: every pair and triple of formats has a kernel; the list has one triple that Q4_K_M files
// use and one whose matrices take different forms of the input.
template <u32 Matrices> inline constexpr std::array<kernel_types, 0> mixtures{};
template <>
inline constexpr std::array<kernel_types, 2> mixtures<2>{kernel_types(dtype::q4_k, dtype::q6_k),
                                                         kernel_types(dtype::q8_0, dtype::bf16)};
template <>
inline constexpr std::array<kernel_types, 2> mixtures<3>{kernel_types(dtype::q4_k, dtype::q4_k, dtype::q6_k),
                                                         kernel_types(dtype::q8_0, dtype::bf16, dtype::q4_0)};

// Calls f(hana::type_c<form<...>>) for each operation and format that it has kernels for, on every instruction set.
template <opcode Op, kernel_types T> struct form {
  static constexpr opcode op = Op;
  static constexpr kernel_types types = T;
};
template <class F> constexpr void for_each_form(F f) {
  hana::for_each(operations, [&]<opcode Op>(hana::integral_constant<opcode, Op>) {
    hana::for_each(formats_of<Op>,
                   [&]<dtype T>(hana::integral_constant<dtype, T>) { f(hana::type_c<form<Op, kernel_types(T)>>); });
    constexpr auto& mixed = mixtures<summary_of(Op)->matrices>;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(hana::type_c<form<Op, mixed[I]>>), ...);
    }(std::make_index_sequence<mixed.size()>{});
  });
}
// Calls f(hana::type_c<entry<...>>) for each kernel of a form.
template <class Form, class F> constexpr void for_each_isa_of(F f) {
  hana::for_each(isas, [&]<class Isa>(hana::basic_type<Isa>) { f(hana::type_c<entry<Form::op, Form::types, Isa>>); });
}

// Static checks of every executable operation.
template <opcode Op> struct registered {
  static_assert(
      !decltype(hana::is_empty(formats_of<Op>))::value,
      "cke: registry: an executable operation without a kernel; specialise cke::kernels::kernel in a header that "
      "kernels/registry.hpp includes; see registered<opcode>");
  static_assert(
      summary_of(Op) != nullptr,
      "cke: registry: an operation without a line on what it computes; add it to summaries in kernels/registry.hpp; "
      "see registered<opcode>");
  static_assert(
      hana::all_of(formats_of<Op>, has_oracle<Op>{}),
      "cke: registry: a kernel without a scalar one, which its parity test compares it with; see registered<opcode>");
  static_assert(
      !summary_of(Op) || !summary_of(Op)->matrices ||
          decltype(hana::length(formats_of<Op>))::value == std::size(weight_types),
      "cke: registry: an operation with matrices lacks a kernel for a format of dtype.hpp's weight_types; give it a "
      "layout and a format in a header that kernels/formats/packed.hpp includes; see registered<opcode>");
  static constexpr bool complete = true;
};
static_assert([]<std::size_t... I>(std::index_sequence<I...>) {
  return (registered<executable[I]>::complete && ...);
}(std::make_index_sequence<executable.size()>{}));

}  // namespace cke::kernels::registry
