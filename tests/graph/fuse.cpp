// SPDX-License-Identifier: MIT
// fuse.cpp: each rule applied, and each refused for every reason it can be.
#include "cke/graph/fuse.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "cke/graph/lower.hpp"
#include "cke/graph/lower_tower.hpp"
#include "cke/graph/program.hpp"

namespace fuse_test {

using namespace cke;
using namespace cke::graph;

namespace {

using enum opcode;
using opcodes = std::vector<opcode>;

opcodes steps(const code& c) {
  opcodes out;
  for (const instruction& i : c.ops) out.push_back(i.op);
  return out;
}
signature all(dtype t) {
  signature s;
  for (u32 i = 0; i < max_slots; ++i) s.set(i, t);
  return s;
}
u32 times(const fused_code& f, opcode becomes) {
  u32 n = 0;
  for (u32 i = 0; i < std::size(fusions); ++i)
    if (fusions[i].becomes == becomes) n += f.stats.applied[i];
  return n;
}

constexpr cke::attention_options shape{
    .dim = 64, .heads = 4, .kv_heads = 2, .head_dim = 16, .rope = {.dims = 16, .theta = 1e4}, .qk_norm = {1e-6}};
constexpr cke::attention_options narrow{
    .dim = 64, .heads = 2, .kv_heads = 2, .head_dim = 16, .rope = {.dims = 16, .theta = 1e4}};
using norm = rms_norm<64, 1e-6>;
using mlp = gated_mlp<64, 96, activation::silu>;
using layer = block<residual<norm, attention<shape>>, residual<norm, mlp>>;

// matmul of 32 x 32 from x, in the builder's format
reg product(builder& b, reg x, u32 group = 0) { return b.matmul(role::q, x, 32, 32, false, group); }

// When decoding, each thread makes the rows of some steps for itself; what another step wrote into them, a thread's
// share of the rows or one thread's, the others' copies would lack.
bool keeps_own_rows(const code& c) {
  for (reg r = 0; r < c.regs.size(); ++r) {
    u32 writers = 0;
    bool own = false;
    for (const instruction& i : c.ops)
      if (i.out.has(r)) own = writers++ == 0 ? partition_of(i, form::decode).by == split::per_thread : own;
    if (own && writers > 1) return false;
  }
  return true;
}
template <class Block> bool keeps_own_rows() {
  return keeps_own_rows(lower_block<Block>()) && keeps_own_rows(fuse(lower_block<Block>()).c) &&
      keeps_own_rows(fuse(lower_block<Block>(all(dtype::q8_0))).c);
}

}  // namespace

TEST_CASE("fuse: no step writes into rows that each thread makes for itself") {
  CHECK(keeps_own_rows<layer>());
  CHECK(keeps_own_rows<block<norm, learned_scale<64>>>());
  CHECK(keeps_own_rows<block<residual<norm, learned_scale<64>, mlp>>>());
  CHECK(keeps_own_rows<block<residual<norm, sum<mlp, chain<norm, residual<mlp>>>>>>());
  CHECK(keeps_own_rows<block<residual<norm, sum<norm, mlp>>>>());
  CHECK(keeps_own_rows<block<residual<norm, chain<norm, deepstack_add<64>>, mlp>>>());
}

TEST_CASE("fuse: a branch that gives on its input is added into a row of its own") {
  const code c = lower_block<block<residual<norm, sum<sum<cke::scale<64, 1>, mlp>, mlp>>>>();
  u32 norms = 0;
  for (const instruction& i : c.ops) norms += i.op == rmsnorm;
  REQUIRE(norms == 1);
  for (const instruction& i : c.ops)
    if (i.op == rmsnorm)
      for (const instruction& other : c.ops) CHECK((&other == &i || !other.out.has(i.out[0])));
}

TEST_CASE("fuse: a tap of the stream as it is stays a step") {
  using eye = block<residual<norm, mlp>, deepstack<cke::scale<64, 1>>>;
  for (const code& c : {lower_block<eye>(), fuse(lower_block<eye>()).c}) {
    bool written = false;
    for (const instruction& i : c.ops) written |= i.out.has(tapped);
    CHECK(written);
  }
}

TEST_CASE("fuse: a layer in q8_0, bf16 and f32") {
  const fused_code q8 = fuse(lower_block<layer>(all(dtype::q8_0)));
  CHECK(steps(q8.c) ==
        opcodes{norm_quantize, qkv_matmul, head_norm_rope, attend_quantize, matmul_add, norm_quantize,
                matmul_act_quantize, matmul_add});
  CHECK(q8.stats.saves_elided == 2);
  CHECK(q8.stats.total == 8);
  CHECK(q8.stats.removed == 20 - 2 - 8);
  const fused_code f32 = fuse(lower_block<layer>());
  CHECK(steps(f32.c) ==
        opcodes{rmsnorm, qkv_matmul, head_norm_rope, opcode::attend, matmul_add, rmsnorm, matmul_act, matmul_add});
  CHECK(steps(fuse(lower_block<layer>(all(dtype::bf16))).c) == steps(q8.c));
  const std::vector<std::pair<opcode, u32>> want{{qkv_matmul, 1},      {matmul_act_quantize, 1}, {matmul_act, 0},
                                                 {matmul_add, 2},      {norm_quantize, 2},       {head_norm_rope, 1},
                                                 {attend_quantize, 1}, {act_mul_quantize, 0}};
  for (const auto& [op, n] : want) CHECK(times(q8, op) == n);
}

TEST_CASE("fuse: a fused step reads, writes, weighs and knows what its parts did") {
  constexpr cke::attention_options biased{.dim = 64,
                                          .heads = 4,
                                          .kv_heads = 2,
                                          .head_dim = 16,
                                          .rope = {.dims = 16, .theta = 1e4},
                                          .qk_norm = {1e-6},
                                          .qkv_bias = true};
  const code c = fuse(lower_block<block<residual<norm, attention<biased>>>>(all(dtype::q8_0))).c;
  const instruction& qkv = c.ops[1];
  REQUIRE(qkv.op == qkv_matmul);
  REQUIRE(qkv.weight.count == 6);
  for (u32 i = 0; i < 3; ++i) {  // q, k, v and then their biases
    CHECK(c.slots[qkv.weight[i]].is == static_cast<role>(static_cast<u32>(role::q) + i));
    CHECK(c.slots[qkv.weight[i + 3]].is == static_cast<role>(static_cast<u32>(role::q) + i));
    CHECK(!c.slots[qkv.weight[i]].bias);
    CHECK(c.slots[qkv.weight[i + 3]].bias);
  }
  CHECK(qkv.in.count == 1);
  CHECK(qkv.out.count == 3);
  const instruction &turn = c.ops[2], &scores = c.ops[3], &add = c.ops[4];
  CHECK(qkv.p == params{qkv_params{.q_rows = 64, .k_rows = 32, .v_rows = 32, .cols = 64, .kv_heads = 2, .bias = true}});
  CHECK(turn.p == params{head_norm_rope_params{{.shape = {4, 2, 16}, .eps = 1e-6}, biased.rope}});
  CHECK(scores.p == params{attention_params{.shape = {4, 2, 16}}});
  CHECK(turn.out == turn.in);
  CHECK(scores.state == 0);
  CHECK(scores.in == operands{qkv.out[0], qkv.out[1], qkv.out[2]});
  CHECK(c.regs[scores.out[0]].as == dtype::q8_0);
  CHECK(add.in == operands{scores.out[0], stream});
  CHECK(add.out == operands{stream});
  const code m =
      fuse(lower_block<block<residual<norm, gated_mlp<64, 96, activation::gelu_erf, true>>>>(all(dtype::q8_0))).c;
  REQUIRE(m.ops[1].op == matmul_act_quantize);
  CHECK(m.ops[1].p ==
        params{matmul_act_params{{.rows = 96, .cols = 64, .matrices = 2, .bias = true}, activation::gelu_erf}});
  CHECK(m.ops[1].weight.count == 4);
}

TEST_CASE("fuse: act_mul_quantize, when gate and up are not a matrix product before it") {
  builder b(64, all(dtype::q8_0));
  const reg gate_up = b.temp(64), h = b.temp(32), q = b.temp(32, dtype::q8_0);
  b.emit<opcode::embedding>({token_ids}, {gate_up}, {}, {.cols = 64});
  b.emit<act_mul>({gate_up}, {h}, {}, {.cols = 32});
  b.emit<quantize>({h}, {q}, {}, {.cols = 32});
  b.emit<logits>({q}, {stream}, {}, {});
  CHECK(steps(fuse(b).c) == opcodes{opcode::embedding, act_mul_quantize, logits});
}

TEST_CASE("fuse: refused when something else reads what would vanish") {
  builder b(32, all(dtype::q8_0));
  const reg y = b.temp(32), q = b.temp(32, dtype::q8_0), z = b.temp(32);
  b.emit<rmsnorm>({stream}, {y}, {}, {.cols = 32});
  b.emit<quantize>({y}, {q}, {}, {.cols = 32});
  b.emit(logits, {q}, {z});
  code c = b;
  CHECK(steps(fuse(c).c) == opcodes{norm_quantize, logits});
  b.emit<residual_add>({y, z}, {stream}, {}, {.cols = 32});
  CHECK(steps(fuse(b).c) == opcodes{rmsnorm, quantize, logits, residual_add});
  b.ops[3].in = {z, z}, b.ops[3].out = {y};  // the norm is not read again, but it is the block's result
  b.ops[0].out = {stream}, b.ops[1].in = {stream};
  CHECK(steps(fuse(b).c) == opcodes{rmsnorm, quantize, logits, residual_add});
}

TEST_CASE("fuse: refused when the steps are neighbours and not a chain") {
  builder b(32, all(dtype::q8_0));
  const reg y = b.temp(32), q = b.temp(32, dtype::q8_0);
  b.emit<rmsnorm>({stream}, {y}, {}, {.cols = 32});
  b.emit<quantize>({stream}, {q}, {}, {.cols = 32});
  b.emit(logits, {q}, {stream});
  CHECK(steps(fuse(b).c) == opcodes{rmsnorm, quantize, logits});
}

TEST_CASE("fuse: q, k and v only with one input in one form, and heads to cut them by") {
  const auto three = [](signature s, bool other_input, u32 group, bool bias) {
    builder b(32, s);
    const reg x = b.temp(32), other = b.temp(32);
    b.emit<rmsnorm>({stream}, {x}, {}, {.cols = 32});
    b.emit<rmsnorm>({stream}, {other}, {}, {.cols = 32});
    product(b, x, 16), product(b, x, 16);
    b.matmul(role::v, other_input ? other : x, 32, 32, bias, group);
    return steps(fuse(b).c).size();
  };
  CHECK(three({}, false, 16, false) == 3);
  CHECK(three({}, true, 16, false) == 5);
  CHECK(three({}, false, 0, false) == 5);
  CHECK(three({}, false, 32, false) == 5);  // cut into another number of heads
  CHECK(three({}, false, 16, true) == 5);   // only one has a bias
  signature mixed;
  mixed.set(1, dtype::f16);  // f32 activations serve both
  CHECK(three(mixed, false, 16, false) == 3);
  for (u32 i = 0; i < 3; ++i) mixed.set(i, i == 1 ? dtype::q6_k : dtype::q4_k);
  CHECK(three(mixed, false, 16, false) == 4);  // and one quantised form these
  mixed.set(2, dtype::bf16);
  CHECK(three(mixed, false, 16, false) == 7);  // but not those
}

TEST_CASE("fuse: attention is quantised by its own units only where no block crosses two of them") {
  CHECK(fuse(lower_block<block<residual<norm, attention<narrow>>>>(all(dtype::q8_0))).c.ops[3].op ==
        opcode::attend);  // 16 wide, blocks of 32
  CHECK(fuse(lower_block<block<residual<norm, attention<narrow>>>>(all(dtype::bf16))).c.ops[3].op == attend_quantize);
  CHECK(fuse(lower_block<block<residual<norm, attention<shape>>>>(all(dtype::q8_0))).c.ops[3].op == attend_quantize);
}

TEST_CASE("fuse: a save stays, and its add with it, when the stream is written between") {
  using nested = block<residual<residual<norm, attention<shape>>, mlp>>;  // x + mlp(x + attention(norm(x)))
  const fused_code f = fuse(lower_block<nested>());
  CHECK(f.stats.saves_elided == 1);
  CHECK(steps(f.c) ==
        opcodes{residual_save, rmsnorm, qkv_matmul, head_norm_rope, opcode::attend, matmul_add, matmul_act, matmul,
                residual_add});
  const instruction& last = f.c.ops[8];
  CHECK(last.in[0] == f.c.ops[0].out[0]);
  CHECK(last.out[0] == stream);
}

TEST_CASE("fuse: a product is not added onto its own input") {
  builder b(32);
  b.emit<residual_add>({stream, product(b, stream)}, {stream}, {}, {.cols = 32});
  CHECK(steps(fuse(b).c) == opcodes{matmul, residual_add});
}

TEST_CASE("fuse: branches of a sum are added, one onto the other") {
  const code plain = lower_block<block<residual<norm, sum<attention<shape>, mlp>>>>();
  const fused_code f = fuse(plain);
  CHECK(steps(f.c) ==
        opcodes{rmsnorm, qkv_matmul, head_norm_rope, opcode::attend, matmul, matmul_act, matmul_add, residual_add});
  CHECK(f.c.ops[6].out == f.c.ops[4].out);
}

TEST_CASE("fuse: the cache is filled by a step before the scores") {
  const code c = store_before_attend(fuse(lower_block<layer>(all(dtype::q8_0))).c);
  REQUIRE(c.ops[3].op == kv_store);
  REQUIRE(c.ops[4].op == attend_quantize);
  CHECK(c.ops[3].in.count == 2);
  CHECK(c.ops[3].out.count + c.ops[3].weight.count == 0);
  CHECK(c.ops[4].in.count == 1);
  CHECK(c.ops[3].state == c.ops[4].state);
  CHECK(c.ops[3].p == params{kv_store_params{.kv_heads = 2, .head_dim = 16}});
}

}  // namespace fuse_test
