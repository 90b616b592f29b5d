// SPDX-License-Identifier: MIT
// lower.hpp: each letter of the alphabet as straight-line code; one class template per letter.
#pragma once

#include "../layers.hpp"
#include "code.hpp"

namespace cke::graph {

// `lower<Letter>::emit(b, x)` appends the letter's steps and returns the register of its result.
template <class Letter> struct lower {
  static_assert(sizeof(Letter) == 0, "cke: lowering: no lower<Letter> for this letter; specialise cke::graph::lower");
  static constexpr reg emit(builder&, reg x) { return x; }  // keeps the error above the only one
};

template <class... Ls> constexpr reg emit_all(builder& b, reg x) {
  ((x = lower<Ls>::emit(b, x)), ...);
  return x;
}

// ---- words -----------------------------------------------------------------------------------------

template <class... Ls> struct lower<chain<Ls...>> {
  static constexpr reg emit(builder& b, reg x) { return emit_all<Ls...>(b, x); }
};
template <class... Ls> struct lower<block<Ls...>> : lower<chain<Ls...>> {};

template <class... Ls> struct lower<residual<Ls...>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::residual_add);
    const u32 dim = b.regs[x].width;
    const reg saved = b.temp(dim);
    b.emit<opcode::residual_save>({x}, {saved}, {}, {.cols = dim});
    const reg y = emit_all<Ls...>(b, x);
    b.begin(opcode::residual_add);
    const reg out = b.writable(x);
    b.emit<opcode::residual_add>({saved, y}, {out}, {}, {.cols = dim});
    return out;
  }
};
template <class... Fs> struct lower<sum<Fs...>> {
  static constexpr reg emit(builder& b, reg x) {
    const reg part[]{lower<Fs>::emit(b, x)...};
    b.begin(opcode::residual_add);
    const u32 width = b.regs[part[0]].width;
    const reg y = sizeof...(Fs) == 1 ? part[0] : part[0] == x ? b.temp(width) : b.writable(part[0]);
    for (u32 i = 1; i < sizeof...(Fs); ++i)
      b.emit<opcode::residual_add>({i == 1 ? part[0] : y, part[i]}, {y}, {}, {.cols = width});
    return y;
  }
};

// ---- letters ---------------------------------------------------------------------------------------

template <u32 V, u32 D> struct lower<embedding<V, D>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::embedding);
    const reg y = b.temp(D);
    b.emit<opcode::embedding>({x}, {y}, {b.matrix(role::embed, V, D)}, {.rows = V, .cols = D});
    return y;
  }
};

// layer_inputs = (norm(project x) + embedding * part^1/2) / 2^1/2; the norm's eps has the projection's dim^-1/2.
template <u32 V, u32 D, u32 L, u32 P, real E> struct lower<layer_embedding<V, D, L, P, E>> {
  static constexpr u32 wide = L * P;
  static constexpr reg emit(builder& b, reg x) {
    if (P == 0) return x;
    b.begin(opcode::layer_embedding);
    b.regs[layer_inputs].width = wide;
    const reg token = b.temp(wide);
    b.emit<opcode::embedding>({token_ids}, {token}, {b.matrix(role::layer_embed, V, wide)}, {.rows = V, .cols = wide});
    const reg sum = b.matmul(role::layer_project, x, wide, D);
    b.emit<opcode::head_norm>({sum}, {sum}, {b.vector(role::layer_project_norm, P)},
                              {.shape = {L, L, P}, .eps = E.v * D});
    b.emit<opcode::scale>({token}, {token}, {}, {.cols = wide, .scale = root(P)});
    b.emit<opcode::residual_add>({sum, token}, {sum}, {}, {.cols = wide});
    b.emit<opcode::scale>({sum}, {layer_inputs}, {}, {.cols = wide, .scale = 1 / root(2)});
    return x;
  }
};
template <u32 D, u32 P, activation A> struct lower<layer_input<D, P, A>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::layer_input);
    b.regs[layer_inputs].width = P;
    const reg gate = b.matmul(role::layer_gate, x, P, D), h = b.temp(P);
    b.emit<opcode::act_mul>({gate, layer_inputs}, {h}, {}, {.cols = P, .act = A});
    return b.matmul(role::layer_out, h, D, P);
  }
};

template <u32 D, real E, real O> struct lower<rms_norm<D, E, O>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::rmsnorm);
    const reg y = b.temp(D);
    b.emit<opcode::rmsnorm>({x}, {y}, {b.vector(role::norm, D)}, {.cols = D, .eps = E, .offset = O});
    return y;
  }
};

template <u32 D, real By> struct lower<scale<D, By>> {
  static constexpr reg emit(builder& b, reg x) {
    if (By.v == 1) return x;
    b.begin(opcode::scale);
    const reg y = b.temp(D);
    b.emit<opcode::scale>({x}, {y}, {}, {.cols = D, .scale = By});
    return y;
  }
};
template <u32 D> struct lower<learned_scale<D>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::scale);
    const reg y = b.writable(x);
    b.emit<opcode::scale>({x}, {y}, {b.vector(role::layer_scalar, 1)}, {.cols = D});
    return y;
  }
};
template <u32 D, real Cap> struct lower<softcap<D, Cap>> {
  static constexpr reg emit(builder& b, reg x) {
    if (Cap.v == 0) return x;
    b.begin(opcode::softcap);
    const reg y = b.temp(D);
    b.emit<opcode::softcap>({x}, {y}, {}, {.cols = D, .cap = Cap});
    return y;
  }
};

