// SPDX-License-Identifier: MIT
// code.hpp: the lowered form of a block: registers, weight slots, states, straight-line code.
#pragma once

#include "../core/dtype.hpp"
#include "../core/operations.hpp"
#include "../core/role.hpp"

CKE_COMPILED_ONCE
namespace cke::graph {

using reg = u8;
inline constexpr u8 absent = 255;
// Registers that outlive a block; those from `first_scratch` on are private to one block. `layer_inputs` is a second
// output of the header: each layer sees its own part of it. In a tower it is `tapped`, a second output of the layers:
// each deepstack letter writes its own part of it.
inline constexpr reg stream = 0, token_ids = 1, layer_inputs = 2, tapped = 2, first_scratch = 3;
inline constexpr u32 max_ops = 48, max_regs = 48, max_slots = 48;

template <class T, std::size_t N> struct upto {
  T item[N]{};
  u8 count{};
  constexpr upto() = default;
  template <class... Us>
    requires(sizeof...(Us) > 0)
  constexpr upto(Us... us) : item{static_cast<T>(us)...}, count(sizeof...(us)) {}
  constexpr T operator[](u32 i) const { return item[i]; }
  constexpr bool has(T t) const {
    for (u32 i = 0; i < count; ++i)
      if (item[i] == t) return true;
    return false;
  }
  constexpr void add(T t) {
    if (count == N) constant_error("cke: code: an instruction with too many operands");
    item[count++] = t;
  }
  constexpr bool operator==(const upto&) const = default;
};
using operands = upto<reg, 5>;
using slots8 = upto<u8, 8>;

struct instruction {
  opcode op = opcode::none;      // the step
  opcode letter = opcode::none;  // the letter it belongs to, in the contract's numbers
  u8 group{};                    // index of the letter in the block
  operands in{}, out{};
  slots8 weight{};    // indices into code::slots; biases follow the matrices
  u8 state = absent;  // index into code::states
  params p{};
  constexpr bool operator==(const instruction&) const = default;
};

struct value {  // a register: elements of a row, how they are stored, rows of a token, tokens of a row
  u32 width{};
  dtype as = dtype::f32;
  u32 rows = 1;
  u32 tokens = 1;  // more than 1 after rows have become one, as patches do in towers
};

enum class keeps_what : u8 { kv, conv, delta, ssm };
// ADR 0001's lifecycle of a state: it lives as long as its slot, or, in a tower, from one step of a layer to the next.
enum class lifecycle : u8 { slot_persistent, step_ephemeral };

struct state_shape {
  keeps_what what{};
  lifecycle life{};
  u32 rows{};               // positions kept; `everything`: the whole context
  u32 heads{}, head_dim{};  // of k and v; conv: 1, channels; delta: value heads, ssm: heads, each with `rows` rows
  bool shared{};            // reads the state of the last earlier layer that has one like it
  constexpr bool like(const state_shape& o) const {
    return what == o.what && rows == o.rows && heads == o.heads && head_dim == o.head_dim;
  }
};
// A recurrent state has a fixed size, and each position changes it, in f32; a cache has a place for each position.
constexpr bool is_recurrent(keeps_what w) { return w != keeps_what::kv; }

// One dtype per weight slot of a block: equal signatures share one instantiation.
struct signature {
  std::array<u8, max_slots> types{};
  constexpr dtype operator[](u32 slot) const { return static_cast<dtype>(types[slot]); }
  constexpr void set(u32 slot, dtype t) { types[slot] = static_cast<u8>(t); }
  constexpr bool operator==(const signature&) const = default;
};

struct code {
  small_vector<instruction, max_ops> ops;
  small_vector<value, max_regs> regs;
  small_vector<weight_slot, max_slots> slots;
  small_vector<state_shape, 4> states;
  signature formats{};
  // How many rows of the pass one row of a step's result stands for.
  constexpr u32 tokens_of_row(const instruction& i) const { return regs[i.out.count ? i.out[0] : i.in[0]].tokens; }
};

// Letters write their steps through this builder.
struct builder : code {
  opcode letter = opcode::none;
  u8 group{};
  u32 merged = 1;  // tokens of a row, in what comes next

