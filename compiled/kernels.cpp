// SPDX-License-Identifier: MIT
// kernels.cpp: every kernel of the format number CKE_FORMAT, compiled once; kernel.hpp says which steps call them.
#include <array>

#include <cke/runtime/compile_program.hpp>

namespace cke::kernels {

static_assert(std::size(weight_types) == CKE_FORMATS,
              "cke: the compiled part: compiled/CMakeLists.txt has another number of formats");

template <opcode Op, kernel_types T, class Isa> void compiled_kernel(const params& p, const work& w, u32 unit) {
  kernel_from_headers<Op, T, Isa>()(p, w, unit);
}

template <opcode Op, kernel_types T, class Isa> u64 compiled_scratch(const params& p, u32 tokens) {
  return scratch_of<Op, T, Isa>(p, tokens);
}

namespace {

using isa::native;
constexpr dtype stored = weight_types[CKE_FORMAT];
constexpr bool keeps_keys =
    stored == dtype::f32 || stored == dtype::f16 || stored == dtype::bf16 || stored == dtype::q8_0;

template <opcode Op> constexpr bool exists = !requires { typename kernel<Op, stored, native>::missing; };
template <> constexpr bool exists<opcode::kv_store> = keeps_keys;
template <> constexpr bool exists<opcode::attend> = keeps_keys;
template <> constexpr bool exists<opcode::attend_quantize> = keeps_keys;

// Whether the kernels of an operation are templates over the activation.
template <opcode Op> concept has_activation = requires { &kernel<Op, stored, native>::template run<activation{}>; };

struct compiled_step {
  kernel_entry run;
  scratch_entry scratch;
};
template <opcode Op, activation A> constexpr compiled_step step_or_none() {
  if constexpr (exists<Op> && (A == activation{} || has_activation<Op>)) {
    constexpr kernel_types types = kernel_types(stored).with(A);
    return {&compiled_kernel<Op, types, native>, &compiled_scratch<Op, types, native>};
  } else {
    return {};
  }
}

// Makes the compiler emit the kernels.
constexpr std::size_t activations = 4;
template <std::size_t... I> constexpr auto kernels_of(std::index_sequence<I...>) {
  return std::array<compiled_step, sizeof...(I)>{
      step_or_none<ops[I / activations].op, activation{I % activations}>()...};
}
[[gnu::used]] constexpr auto all = kernels_of(std::make_index_sequence<std::size(ops) * activations>{});

// Of a mixture that begins with this format, for the operations with three matrices.
template <opcode Op, u32 M> constexpr compiled_step mixed_step_or_none() {
  constexpr kernel_types types = compiled_mixtures[M];
  if constexpr (types.first == stored && info(Op).products == 3 && exists<Op>)
    return {&compiled_kernel<Op, types, native>, &compiled_scratch<Op, types, native>};
  else return {};
}
constexpr std::size_t mixtures = std::size(compiled_mixtures);
template <std::size_t... I> constexpr auto mixed_steps_of(std::index_sequence<I...>) {
  return std::array<compiled_step, sizeof...(I)>{mixed_step_or_none<ops[I / mixtures].op, I % mixtures>()...};
}
[[gnu::used]] constexpr auto mixed = mixed_steps_of(std::make_index_sequence<std::size(ops) * mixtures>{});

}  // namespace

template struct file_rows<stored, native>;
template u64 pack_matrix<stored, native>(std::byte*, u32, u32, function_ref<void(unit_packer)>);
#if CKE_FORMAT == 0  // in one unit only
template struct packed<dtype::bf16, native>;
template struct kv_cache<dtype::f32, native>;
template struct kv_cache<dtype::f16, native>;
template struct kv_cache<dtype::bf16, native>;
template struct kv_cache<dtype::q8_0, native>;
template struct rms_norm_kernel<native>;
#endif

}  // namespace cke::kernels

#if CKE_FORMAT == 0
namespace cke::runtime {

template const cache_code& cache_code_of<dtype::f32, isa::native>();
template const cache_code& cache_code_of<dtype::f16, isa::native>();
template const cache_code& cache_code_of<dtype::bf16, isa::native>();
template const cache_code& cache_code_of<dtype::q8_0, isa::native>();
template const isa_code& isa_code_of<isa::native>();

template <class Isa> std::span<const packed_format> all_formats() {
  static constexpr auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{packed_format_of<weight_types[I], Isa>...};
  }(std::make_index_sequence<std::size(weight_types)>{});
  return all;
}
template std::span<const packed_format> all_formats<isa::native>();

}  // namespace cke::runtime
#endif
