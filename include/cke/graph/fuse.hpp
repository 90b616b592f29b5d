// SPDX-License-Identifier: MIT
// fuse.hpp: peephole fusion of straight-line code: patterns of consecutive opcodes that become one.
#pragma once

#include "code.hpp"

CKE_COMPILED_ONCE
namespace cke::graph {

struct fusion {
  upto<opcode, 4> pattern;
  opcode becomes;
  params (*block)(const params* parts);
};
template <opcode Becomes> constexpr fusion fused_of(upto<opcode, 4> pattern) {
  return {pattern, Becomes, &fused_params<Becomes>};
}

// Longest first. A fused step reads the inputs of its parts that come from outside, and writes the outputs that are
// read after it.
inline constexpr fusion fusions[] = {
    fused_of<opcode::qkv_matmul>({opcode::matmul, opcode::matmul, opcode::matmul}),
    fused_of<opcode::matmul_act_quantize>({opcode::matmul, opcode::act_mul, opcode::quantize}),
    fused_of<opcode::matmul_act>({opcode::matmul, opcode::act_mul}),
    fused_of<opcode::up_act_quantize>({opcode::matmul, opcode::act, opcode::quantize}),
    fused_of<opcode::up_act>({opcode::matmul, opcode::act}),
    fused_of<opcode::matmul_add>({opcode::matmul, opcode::residual_add}),
    fused_of<opcode::expert_sum_add>({opcode::expert_sum, opcode::residual_add}),
    fused_of<opcode::norm_quantize>({opcode::rmsnorm, opcode::quantize}),
    fused_of<opcode::layer_norm_quantize>({opcode::layer_norm, opcode::quantize}),
    fused_of<opcode::head_norm_rope>({opcode::head_norm, opcode::rope}),
    fused_of<opcode::attend_quantize>({opcode::attend, opcode::quantize}),
    fused_of<opcode::act_mul_quantize>({opcode::act_mul, opcode::quantize}),
};

struct fusion_stats {
  u32 total{}, removed{}, saves_elided{};
  u32 applied[std::size(fusions)]{};
  constexpr void add(const fusion_stats& s, u32 times) {
    total += s.total * times, removed += s.removed * times, saves_elided += s.saves_elided * times;
    for (u32 i = 0; i < std::size(fusions); ++i) applied[i] += s.applied[i] * times;
  }
};

struct fused_code {
  code c;
  fusion_stats stats;
};

constexpr bool read_after(const code& c, u32 at, reg r) {
  for (u32 i = at; i < c.ops.size(); ++i) {
    if (c.ops[i].in.has(r)) return true;
    if (c.ops[i].out.has(r)) return false;
  }
  return r < first_scratch;
}

// The saved copy of the stream is the stream itself when nothing writes it before the add.
constexpr u32 elide_saves(code& c) {
  u32 elided = 0;
  for (u32 at = 0; at < c.ops.size(); ++at) {
    const auto save = c.ops[at];
    if (save.op != opcode::residual_save || save.out[0] < first_scratch) continue;  // a tap is a result
    bool untouched = true;
    for (u32 i = at + 1; i < c.ops.size() && !(c.ops[i].op == opcode::residual_add && c.ops[i].in[0] == save.out[0]);
         ++i)
      untouched = untouched && !c.ops[i].out.has(save.in[0]);
    if (!untouched) continue;
    for (u32 i = at; i + 1 < c.ops.size(); ++i) {
      c.ops[i] = c.ops[i + 1];
      for (auto& r : c.ops[i].in.item) r = r == save.out[0] ? save.in[0] : r;
    }
    --c.ops.count, --at, ++elided;
  }
  return elided;
}

// attend is cut by kv head, so it can quantise its output only if no quantised block spans two kv heads.
constexpr bool blocks_stay_inside(const code& c, const instruction& attend, const instruction& quantize) {
  const head_shape& shape = attend.p.as<attention_params>().shape;
  const u32 group = shape.group() * shape.head_dim;
  return group % info(c.regs[quantize.out[0]].as).block == 0 && group % 2 == 0;
}

// The fused step adds to its output register, which must not be an input of the product.
constexpr bool adds_in_place(const instruction& multiply, const instruction& add) {
  return add.in.has(add.out[0]) && multiply.out[0] != add.out[0] && !multiply.in.has(add.out[0]);
}

constexpr bool matches(const code& c, u32 at, const fusion& f) {
  if (at + f.pattern.count > c.ops.size()) return false;
  for (u32 k = 0; k < f.pattern.count; ++k)
    if (c.ops[at + k].op != f.pattern[k]) return false;
  if (f.becomes == opcode::qkv_matmul) {  // three products of one input, cut by kv head
    for (u32 k = 0; k < 3; ++k) {
      const instruction& one = c.ops[at + k];
      if (one.in[0] != c.ops[at].in[0] || c.slots[one.weight[0]].group == 0) return false;
      const auto &p = one.p.as<matmul_params>(), &first = c.ops[at].p.as<matmul_params>();
      if (p.bias != first.bias || p.groups != first.groups) return false;
    }
    return true;
  }
  for (u32 k = 1; k < f.pattern.count; ++k) {  // a chain: each step reads what the one before it wrote
    bool reads = false;
    for (u32 o = 0; o < c.ops[at + k - 1].out.count; ++o) reads |= c.ops[at + k].in.has(c.ops[at + k - 1].out[o]);
    if (!reads) return false;
  }
  // Registers inside the chain must not be read after it: they will not exist.
  for (u32 k = 0; k + 1 < f.pattern.count; ++k)
    for (u32 o = 0; o < c.ops[at + k].out.count; ++o)
      if (const reg r = c.ops[at + k].out[o];
          !c.ops[at + f.pattern.count - 1].out.has(r) && read_after(c, at + f.pattern.count, r))
        return false;
  if (f.becomes == opcode::matmul_add || f.becomes == opcode::expert_sum_add)
    return adds_in_place(c.ops[at], c.ops[at + 1]);
  if (f.becomes == opcode::matmul_act || f.becomes == opcode::matmul_act_quantize)
    return c.ops[at + 1].in.count == 1;  // gate and up are rows of one matmul
  if (f.becomes == opcode::up_act || f.becomes == opcode::up_act_quantize) return !c.ops[at].p.as<matmul_params>().bias;
  if (f.becomes == opcode::attend_quantize) return blocks_stay_inside(c, c.ops[at], c.ops[at + 1]);
  return true;
}

constexpr instruction merged(const code& c, u32 at, const fusion& f) {
  instruction one = c.ops[at];
  one.op = f.becomes;
  upto<reg, 12> made{}, outs{};
  slots8 biases{};
  params blocks[4]{};
  one.weight = {}, one.in = {}, one.out = {};
  for (u32 k = 0; k < f.pattern.count; ++k) {
    const instruction& part = c.ops[at + k];
    for (u32 i = 0; i < part.in.count; ++i)
      if (!made.has(part.in[i]) && !one.in.has(part.in[i])) one.in.add(part.in[i]);
    for (u32 i = 0; i < part.out.count; ++i)
      if (!made.has(part.out[i])) made.add(part.out[i]), outs.add(part.out[i]);
    for (u32 i = 0; i < part.weight.count; ++i)  // matrices first, then biases
      (c.slots[part.weight[i]].bias ? biases : one.weight).add(part.weight[i]);
    blocks[k] = part.p;
    if (part.state != absent) one.state = part.state;
  }
  one.p = f.block(blocks);
  for (u32 i = 0; i < biases.count; ++i) one.weight.add(biases[i]);
  for (u32 i = 0; i < outs.count; ++i)
    if (read_after(c, at + f.pattern.count, outs[i])) one.out.add(outs[i]);
  return one;
}

constexpr fused_code fuse(code c) {
  fused_code out{};
  out.stats.saves_elided = elide_saves(c);
  out.c = c;
  out.c.ops.count = 0;
  for (u32 at = 0; at < c.ops.size();) {
    u32 hit = 0;
    while (hit < std::size(fusions) && !matches(c, at, fusions[hit])) ++hit;
    if (hit == std::size(fusions)) {
      out.c.ops.push(c.ops[at++]);
      continue;
    }
    out.c.ops.push(merged(c, at, fusions[hit]));
    at += fusions[hit].pattern.count;
    ++out.stats.total, ++out.stats.applied[hit];
    out.stats.removed += fusions[hit].pattern.count - 1u;
  }
  return out;
}

// The last lowering: a separate step stores keys and values in the cache before attention reads them (592 = 564 + 28
// steps in the reference engine).
constexpr code store_before_attend(const code& c) {
  code out = c;
  out.ops.count = 0;
  for (const auto& i : c.ops) {
    if (const bool attends = i.op == opcode::attend || i.op == opcode::attend_quantize; attends && i.in.count == 3) {
      instruction store = i;
      const head_shape& shape = i.p.as<attention_params>().shape;
      store.op = opcode::kv_store, store.p = kv_store_params{shape.kv_heads, shape.head_dim};
      store.in = {i.in[1], i.in[2]};
      store.out = {}, store.weight = {};
      out.ops.push(store);
    }
    instruction next = i;
    if (i.op == opcode::attend || i.op == opcode::attend_quantize) next.in = {i.in[0]};
    out.ops.push(next);
  }
  return out;
}

}  // namespace cke::graph