template <attention_options S> struct lower<attention<S>> {
  static constexpr u32 wide = S.heads * S.head_dim, narrow = S.kv_heads * S.head_dim;
  static constexpr head_shape shape{S.heads, S.kv_heads, S.head_dim};

  static constexpr reg linear(builder& b, role is, reg x, u32 rows, u32 cols, bool bias, u32 row_group = 0,
                              u32 part = 0) {
    return S.clipped ? b.clipped(is, x, rows, cols, bias, row_group, part)
                     : b.matmul(is, x, rows, cols, bias, row_group, part);
  }
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::multihead_attention);
    const u32 part = S.gate ? S.head_dim : 0;
    operands qk{linear(b, role::q, x, wide, S.dim, S.qkv_bias, wide / S.kv_heads, part)};
    reg v{};
    if (!S.shared_kv) {
      qk.add(linear(b, role::k, x, narrow, S.dim, S.qkv_bias, S.head_dim));
      v = S.v_norm.of_k ? b.temp(narrow) : linear(b, role::v, x, narrow, S.dim, S.qkv_bias, S.head_dim);
      if (S.v_norm.eps.v > 0)
        b.emit<opcode::head_norm>({S.v_norm.of_k ? qk[1] : v}, {v}, {},
                                  {.shape = {S.kv_heads, S.kv_heads, S.head_dim}, .eps = S.v_norm.eps});
    }
    if (S.qk_norm.eps.v > 0) norm(b, qk);
    if (S.rope.dims > 0) b.emit<opcode::rope>(qk, qk, {}, {.shape = shape, .rope = S.rope});
    const reg y = b.temp(wide);
    operands seen = qk;
    if (!S.shared_kv) seen.add(v);
    b.emit<opcode::attend>(seen, {y}, {},
                           {.shape = shape,
                            .window = S.window,
                            .scale = S.scale,
                            .cap = S.cap,
                            .bidirectional = S.bidirectional,
                            .sees_image = S.sees_image})
        .state = b.state({keeps_what::kv, S.bidirectional ? lifecycle::step_ephemeral : lifecycle::slot_persistent,
                          S.window, S.kv_heads, S.head_dim, S.shared_kv});
    return linear(b, role::o, S.gate ? gated(b, x, y, part) : y, S.dim, wide, S.out_bias);
  }
  static constexpr reg gated(builder& b, reg x, reg y, u32 part) {
    const reg gate = linear(b, role::q_gate, x, wide, S.dim, S.qkv_bias, 0, part), out = b.temp(wide);
    b.emit<opcode::gate_mul>({y, gate}, {out}, {}, {.cols = wide});
    return out;
  }
  // Head by head in place, or all heads of a matrix together.
  static constexpr void norm(builder& b, operands& qk) {
    constexpr role roles[]{role::q_norm, role::k_norm};
    slots8 weights{};
    for (u32 i = 0; i < qk.count; ++i) {
      if (S.qk_norm.together) qk.item[i] = whole_norm(b, roles[i], qk[i], b.regs[qk[i]].width);
      else weights.add(b.vector(roles[i], S.head_dim));
    }
    if (!S.qk_norm.together)
      b.emit<opcode::head_norm>(qk, qk, weights, {.shape = shape, .eps = S.qk_norm.eps, .offset = S.qk_norm.offset});
  }
  static constexpr reg whole_norm(builder& b, role is, reg x, u32 width) {
    const reg y = b.temp(width);
    b.emit<opcode::rmsnorm>({x}, {y}, {b.vector(is, width)},
                            {.cols = width, .eps = S.qk_norm.eps, .offset = S.qk_norm.offset});
    return y;
  }
};

template <u32 D, u32 H, activation A, bool Bias> struct lower<gated_mlp<D, H, A, Bias>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::swiglu);
    const reg gate_up = b.matmul2(role::gate, role::up, x, H, D, Bias), h = b.temp(H);
    b.emit<opcode::act_mul>({gate_up}, {h}, {}, {.cols = H, .act = A});
    return b.matmul(role::down, h, D, H, Bias);
  }
};

template <u32 D, u32 H, activation A> struct lower<clipped_mlp<D, H, A>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::swiglu);
    const reg gate = b.clipped(role::gate, x, H, D), up = b.clipped(role::up, x, H, D), h = b.temp(H);
    b.emit<opcode::act_mul>({gate, up}, {h}, {}, {.cols = H, .act = A});
    return b.clipped(role::down, h, D, H);
  }
};

template <u32 D, u32 H, activation A, bool Bias> struct lower<plain_mlp<D, H, A, Bias>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::plain_mlp);
    return b.matmul(role::down, activated(b, role::up, x), D, H, Bias);
  }
  static constexpr reg activated(builder& b, role up, reg x) {
    const reg y = b.matmul(up, x, H, D, Bias), h = b.temp(H);
    b.emit<opcode::act>({y}, {h}, {}, {.cols = H, .act = A});
    return h;
  }
};

template <u32 D, u32 V, bool Tied> struct lower<head<D, V, Tied>> {
  static constexpr reg emit(builder& b, reg x) {
    b.begin(opcode::logits);
    const reg y = b.matmul(role::head, x, V, D);
    b.ops[b.ops.size() - 1].op = opcode::logits;
    b.slots[b.slots.size() - 1].tied = Tied;
    return y;
  }
};

// ---- blocks ----------------------------------------------------------------------------------------

template <class Block> constexpr code lower_block(signature s = {}) {
  builder b(Block::in, s);
  lower<Block>::emit(b, stream);
  return b;
}
// A header reads token ids, or patches, and leaves the stream.
template <class Header> constexpr code lower_header(signature s = {}) {
  builder b(Header::out, s);
  b.regs[token_ids].width = Header::in;
  b.rename(lower<Header>::emit(b, token_ids), stream);
  return b;
}

}  // namespace cke::graph
