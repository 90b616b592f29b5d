// SPDX-License-Identifier: MIT
// compile_program.hpp: a program's type becomes a compiled_program. The compiler picks the kernels here.
#pragma once

#include <array>
#include <utility>

#include "../graph/program.hpp"
#include "compiled_program.hpp"
#include "step_facts.hpp"
#ifndef CKE_COMPILED_KERNELS_ONLY  // otherwise a unit of the command, which knows no more of kernels than their names
#include "../kernels/kernels.hpp"
#include "../kernels/store_row.hpp"
#include "packed_formats.hpp"
#include "state_layout.hpp"
#endif

namespace cke::runtime {

#ifdef CKE_COMPILED_KERNELS_ONLY
template <dtype KV, class Isa> const cache_code& cache_code_of();
template <class Isa> const isa_code& isa_code_of();
template <class Isa> std::span<const packed_format> all_formats();
template <class P, class Isa> inline constexpr auto formats_of = &all_formats<Isa>;
#else
// Of a device, the host knows sizes alone.
template <dtype KV, class Isa> const cache_code& cache_code_of() {
  static constexpr cache_code all = [] {
    using cache = kernels::kv_cache<KV, Isa>;
    cache_code c{KV, &cache::block_bytes, nullptr, nullptr};
    if constexpr (!is_device<Isa>) {
      c.part_floats = &kernels::head_attention<KV, Isa>::part_floats;
      c.store = [](const kv_blocks& head, u32 position, u32 head_dim, const float* k, const float* v) {
        cache::store(head, position, head_dim, k, v);
      };
    }
    return c;
  }();
  return all;
}
template <class Isa> const isa_code& isa_code_of() {
  static constexpr isa_code all = [] {
    isa_code c{Isa::name, !is_device<Isa>, nullptr, nullptr};
    if constexpr (!is_device<Isa>) {
      c.token_bytes = &kernels::token_bytes<Isa>;
      c.norm_row = [](const norm_params& p, const float* scales, float* row) {
        rms_norm_kernel<Isa>::row(row, scales, p.cols, p.eps, p.offset, row);
      };
    }
    return c;
  }();
  return all;
}
template <class P, class Isa> std::span<const packed_format> stored_formats_of() { return packed_formats<P, Isa>; }
template <class P, class Isa> inline constexpr auto formats_of = &stored_formats_of<P, Isa>;
#endif

// Each kind of block is one table, however many layers repeat it. A device runs none of these.
template <class P, dtype KV, class Isa> class step_tables {
  static constexpr bool ends_in_norm = [] {
    const instruction& i = P::unfused_footer().ops[0];
    if (P::is_tower) return true;
    return i.op == opcode::rmsnorm && i.p.template as<norm_params>().parts == 1 &&
        i.p.template as<norm_params>().scale.v == 0;
  }();
  static_assert(ends_in_norm, "cke: model: after the stacks comes rms_norm<dim, eps>, whose output embeddings are");

  template <const code& C, u32 I> static constexpr step_code step() {
    constexpr opcode op = C.ops[I].op;
    constexpr kernel_types types = types_of(C, C.ops[I], KV);
    if constexpr (is_device<Isa>) return {};
    else return {kernel_of<op, types, Isa>(), scratch_entry_of<op, types, Isa>()};
  }
  template <const code& C> static constexpr auto steps = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<step_code, sizeof...(I)>{step<C, I>()...};
  }(std::make_index_sequence<C.ops.size()>{});

 public:
  static constexpr auto all = []<std::size_t... V>(std::index_sequence<V...>) {
    return std::array<const step_code*, P::body_count + 2>{
        steps<P::header_code()>.data(), steps<P::template body<V>()>.data()..., steps<P::footer_code()>.data()};
  }(std::make_index_sequence<P::body_count>{});
};

// How: which executor runs it, and for ranks which units are a rank's own.
template <class P, dtype KV, class Isa, class How> inline constexpr compiled_program compiled_program_of{
    &P::data,
    step_tables<P, KV, Isa>::all.data(),
    formats_of<P, Isa>,
    &cache_code_of<KV, Isa>,
    &isa_code_of<Isa>,
    How::template executor<P, KV, Isa>,
    [] {
      bool (*of)(const program_data&, const weight&, u32, const rank_link&) = nullptr;
      if constexpr (requires { &How::has_unit; }) of = &How::has_unit;
      return of;
    }()};

}  // namespace cke::runtime
