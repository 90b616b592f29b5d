// SPDX-License-Identifier: MIT
// emit.cuh: maps a step to its launches: which kernel runs, on how many blocks.
#pragma once

#include "attention_rows.cuh"
#include "experts.cuh"

namespace cke::cuda {

template <class Device> using emit = void(Device&, step, u32 attention_tokens);

// CUDA's limit of blocks in y, where some launches have a block for each token.
inline constexpr u32 most_rows_of_pass = 65'535;

// Whether a device launches single tokens only, and so has no kernels for more.
template <class Device> concept of_one_token = requires { requires Device::one_token; };

// Launches Kernel on a grid of (x, y, z) blocks.
template <class Kernel, class Device> CKE_CONSTEXPR void launch(Device& device, const step& s, u32 x, u32 y = 1,
                                                                u32 z = 1) {
  device.template launch<Kernel>({x, y, z}, s);
}

// The default: one block per token.
template <opcode Op, kernel_types T, class Device> struct emitter {
  static CKE_CONSTEXPR void to(Device& device, step s, u32) { launch<step_kernel<Op, T.first>>(device, s, s.tokens); }
};

template <opcode Op, class Device> struct emit_heads {
  static CKE_CONSTEXPR void to(Device& device, step s, u32) {
    const u32 heads = s.heads + (s.in[1].data ? s.kv_heads : 0);
    launch<step_kernel<Op, dtype::f32>>(device, s, ceil_div(heads, block_warps), s.tokens);
  }
};
template <class Device> struct emitter<opcode::head_norm, dtype::f32, Device> : emit_heads<opcode::head_norm, Device> {
};
template <class Device> struct emitter<opcode::rope, dtype::f32, Device> : emit_heads<opcode::rope, Device> {};
template <class Device> struct emitter<opcode::head_norm_rope, dtype::f32, Device>
    : emit_heads<opcode::head_norm_rope, Device> {};

template <kernel_types KV, class Device> struct emitter<opcode::kv_store, KV, Device> {
  static CKE_CONSTEXPR void to(Device& device, step s, u32) {
    launch<step_kernel<opcode::kv_store, KV.first>>(device, s, s.tokens, s.kv_heads);
  }
};

template <kernel_types KV, class Device> struct emitter<opcode::attend, KV, Device> {
  static CKE_CONSTEXPR void to(Device& device, step s, u32 most) {
    if constexpr (!of_one_token<Device>)
      if (s.of_prompts && (rows<4>(device, s) || rows<8>(device, s))) return;
    for (; s.first < s.tokens; s.first += most) {
      const u32 tokens = s.tokens - s.first < most ? s.tokens - s.first : most;
      launch<attend_block_kernel<KV.first>>(device, s, s.key_blocks, s.kv_heads, tokens);
      launch<attend_join_kernel>(device, s, tokens, s.kv_heads);
    }
  }

 private:
  template <u32 Dims> static bool rows(Device& device, const step& s) {
    using kernel = attend_rows<KV.first, Dims>;
    if (!kernel::takes(s)) return false;
    launch<attend_rows_kernel<KV.first, Dims>>(device, s, ceil_div(s.tokens, kernel::tokens_of_block(s)), s.kv_heads);
    return true;
  }
};
template <kernel_types KV, class Device> struct emitter<opcode::attend_quantize, KV, Device>
    : emitter<opcode::attend, KV, Device> {};

// Products: one block per unit of all matrices side by side. Formats that differ need a launch each.
template <kernel_types T, epilogue How, class Device> struct emit_product {
  static CKE_CONSTEXPR void to(Device& device, step s, u32) {
    s.how = How;
    if constexpr (T.second == dtype::none) {
      product<T.first>(device, s, s.units);
    } else {
      static_assert(How != epilogue::gate, "cke: cuda: gate and up of one layer have one format");
      const step all = s;
      for (u32 k = 0; k < all.matrix_count; ++k) {
        s.matrix_count = 1, s.matrices[0] = all.matrices[k], s.matrices[0].first = 0;
        const u32 units = (k + 1 < all.matrix_count ? all.matrices[k + 1].first : all.units) - all.matrices[k].first;
        if (k == 0) product<T.first>(device, s, units);
        else if (k == 1) product<T.second>(device, s, units);
        else if constexpr (T.third != dtype::none) product<T.third>(device, s, units);
      }
    }
  }

 private:
  template <dtype F> static CKE_CONSTEXPR void product(Device& device, step s, u32 units) {
    if (s.in[0].as != info(F).partner) s.in[0] = s.in[1];  // with formats of two kinds, the input comes in both forms
    if (of_one_token<Device> || s.tokens == 1) return launch<multiply_kernel<F, 1>>(device, s, units);
    if constexpr (!of_one_token<Device>) {
      if constexpr (has_format<F>)
        if (s.tokens > most_tokens)
          return launch<wide_kernel<F>>(device, s, How == epilogue::gate ? units : ceil_div(units, 2),
                                        ceil_div(s.tokens, wide_tokens));
      launch<multiply_kernel<F, most_tokens>>(device, s, units, ceil_div(s.tokens, most_tokens));
    }
  }
};
template <kernel_types T, class Device> struct emitter<opcode::matmul, T, Device>
    : emit_product<T, epilogue::store, Device> {};
template <kernel_types T, class Device> struct emitter<opcode::logits, T, Device>
    : emit_product<T, epilogue::store, Device> {};
template <kernel_types T, class Device> struct emitter<opcode::qkv_matmul, T, Device>
    : emit_product<T, epilogue::store, Device> {};
template <kernel_types T, class Device> struct emitter<opcode::matmul_add, T, Device>
    : emit_product<T, epilogue::add, Device> {};
template <kernel_types T, class Device> struct emitter<opcode::matmul_act, T, Device> {
  static CKE_CONSTEXPR void to(Device& device, step s, u32 n) {
    emit_product<T, epilogue::gate, Device>::to(device, (s.units /= 2, s), n);
  }
};
template <kernel_types T, class Device> struct emitter<opcode::up_act, T, Device>
    : emit_product<T, epilogue::act, Device> {};
template <kernel_types T, class Device> struct emitter<opcode::up_act_quantize, T, Device>
    : emitter<opcode::up_act, T, Device> {};
template <kernel_types T, class Device> struct emitter<opcode::router, T, Device> {
  static CKE_CONSTEXPR void to(Device& device, step s, u32) {
    launch<step_kernel<opcode::router, T.first>>(device, s, s.units, ceil_div(s.tokens, block_warps));
  }
};
template <kernel_types T, class Device> struct emitter<opcode::sort_by_expert, T, Device> {
  static CKE_CONSTEXPR void to(Device& device, step s, u32) {
    launch<step_kernel<opcode::sort_by_expert, dtype::f32>>(device, s, 1);
  }
};
template <kernel_types T, class Device> struct emitter<opcode::gather, T, Device> {
  static CKE_CONSTEXPR void to(Device& device, step s, u32) {
    launch<step_kernel<opcode::gather, dtype::f32>>(device, s, gathered_rows(s.route, s.tokens));
  }
};
// Expert products: a block per unit of an expert's matrix and tile of rows.
template <kernel_types T, epilogue How, class Device> struct emit_experts {
  static CKE_CONSTEXPR void to(Device& device, step s, u32) {
    s.how = How;
    static_assert(T.second == dtype::none, "cke: cuda: gate and up of experts have one format");
    const u32 units = ceil_div(s.matrices[0].group, unit_rows), tiles = most_tiles(s);
    if (of_one_token<Device> || s.tokens == 1) return launch<expert_kernel<T.first, 1>>(device, s, units, tiles);
    if constexpr (!of_one_token<Device>) {
      if constexpr (has_format<T.first>)
        if (rows_of_tile(s) == wide_tokens)
          return launch<wide_expert_kernel<T.first>>(device, s, How == epilogue::gate ? units : ceil_div(units, 2),
                                                     tiles);
      launch<expert_kernel<T.first, most_tokens>>(device, s, units, tiles);
    }
  }
};
template <kernel_types T, class Device> struct emitter<opcode::expert_act, T, Device>
    : emit_experts<T, epilogue::gate, Device> {};
template <kernel_types T, class Device> struct emitter<opcode::expert_up, T, Device>
    : emit_experts<T, epilogue::act, Device> {};
template <kernel_types T, epilogue How, class Device> struct emit_expert_sum {
  static CKE_CONSTEXPR void to(Device& device, step s, u32 n) {
    emit_experts<T, epilogue::store, Device>::to(device, s, n);
    s.how = How;
    launch<join_experts_kernel>(device, s, ceil_div(s.out[0].width, block_threads), s.tokens);
  }
};
template <kernel_types T, class Device> struct emitter<opcode::expert_sum, T, Device>
    : emit_expert_sum<T, epilogue::store, Device> {};
template <kernel_types T, class Device> struct emitter<opcode::expert_sum_add, T, Device>
    : emit_expert_sum<T, epilogue::add, Device> {};
template <kernel_types T, class Device> struct emitter<opcode::matmul_act_quantize, T, Device>
    : emitter<opcode::matmul_act, T, Device> {};

}  // namespace cke::cuda
