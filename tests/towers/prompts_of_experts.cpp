// SPDX-License-Identifier: MIT
// prompts_of_experts.cpp: prompts with images of Qwen3-VL and Qwen3.5 with experts.
#include "cke/models/qwen3_5_moe.hpp"
#include "cke/models/qwen3_vl_moe.hpp"
#include "prompt.hpp"

using namespace cke;
using namespace towers;

namespace {

constexpr qwen3_vl_moe_config tiny_qwen3_vl_moe{.vocab = 83,
                                                .dim = 32,
                                                .hidden = 44,
                                                .expert_hidden = 20,
                                                .layers = 3,
                                                .heads = 2,
                                                .kv_heads = 1,
                                                .head_dim = 20,
                                                .experts = 6,
                                                .active = 2,
                                                .taps = 2,
                                                .section_t = 4,
                                                .section_h = 3,
                                                .section_w = 3,
                                                .dense = layer_set::of({1}),
                                                .tied = true,
                                                .rope = {.theta = 100, .max_position = 512}};
struct qwen3_vl_moe_decoder : qwen3_vl_moe<tiny_qwen3_vl_moe> {
  static constexpr const char* folder = "qwen3_vl_moe";
  static constexpr u32 image_token = 69, least_chunk = 1, recalled = 128;
};

constexpr qwen3_5_moe_config tiny_qwen3_5_moe{.vocab = 83,
                                              .dim = 32,
                                              .expert_hidden = 20,
                                              .shared_hidden = 28,
                                              .layers = 3,
                                              .heads = 2,
                                              .kv_heads = 1,
                                              .head_dim = 32,
                                              .key_heads = 2,
                                              .value_heads = 4,
                                              .key_dim = 12,
                                              .value_dim = 12,
                                              .linear = layer_set::of({0, 2}),
                                              .experts = 6,
                                              .active = 2,
                                              .rope = {.dims = 16, .theta = 100, .max_position = 512},
                                              .images = true,
                                              .section_t = 4,
                                              .section_h = 2,
                                              .section_w = 2};
struct qwen3_5_moe_decoder : qwen3_5_moe<tiny_qwen3_5_moe> {
  static constexpr const char* folder = "qwen3_5_moe";
  static constexpr u32 image_token = 69, least_chunk = 1, recalled = 128;
};

}  // namespace

TEST_CASE("prompts: Qwen3-VL with experts in some layers, whose matrices files have transposed") {
  check_prompts<qwen3_vl_moe_decoder>();
}
TEST_CASE("prompts: Qwen3.5 with experts") { check_prompts<qwen3_5_moe_decoder>(); }
TEST_CASE_TEMPLATE("prompts: images of models with experts in forks, in company, after a rewind and from the cache", M,
                   qwen3_vl_moe_decoder, qwen3_5_moe_decoder) {
  check_sharing<M>();
}
