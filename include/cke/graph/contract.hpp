// SPDX-License-Identifier: MIT
// contract.hpp: the runtime contract (ADR 0001): plans, parameter blocks, views and adapters as plain data.
#pragma once

#include <array>
#include <bit>
#include <span>
#include <string>
#include <vector>

#include "../core/error.hpp"
#include "fuse.hpp"
#include "plan.hpp"

CKE_COMPILED_ONCE
namespace cke::graph {

// ---- parameter blocks: little-endian, at most 256 bytes, checked once ------------------------------

struct param_block {
  u8 version = param_block_version;
  opcode op = opcode::none;
  u16 size{};
  alignas(8) std::array<u8, 256> data{};
};

// Every field takes four bytes; a bool is 0 or 1.
struct rmsnorm_v1 {
  static constexpr opcode op = opcode::rmsnorm;
  float eps{}, weight_offset{};
  constexpr void each(auto&& f) { f(eps), f(weight_offset); }
  static constexpr rmsnorm_v1 of(const norm_params& p) { return {p.eps, p.offset}; }
  constexpr bool operator==(const rmsnorm_v1&) const = default;
};
struct attention_v1 {
  static constexpr opcode op = opcode::multihead_attention;
  u32 n_heads{}, n_kv_heads{}, head_dim{};
  float rope_theta{};
  bool is_causal = true;
  constexpr void each(auto&& f) { f(n_heads), f(n_kv_heads), f(head_dim), f(rope_theta), f(is_causal); }
  // `rope` null: no rotation.
  static constexpr attention_v1 of(const attention_params& p, const rotary* rope) {
    return {p.shape.heads, p.shape.kv_heads, p.shape.head_dim, rope ? float{rope->theta} : 0.f, true};
  }
  constexpr bool operator==(const attention_v1&) const = default;
};

template <class Params> constexpr param_block encode(Params p) {
  param_block b{.op = Params::op};
  p.each([&](const auto& field) {
    u32 bits{};
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, float>) bits = std::bit_cast<u32>(field);
    else bits = field;
    for (u32 i = 0; i < 4; ++i) b.data[b.size++] = static_cast<u8>(bits >> 8 * i);
  });
  return b;
}

// Throws invalid_param_block: another version, opcode or size, or a bool other than 0 or 1.
template <class Params> constexpr Params decode(const param_block& b) {
  Params p;
  u16 at = 0;
  bool good = true;
  p.each([&](auto& field) {
    using type = std::remove_cvref_t<decltype(field)>;
    u32 bits{};
    for (u32 i = 0; i < 4; ++i) bits |= u32{b.data[at++]} << 8 * i;
    if constexpr (std::is_same_v<type, float>) field = std::bit_cast<float>(bits);
    else field = static_cast<type>(bits), good = good && bits == static_cast<u32>(field);
  });
  if (b.version != param_block_version || b.op != Params::op || b.size != at || !good) {
    const auto text = [](u32 op, u32 version, u32 size) {
      return "opcode " + std::to_string(op) + ", version " + std::to_string(version) + ", " + std::to_string(size) +
          " bytes";
    };
    throw Error(errc::invalid_param_block, {}, "param block",
                text(u32{static_cast<u8>(Params::op)}, param_block_version, at),
                good ? text(static_cast<u8>(b.op), b.version, b.size) : "a bool that is neither 0 nor 1");
  }
  return p;
}
// Checks a block of any opcode that has one.
constexpr void validate(const param_block& b) {
  if (b.op == opcode::rmsnorm) decode<rmsnorm_v1>(b);
  else if (b.op == opcode::multihead_attention) decode<attention_v1>(b);
  else
    throw Error(errc::invalid_param_block, {}, "param block", "an opcode that has one",
                std::to_string(static_cast<u8>(b.op)));
}

// ---- the execution plan: one macro instruction per letter --------------------------------------------

struct macro_instruction {
  static constexpr u16 no_params = 0xffff;
  opcode op = opcode::none;
  u8 first{}, last{};  // the fine steps it stands for, in the plan's code
  upto<reg, 8> in{}, out{};
  upto<u8, 32> weight{};        // a gated attention that is clipped, with biases and norms, has as many
  u16 param_block = no_params;  // index into execution_plan::param_blocks
  u8 state = absent;
};
struct execution_plan {
  code steps;
  small_vector<macro_instruction, max_ops> instructions;
  small_vector<param_block, 16> param_blocks;
  u16 register_count{};
};

