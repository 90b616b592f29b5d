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
  static constexpr double noise = 2e-5;
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
  static constexpr double noise = 1e-3;  // transformers in float32: 7e-4
};

}  // namespace

TEST_CASE("prompts: Qwen3-VL with experts in some layers, whose matrices files have transposed") {
  check_prompts<qwen3_vl_moe_decoder>();
}
TEST_CASE(
    "prompts: the matrices of experts give the same bits either way around, as published and as transformers saves") {
  const tiny_checkpoint tiny(qwen3_vl_moe_decoder::folder);
  const checkpoint published = io::hf(tiny.folder);
  checkpoint saved = published;
  std::vector<io::tensor_ref> tensors(published.tensors.tensors().begin(), published.tensors.tensors().end());
  std::vector<std::vector<std::byte>> numbers(tensors.size());
  u32 turned = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    io::tensor_ref& t = tensors[i];
    if (t.shape.size() != 3 || t.name.find(".experts.") == t.name.npos) continue;
    const u64 rows = t.shape[1], columns = t.shape[2], item = info(t.type).bytes;
    numbers[i].resize(t.bytes.size());
    for (u64 at = 0; at < t.bytes.size() / item; ++at) {
      const u64 expert = at / (rows * columns), row = at / columns % rows, column = at % columns;
      std::memcpy(&numbers[i][((expert * columns + column) * rows + row) * item], &t.bytes[at * item], item);
    }
    std::swap(t.shape[1], t.shape[2]);
    t.bytes = numbers[i], ++turned;
  }
  CHECK(turned == 4);  // two of each of two layers
  saved.tensors = io::tensor_index(std::move(tensors));
  const auto logits_from = [](const checkpoint& from) {
    auto model = Model<qwen3_vl_moe_decoder, F32>::load(from, {.threads = 1, .context = 64, .logit_rows = 64});
    return logits_of<qwen3_vl_moe_decoder>(model, std::vector<u32>{1, 7, 40, 3, 22});
  };
  CHECK(logits_from(saved) == logits_from(published));
}
TEST_CASE("prompts: Qwen3.5 with experts") { check_prompts<qwen3_5_moe_decoder>(); }
TEST_CASE_TEMPLATE("prompts: images of models with experts in forks, in company, after a rewind and from the cache", M,
                   qwen3_vl_moe_decoder, qwen3_5_moe_decoder) {
  check_sharing<M>();
}