  constexpr explicit builder(u32 width, signature s = {}) {
    formats = s;
    for (const u32 outlives : {width, 1u, 0u}) regs.push({outlives});
  }
  constexpr void begin(opcode op) { letter = op, ++group; }
  constexpr reg temp(u32 width, dtype as = dtype::f32, u32 rows = 1) {
    return static_cast<reg>(regs.push({width, as, rows, merged}));
  }
  // A step with the block of its operation: `emit<opcode::rmsnorm>({x}, {y}, {w}, {.cols = 64, .eps = 1e-6})`.
  template <opcode Op> constexpr instruction& emit(operands in, operands out, slots8 weight, const params_of<Op>& p) {
    return emit(Op, in, out, weight, p);
  }
  constexpr instruction& emit(opcode op, operands in, operands out, slots8 weight = {}, const params& p = {}) {
    return ops[ops.push({op, letter, group, in, out, weight, absent, p})];
  }
  constexpr u8 slot(weight_slot s) {
    for (const auto& other : slots) s.nth = static_cast<u8>(s.nth + (other.is == s.is && other.bias == s.bias));
    return static_cast<u8>(slots.push(s));
  }
  constexpr u8 vector(role is, u32 n, bool bias = false, u32 row_group = 0) {
    return slot({.is = is, .bias = bias, .rows = 1, .cols = n, .group = row_group});
  }
  constexpr u8 matrix(role is, u32 rows, u32 cols, u32 row_group = 0) {
    return slot({.is = is, .quantisable = true, .rows = rows, .cols = cols, .group = row_group});
  }
  // The bias of a matrix, under the matrix's number: an earlier one of this role may have none.
  constexpr u8 bias_of(u8 matrix) {
    const weight_slot of = slots[matrix];
    const u8 at = vector(of.is, of.rows, true);
    slots[at].nth = of.nth;
    return at;
  }
  constexpr u8 taps(role is, u32 channels, u32 n) { return slot({.is = is, .rows = channels, .cols = n}); }
  constexpr u8 state(state_shape s) { return static_cast<u8>(states.push(s)); }

  // x in the form that a dot product with `weight` takes; one quantisation serves all readers.
  constexpr reg operand(reg x, u8 weight) {
    const dtype want = info(formats[weight]).partner;
    if (want == dtype::f32) return x;
    for (const auto& i : ops)
      if (i.op == opcode::quantize && i.in[0] == x && regs[i.out[0]].as == want && i.group == group) return i.out[0];
    const reg q = temp(regs[x].width, want);
    emit<opcode::quantize>({x}, {q}, {}, {.cols = regs[x].width});
    return q;
  }
  constexpr reg matmul(role is, reg x, u32 rows, u32 cols, bool bias = false, u32 row_group = 0, u32 part = 0) {
    slots8 w{matrix(is, rows, cols, row_group)};
    slots[w[0]].part = part;
    if (bias) w.add(bias_of(w[0]));
    const reg in = operand(x, w[0]), y = temp(rows);
    emit<opcode::matmul>({in}, {y}, w,
                         {.rows = rows, .cols = cols, .groups = row_group ? rows / row_group : 1, .bias = bias});
    return y;
  }
  // A matmul whose input and result are clamped to learned bounds.
  constexpr reg clipped(role is, reg x, u32 rows, u32 cols, bool bias = false, u32 row_group = 0, u32 part = 0) {
    const reg in = temp(regs[x].width);
    emit<opcode::clamp>({x}, {in}, {vector(role::input_min, 1), vector(role::input_max, 1)}, {regs[x].width});
    const reg y = matmul(is, in, rows, cols, bias, row_group, part);
    emit<opcode::clamp>({y}, {y}, {vector(role::output_min, 1), vector(role::output_max, 1)}, {rows});
    return y;
  }
  // Two matrices of one shape on one input, written side by side: gate and up.
  constexpr reg matmul2(role a, role b, reg x, u32 rows, u32 cols, bool bias) {
    slots8 w{matrix(a, rows, cols), matrix(b, rows, cols)};
    if (bias) w.add(bias_of(w[0])), w.add(bias_of(w[1]));
    operands in{operand(x, w[0])};
    if (const reg other = operand(x, w[1]); !in.has(other)) in.add(other);
    const reg y = temp(2 * rows);
    emit<opcode::matmul>(in, {y}, w, {.rows = rows, .cols = cols, .matrices = 2, .bias = bias});
    return y;
  }
  // Whether each thread has its own copy of r in decode form: no other step may write into it.
  constexpr bool repeated(reg r) const {
    for (const auto& i : ops)
      if (i.out.has(r)) return info(i.op).decode.by == split::per_thread;
    return false;
  }
  // Where a step that changes r puts its result: r itself, unless each thread has its own copy.
  constexpr reg writable(reg r) { return repeated(r) ? temp(regs[r].width) : r; }
  constexpr void rename(reg from, reg to) {
    for (auto& i : ops) {
      for (auto& r : i.in.item) r = r == from ? to : r;
      for (auto& r : i.out.item) r = r == from ? to : r;
    }
  }
};

}  // namespace cke::graph