// The plan of an unfused block: fusion crosses the borders of letters.
constexpr execution_plan contract(const code& unfused) {
  execution_plan plan;
  plan.steps = unfused;
  elide_saves(plan.steps);  // the contract's adds carry the stream themselves
  const code& c = plan.steps;
  plan.register_count = static_cast<u16>(c.regs.size());
  for (u32 i = 0; i < c.ops.size();) {
    u32 end = i;
    while (end < c.ops.size() && c.ops[end].group == c.ops[i].group) ++end;
    macro_instruction m{.op = c.ops[i].letter, .first = static_cast<u8>(i), .last = static_cast<u8>(end - 1)};
    upto<reg, max_regs> made;
    params norm{}, scores{};
    const rotary* rope = nullptr;
    for (u32 k = i; k < end; ++k) {
      const instruction& step = c.ops[k];
      for (u32 n = 0; n < step.in.count; ++n)
        if (!made.has(step.in[n]) && !m.in.has(step.in[n])) m.in.add(step.in[n]);
      for (u32 n = 0; n < step.out.count; ++n)
        if (!made.has(step.out[n])) made.add(step.out[n]);
      for (u32 n = 0; n < step.weight.count; ++n) m.weight.add(step.weight[n]);
      if (step.op == opcode::rmsnorm) norm = step.p;
      if (step.op == opcode::attend) scores = step.p;
      if (step.op == opcode::rope) rope = &step.p.as<rope_params>().rope;
      if (step.state != absent) m.state = step.state;
    }
    for (u32 n = 0; n < made.count; ++n)
      if (read_after(c, end, made[n]) || end == c.ops.size()) m.out.add(made[n]);
    if (m.op == opcode::rmsnorm && norm.kind() == kind_of<norm_params>)  // unit_rms_norm has no such step
      m.param_block = static_cast<u16>(plan.param_blocks.push(encode(rmsnorm_v1::of(norm.as<norm_params>()))));
    if (m.op == opcode::multihead_attention)
      m.param_block =
          static_cast<u16>(plan.param_blocks.push(encode(attention_v1::of(scores.as<attention_params>(), rope))));
    plan.instructions.push(m);
    i = end;
  }
  return plan;
}

// ---- the compiled plan -----------------------------------------------------------------------------

struct diagnostic {
  enum class severity : u8 { info, warn } level{};
  reg about{};
  std::string_view text{};
};
struct compiled_plan {
  code plan;
  liveness live;
  u16 peak_registers{};
  small_vector<diagnostic, max_regs> diagnostics;
};

struct plan_problem {
  u32 step{};
  std::string_view rule{};
};  // an empty rule: no problem
constexpr plan_problem check_plan(const code& c) {
  upto<reg, max_regs> made{stream, token_ids, layer_inputs};
  for (u32 i = 0; i < c.ops.size(); ++i) {
    const instruction& step = c.ops[i];
    if (!is_operation(step.op) || info(step.op).block == block_kind::none) return {i, "an executable opcode"};
    for (u32 k = 0; k < step.in.count; ++k) {
      if (step.in[k] >= c.regs.size()) return {i, "registers of the plan"};
      if (!made.has(step.in[k])) return {i, "a producer before each reader"};
    }
    for (u32 k = 0; k < step.out.count; ++k) {
      if (step.out[k] >= c.regs.size()) return {i, "registers of the plan"};
      if (!made.has(step.out[k])) made.add(step.out[k]);
    }
    for (u32 k = 0; k < step.weight.count; ++k)
      if (step.weight[k] >= c.slots.size()) return {i, "weights of the plan"};
    if (step.state != absent && step.state >= c.states.size()) return {i, "states of the plan"};
  }
  return {};
}

// Throws malformed for a plan that breaks a rule; in a constant expression, such a plan does not compile.
constexpr compiled_plan compile(const code& c) {
  if (const plan_problem bad = check_plan(c); !bad.rule.empty())
    throw Error(errc::malformed, {}, "plan step " + std::to_string(bad.step), std::string(bad.rule),
                "opcode " + std::to_string(static_cast<u8>(c.ops[bad.step].op)));
  compiled_plan out;
  out.plan = c;
  out.live = live(c);
  out.peak_registers = static_cast<u16>(out.live.peak);
  for (u32 r = first_scratch; r < c.regs.size(); ++r) {
    if (out.live.never_read >> r & 1)
      out.diagnostics.push({diagnostic::severity::info, static_cast<reg>(r), "never read: a result of the block"});
    if (!out.live.used(r)) out.diagnostics.push({diagnostic::severity::warn, static_cast<reg>(r), "never written"});
  }
  return out;
}

