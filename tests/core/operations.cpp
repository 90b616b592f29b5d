// SPDX-License-Identifier: MIT
// operations.cpp: parameter blocks: one kind at a time, compared and composed; and what operations state of themselves.
#include "cke/core/operations.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace cke;

TEST_CASE("operations: a block is read as what it is, and as nothing else") {
  const params p = scan_params{.heads = 8, .groups = 2, .head_dim = 64, .state = 128, .least_step = 0.5};
  CHECK(p.as<scan_params>().state == 128);
  CHECK(p.as<scan_params>().least_step.v == 0.5);
  CHECK_THROWS_AS(p.as<delta_params>(), const char*);
  CHECK_THROWS_AS(params{}.as<row_params>(), const char*);
  params q = p;
  CHECK(q == p);
  q = scan_params{.heads = 8, .groups = 2, .head_dim = 64, .state = 127, .least_step = 0.5};
  CHECK(!(q == p));
  q = row_params{8};  // the same first bytes
  CHECK(!(q == p));
  CHECK(q.as<row_params>().cols == 8);
  CHECK(params{} == params{});
}

TEST_CASE("operations: units of heads, what is turned and the activation are asked of any block") {
  CHECK(head_units(attention_params{.shape = {8, 2, 64}}) == 2);
  CHECK(head_units(qkv_params{.kv_heads = 3}) == 3);
  CHECK(head_units(delta_params{.key_heads = 2, .value_heads = 6}) == 6);
  CHECK(head_units(scan_params{.heads = 5, .groups = 1}) == 5);
  CHECK(head_units(matmul_params{.rows = 4, .groups = 4}) == 0);
  const params turn = rope_params{.shape = {8, 2, 64}, .rope = {.dims = 32, .theta = 1e4}};
  CHECK(turned(turn).rope->dims == 32);
  CHECK(turned(turn).head_dim == 64);
  CHECK(turned(split_heads_params{.heads = 2, .head_dim = 24, .cols = 16}).rope == nullptr);
  CHECK(turned(attention_params{}).rope == nullptr);
  CHECK(activation_of(conv_act_params{{.channels = 4, .taps = 2}, activation::relu2}) == activation::relu2);
}

TEST_CASE("operations: a fused step has what its parts had") {
  const params act[]{matmul_params{.rows = 96, .cols = 64, .matrices = 2, .bias = true},
                     act_params{96, activation::gelu_erf}, row_params{96}};
  CHECK(fused_params<opcode::matmul_act_quantize>(act) ==
        params{matmul_act_params{act[0].as<matmul_params>(), activation::gelu_erf}});
  const params qkv[]{matmul_params{.rows = 64, .cols = 48, .groups = 2},
                     matmul_params{.rows = 32, .cols = 48, .groups = 2},
                     matmul_params{.rows = 16, .cols = 48, .groups = 2}};
  CHECK(fused_params<opcode::qkv_matmul>(qkv) ==
        params{qkv_params{.q_rows = 64, .k_rows = 32, .v_rows = 16, .cols = 48, .kv_heads = 2}});
  const params norm[]{norm_params{.cols = 64, .eps = 1e-5}, row_params{64}};
  CHECK(fused_params<opcode::norm_quantize>(norm) == norm[0]);
  CHECK_THROWS_AS(fused_params<opcode::head_norm_rope>(norm), const char*);
}

TEST_CASE("operations: a step has a block and a cut, a letter neither; other numbers are no operations") {
  for (const op_info& row : ops) {
    CAPTURE(std::string(row.name));
    CHECK(info(row.op).name == row.name);
    CHECK((row.block == block_kind::none) == (row.decode.by == split::macro));
    CHECK((row.block == block_kind::none) == (row.prefill.by == split::macro));
  }
  CHECK(name(opcode::state_scan) == "state_scan");
  for (const opcode op : {static_cast<opcode>(127), static_cast<opcode>(200), opcode::none}) {
    CHECK(!is_operation(op));
    CHECK_THROWS_AS(info(op), const char*);
  }
}

TEST_CASE("operations: fields have the names of their kind") {
  const auto fields = [](const params& p) {
    std::vector<std::string> names;
    p.visit(
        [&](const auto& block) { block.each([&](std::string_view key, const auto&) { names.emplace_back(key); }); });
    return names;
  };
  CHECK(fields(scan_params{}) ==
        std::vector<std::string>{"heads", "groups", "head_dim", "state", "least_step", "most_step"});
  CHECK(fields(matmul_act_params{}) ==
        std::vector<std::string>{"rows", "cols", "groups", "matrices", "bias", "activation"});
  CHECK(fields(head_norm_rope_params{}) ==
        std::vector<std::string>{"heads", "kv_heads", "head_dim", "eps", "offset", "rope"});
  CHECK(fields(attention_params{}) ==
        std::vector<std::string>{"heads", "kv_heads", "head_dim", "window", "scale", "cap", "bidirectional",
                                 "sees_image"});
  CHECK(fields(positions_params{}) == std::vector<std::string>{"rows", "cols", "rule"});
  CHECK(fields(merge_params{}) == std::vector<std::string>{"cols", "by", "interleaved"});
  CHECK(fields(pool_params{}) == std::vector<std::string>{"heads", "head_dim", "by"});
  CHECK(fields({}).empty());
}
