// SPDX-License-Identifier: MIT
// unrolled_pass.hpp: a pass as straight-line code: each step of each layer is a call with constants.
#pragma once

#include "../kernels/kernels.hpp"
#include "pass_addresses.hpp"
#include "unrolled_plan.hpp"

namespace cke::runtime {

// At run time only addresses and positions are known: where the weights, the activations, the pages and the ids are.
// All else is constant. A step of a code is one function; its kernel is compiled into it, with the parameter block, the
// places and strides of registers, the rows and the units. A pass is one function, which calls those of all layers one
// after the other, each with the places of that layer's weights and state.
template <class P, dtype KV, class Isa, u32 MostRows = decode_rows> struct unrolled_pass {
  static_assert(!P::is_tower && !P::sees_images,
                "cke: unrolled: the model reads images or is a tower; leave out cke::unrolled");
  using plan = unrolled_plan<P, KV, Isa, MostRows>;

  // ---- one step

  // Rows of one sequence: those of the stream from `skip` on.
  struct sequence_rows : pass_addresses {
    const rope_view* ropes;
    const u32* ids;
    segment of;
    u32 skip;
  };
  // Where the weights of a place begin; or, if their sizes depend on their numbers, a list of where each of them
  // begins.
  using weights_of_place = std::conditional_t<plan::sized, const std::byte*, const std::byte* const*>;

  template <u32 Place, u32 Slot> static const std::byte* weight_of(weights_of_place all) {
    if constexpr (plan::sized) return all + plan::template weight_offsets<Place>[Slot];
    else return all[Slot];
  }

  template <u32 Place, reg R> static view register_of(const sequence_rows& on, u32 layer) {
    constexpr value v = plan::template code_at<Place>().regs[R];
    constexpr u32 stride = row_stride(v.width), beside = row_stride(P::layer_inputs_width);
    if constexpr (R == token_ids) {
      return {reinterpret_cast<std::byte*>(const_cast<u32*>(on.ids)), 1, 1, dtype::f32};
    } else if constexpr (R == stream) {
      return {on.stream + u64{on.skip} * stride * sizeof(float), v.width, stride, v.as};
    } else if constexpr (R == layer_inputs) {
      const u64 first = u64{on.skip} * beside + u64{layer} * v.width;
      return {on.layer_inputs + first * sizeof(float), v.width, beside, v.as};
    } else {
      constexpr const graph::layout& at = plan::template registers<Place>;
      return {(at.is_per_thread(R) ? on.own : on.shared) + at.offset[R], v.width, stride, v.as};
    }
  }

  // All units of a step, for Rows rows. Place: the first one with this code; `all`, `layer` and `state` are those of
  // the place that is meant.
  template <u32 Place, u32 Step, u32 Rows>
  [[gnu::noinline, gnu::flatten]] static void step(const sequence_rows& on, weights_of_place all, u32 layer,
                                                   u64 state) {
    static constexpr const code& c = plan::template code_at<Place>();
    static constexpr const instruction& i = c.ops[Step];
    static constexpr auto block = i.p.template get<params_of<i.op>>();
    static constexpr u32 zeros[Rows]{};
    constexpr kernel_types types = types_of(c, i, KV);
    constexpr split by = partition_of(i, form::decode).by;
    constexpr u32 units = units_of(i.p, by, Rows, row_units(c, i), 1);
    work w;
    w.tokens = Rows, w.segments = {&on.of, 1}, w.segment_of = zeros, w.tiles = {zeros, 1};
    w.by = by, w.scratch = on.scratch, w.parts = on.parts;
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((w.in[K] = register_of<Place, i.in[K]>(on, layer)), ...);
    }(std::make_index_sequence<i.in.count>{});
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((w.out[K] = register_of<Place, i.out[K]>(on, layer)), ...);
    }(std::make_index_sequence<i.out.count>{});
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((w.weight[K] = weight_of<Place, i.weight[K]>(all)), ...);
    }(std::make_index_sequence<i.weight.count>{});
    if constexpr (i.state != absent) {
      constexpr kv_place first = plan::template state_of<Place, Step>;
      w.kv = {state, first.block_bytes, first.blocks, first.transient};
    }
    if constexpr (turned(i.p).rope != nullptr) {
      w.rope = on.ropes[plan::ropes.find(turned(i.p))];
      w.rope.beyond += on.skip;
    }
    using kernel = typename decltype(dispatched<i.op, types, Isa>())::type;
    for (u32 unit = 0; unit < units; ++unit) {
      if constexpr (requires { &kernel::template run<types.act>; }) kernel::template run<types.act>(block, w, unit);
      else kernel::run(block, w, unit);
    }
  }

  // ---- all steps, one after the other

  template <u32 Place, u32 Step> static constexpr u64 state_at() {
    if constexpr (plan::template code_at<Place>().ops[Step].state == absent) return 0;
    else return plan::template state_of<Place, Step>.offset;
  }
  template <u32 Place, u32 Rows> static void steps(const sequence_rows& on, weights_of_place all) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (step<plan::first_like(Place), K, Rows>(on, all, plan::layer_of(Place), state_at<Place, K>()), ...);
    }(std::make_index_sequence<plan::template code_at<Place>().ops.size()>{});
  }
  // The header and the layers.
  template <u32 Rows> [[gnu::noinline, gnu::flatten]] static void layers(const sequence_rows& on,
                                                                         weights_of_place all) {
    [&]<std::size_t... Place>(std::index_sequence<Place...>) {
      (steps<Place, Rows>(on, all + plan::first_weight[Place]), ...);
    }(std::make_index_sequence<plan::footer>{});
  }
  [[gnu::noinline, gnu::flatten]] static void footer(const sequence_rows& on, weights_of_place all) {
    steps<plan::footer, 1>(on, all + plan::first_weight[plan::footer]);
  }
};

}  // namespace cke::runtime