// Registers share memory by linear scan over the steps: right for a backend that finishes a step
// before it begins the next. (Phases run several steps at once; plan.hpp places registers for them.)
struct physical_mapping {
  u8 of[max_regs]{};      // `absent`: the stream, the ids, or unused
  u64 bytes[max_regs]{};  // of each physical register; all are 64-byte aligned
  u16 count{};
};
constexpr physical_mapping map_registers(const compiled_plan& p, u32 rows) {
  physical_mapping m;
  for (u8& r : m.of) r = absent;
  bool taken[max_regs]{};
  for (u32 i = 0; i < p.plan.ops.size(); ++i) {
    for (u32 r = first_scratch; r < p.plan.regs.size(); ++r) {
      if (p.live.first_write[r] != i) continue;
      u8 at = 0;
      while (taken[at]) ++at;
      taken[at] = true, m.of[r] = at;
      m.count = at >= m.count ? static_cast<u16>(at + 1) : m.count;
      const u64 need = register_bytes(p.plan.regs[r], rows);
      m.bytes[at] = need > m.bytes[at] ? need : m.bytes[at];
    }
    for (u32 r = first_scratch; r < p.plan.regs.size(); ++r)
      if (p.live.kill_after[i] >> r & 1) taken[m.of[r]] = false;
  }
  return m;
}

// ---- views -----------------------------------------------------------------------------------------

enum class arrangement : u8 { contiguous, strided, backend_native };
struct view_desc {
  static constexpr u32 max_rank = 4;
  dtype type{};
  u8 rank{};
  std::array<u32, max_rank> shape{}, stride_elems{};
  arrangement order{};
};
// Rows of the last dimension lie `row_stride` elements apart; 0: back to back. Throws unsupported_rank.
constexpr view_desc describe_view(dtype type, std::span<const u32> shape, u32 row_elements = 0) {
  if (shape.size() > view_desc::max_rank)
    throw Error(errc::unsupported_rank, {}, "view", "at most 4 dimensions", std::to_string(shape.size()));
  view_desc v{.type = type, .rank = static_cast<u8>(shape.size())};
  u32 stride = 1;
  for (u32 i = v.rank; i-- > 0;) {
    v.shape[i] = shape[i], v.stride_elems[i] = stride;
    stride *= i + 1u == v.rank && row_elements ? row_elements : shape[i];
  }
  const bool rows = v.rank > 0 && row_elements && row_elements != shape.back();
  v.order = type != dtype::f32 ? arrangement::backend_native : rows ? arrangement::strided : arrangement::contiguous;
  return v;
}

// ---- adapters: what a backend can do -----------------------------------------------------------------

// A pass as a backend sees it: its form, and the slots it works on with their lengths so far.
struct execution_context {
  form mode{};
  std::span<const u32> slots{}, lengths{};
  u32 tokens{};
  constexpr u32 batch() const { return static_cast<u32>(slots.size()); }
};

struct adapter_capability {
  bool supports_batch{}, supports_graph_emit{};
  u32 max_batch = 1;
};

// A backend's functions by opcode and dtype. All questions are asked when a plan is loaded or routed.
template <class Fn> class adapter_table {
 public:
  constexpr void add(opcode op, kernel_types t, Fn* run, adapter_capability can = {}) {
    row& r = rows_[static_cast<u8>(op)];
    r.can = can;
    for (auto& [types, known] : r.runs)
      if (types == t) return void(known = run);
    r.runs.emplace_back(t, run);
  }
  constexpr void remove(opcode op) { rows_[static_cast<u8>(op)] = {}; }

  // Throws unsupported_opcode.
  constexpr Fn* find(opcode op, kernel_types t) const {
    for (const auto& [types, run] : rows_[static_cast<u8>(op)].runs)
      if (types == t) return run;
    std::string wanted(info(t.first).name);
    for (const dtype more : {t.second, t.third})
      if (more != dtype::none) wanted += " and " + std::string(info(more).name);
    throw Error(errc::unsupported_opcode, {}, "opcode " + std::to_string(static_cast<u8>(op)),
                "an adapter for " + wanted, "none");
  }
  // Throws batch_unsupported.
  constexpr void route(opcode op, const execution_context& now) const {
    const adapter_capability can = rows_[static_cast<u8>(op)].can;
    const u32 most = can.supports_batch ? can.max_batch : 1;
    if (now.batch() > most)
      throw Error(errc::batch_unsupported, {}, "opcode " + std::to_string(static_cast<u8>(op)),
                  "at most " + std::to_string(most) + " slots", std::to_string(now.batch()));
  }

 private:
  struct row {
    std::vector<std::pair<kernel_types, Fn*>> runs{};
    adapter_capability can{};
  };
  std::array<row, 256> rows_{};
};

}  // namespace cke::graph
