// SPDX-License-Identifier: MIT
// lower_tower.hpp: the letters of vision towers as straight-line code.
#pragma once

#include "lower.hpp"

namespace cke::graph {

template <u32 In, u32 D, bool Bias> struct lower<patch_embedding<In, D, Bias>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::vision_patch_embed);
    const reg y = b.matmul(role::patch, x, D, In, Bias);
    b.ops[b.ops.size() - 1].op = opcode::vision_patch_embed;
    return y;
  }
};
template <u32 D, u32 Rows, position_rule Rule> struct lower<learned_positions<D, Rows, Rule>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::learned_positions);
    const reg y = b.temp(D);
    b.emit<opcode::learned_positions>({x}, {y}, {b.vector(role::positions, Rows * D)},
                                      {.rows = Rows, .cols = D, .rule = Rule});
    return y;
  }
};
template <u32 D, real E> struct lower<layer_norm<D, E>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::layer_norm);
    const reg y = b.temp(D);
    b.emit<opcode::layer_norm>({x}, {y}, {b.vector(role::norm, D), b.vector(role::norm, D, true)},
                               {.cols = D, .eps = E});
    return y;
  }
};
template <u32 D, real E> struct lower<unit_rms_norm<D, E>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::rmsnorm);
    const reg y = b.temp(D);
    b.emit<opcode::head_norm>({x}, {y}, {}, {.shape = {1, 1, D}, .eps = E});
    return y;
  }
};
template <u32 D, real By, real O> struct lower<affine<D, By, O>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::affine);
    const reg y = b.temp(D);
    b.emit<opcode::affine>({x}, {y}, {}, {.cols = D, .by = By, .offset = O});
    return y;
  }
};
template <u32 D> struct lower<standardise<D>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::standardise);
    const reg y = b.temp(D);
    b.emit<opcode::standardise>({x}, {y}, {b.vector(role::std_bias, D), b.vector(role::std_scale, D)}, {D});
    return y;
  }
};
template <u32 D, u32 By, bool I> struct lower<spatial_merge<D, By, I>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::spatial_merge);
    b.merged *= By;
    const reg y = b.temp(By * D);
    b.emit<opcode::spatial_merge>({x}, {y}, {}, {.cols = D, .by = By, .interleaved = I});
    return y;
  }
};
template <u32 D, u32 By> struct lower<average_pool<D, By>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::average_pool);
    b.merged *= By;
    const reg y = b.temp(D);
    b.emit<opcode::average_pool>({x}, {y}, {}, {.cols = D, .by = By});
    return y;
  }
};
template <u32 D, u32 By> struct lower<last_row<D, By>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::last_row);
    b.merged *= By;
    const reg y = b.temp(D);
    b.emit<opcode::last_row>({x}, {y}, {}, {.cols = D, .by = By});
    return y;
  }
};
// The pooling head of SigLIP (SiglipMultiheadAttentionPoolingHead of transformers).
template <u32 D, u32 H, u32 By, u32 F, activation A, real E> struct lower<attention_pool<D, H, By, F, A, E>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::attention_pool);
    const reg k = b.matmul(role::k, x, D, D, true), v = b.matmul(role::v, x, D, D, true);
    b.merged *= By;
    const reg row = b.temp(D), found = b.temp(D);
    b.emit<opcode::learned_row>({}, {row}, {b.vector(role::probe, D)}, {D});
    const reg q = b.matmul(role::q, row, D, D, true);
    b.emit<opcode::attention_pool>({q, k, v}, {found}, {}, {.heads = H, .head_dim = D / H, .by = By});
    const reg y = b.matmul(role::o, found, D, D, true);
    const reg normed = lower<layer_norm<D, E>>::emit(b, y), mlp = lower<plain_mlp<D, F, A, true>>::emit(b, normed);
    b.begin(opcode::residual_add);
    const reg out = b.temp(D);
    b.emit<opcode::residual_add>({y, mlp}, {out}, {}, {.cols = D});
    return out;
  }
};
template <u32 In, u32 H, u32 Out, activation A, bool Bias> struct lower<projector<In, H, Out, A, Bias>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::projector);
    if (H == 0) return b.matmul(role::projector_down, x, Out, In, Bias);
    const reg y = b.matmul(role::projector_up, x, H, In, Bias), h = b.temp(H);
    b.emit<opcode::act>({y}, {h}, {}, {.cols = H, .act = A});
    return b.matmul(role::projector_down, h, Out, H, Bias);
  }
};
template <u32 D, u32 Taps, u32 Pad, bool Present> struct lower<image_rows<D, Taps, Pad, Present>> {
  static constexpr reg emit(builder& b, reg x) {
    if (!Present) return x;
    b.begin(opcode::scatter);
    const reg y = b.writable(x);
    operands out{y};
    if (Taps > 0) b.regs[layer_inputs].width = Taps * D, out.add(layer_inputs);
    b.emit<opcode::scatter>({x}, out, {}, {.cols = D, .parts = Taps, .pad = Pad});
    return y;
  }
};
template <u32 D> struct lower<deepstack_add<D>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::scatter);
    b.regs[layer_inputs].width = D;
    const reg y = b.writable(x);
    b.emit<opcode::residual_add>({x, layer_inputs}, {y}, {}, {.cols = D});
    return y;
  }
};
template <class... Ls> struct lower<deepstack<Ls...>> {
  static constexpr reg emit(builder& b, reg x) {
    const u32 before = b.merged;
    reg y = emit_all<Ls...>(b, x);
    if (y == x) {
      y = b.temp(b.regs[x].width);
      b.emit<opcode::residual_save>({x}, {y}, {}, {.cols = b.regs[x].width});
    }
    b.regs[tapped] = b.regs[y];
    b.rename(y, tapped);
    b.merged = before;
    return x;
  }
};

}  // namespace cke::graph
