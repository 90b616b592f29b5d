// SPDX-License-Identifier: MIT
// prompts_of_qwen.cpp: prompts with images of Qwen2.5-VL and Qwen3.5, whose ropes have three axes.
#include "cke/models/qwen2_5_vl.hpp"
#include "cke/models/qwen3_5.hpp"
#include "prompt.hpp"

using namespace cke;
using namespace towers;

namespace {

constexpr qwen3_5_config tiny_qwen3_5{.vocab = 83,
                                      .dim = 32,
                                      .hidden = 44,
                                      .layers = 3,
                                      .heads = 2,
                                      .kv_heads = 1,
                                      .head_dim = 32,
                                      .key_heads = 2,
                                      .value_heads = 4,
                                      .key_dim = 12,
                                      .value_dim = 12,
                                      .linear = layer_set::of({0, 2}),
                                      .rope = {.dims = 16, .theta = 100, .max_position = 512},
                                      .images = true,
                                      .section_t = 4,
                                      .section_h = 2,
                                      .section_w = 2};
struct qwen3_5_decoder : qwen3_5<tiny_qwen3_5> {
  static constexpr const char* folder = "qwen3_5";
  static constexpr u32 image_token = 69, least_chunk = 1, recalled = 128;
  static constexpr double noise = 2e-4;  // transformers in float32: 1e-4
};

constexpr qwen2_5_vl_config tiny_qwen2_5_vl{.vocab = 83,
                                            .dim = 40,
                                            .hidden = 44,
                                            .layers = 3,
                                            .heads = 2,
                                            .kv_heads = 1,
                                            .section_t = 4,
                                            .section_h = 3,
                                            .section_w = 3,
                                            .eps = 1e-5,
                                            .rope = {.theta = 100, .max_position = 512}};
struct qwen2_5_vl_decoder : qwen2_5_vl<tiny_qwen2_5_vl> {
  static constexpr const char* folder = "qwen2_5_vl";
  static constexpr u32 image_token = 69, least_chunk = 1, recalled = 128;
  static constexpr double noise = 2e-5;
};

}  // namespace

TEST_CASE("prompts: Qwen3.5 with none, one and two images: transformers' logits and ids; the same bits in any pieces") {
  check_prompts<qwen3_5_decoder>();
}
TEST_CASE("prompts: Qwen2.5-VL, whose axes turn runs of frequencies") { check_prompts<qwen2_5_vl_decoder>(); }

TEST_CASE("prompts: a video of Qwen2.5-VL is one run of rows, whose frames rope turns by their times") {
  const tiny_checkpoint tiny("qwen2_5_vl");
  const auto of = nlohmann::json::parse(std::ifstream(tiny.folder + "/cases.json"))["videos"][0];
  const auto clip = tiny.expected("features.video"), clear = tiny.expected("features.clear.png");
  const auto logits = tiny.expected("logits.video");
  const std::span<const float> rows(clip.values);
  std::vector<float> first;
  for (const u32 threads : {2u, 1u, 3u})
    for (const u32 chunk : {512u, 7u, 1u}) {
      CAPTURE(threads);
      CAPTURE(chunk);
      auto model = Model<qwen2_5_vl_decoder, F32>::load(
          io::hf(tiny.folder), {.threads = threads, .context = 256, .chunk = chunk, .logit_rows = 64});
      // Two frames of 4 x 3 rows, 2 / 1.5 seconds apart, each of which is 4 positions.
      const image_ref held[]{model.add_image({1, 0}, {4, 3}, rows.first(rows.size() / 2)),
                             model.add_image({1, 1}, {4, 3}, rows.last(rows.size() / 2), 5),
                             model.add_image({1, 2}, {3, 3}, clear.values)};
      std::vector<u32> seen;
      for (const image_ref& image : held)
        for (const u32 id : image->ids()) seen.push_back(id);
      std::vector<u32> ids = of["ids"];
      auto next = seen.begin();
      for (u32& id : ids)
        if (id == 69 || id == 70) id = *next++;
      const std::vector<float> got = logits_of(model, ids);
      if (first.empty()) {
        first = got;
        CHECK(::numbers::distance(got, logits.values, Model<qwen2_5_vl_decoder, F32>::vocab_size) < 2e-5);
      }
      CHECK(got == first);
      auto session = model.session();
      session.feed(ids);
      const u32 inside = static_cast<u32>(std::ranges::find(ids, held[1]->first) - ids.begin()) + 5;
      session.rewind(inside);
      session.feed(std::span(ids).subspan(inside));
      CHECK(std::ranges::equal(session.logits(), std::span(first).last(83)));
    }
}

TEST_CASE("prompts: Qwen2.5-VL's files as published keep the text's config and tensors beside the tower's") {
  const std::string folder = folder_of("qwen2_5_vl");
  const auto now = nlohmann::json::parse(std::ifstream(folder + "/config.json"));
  nlohmann::json published = now["text_config"];
  for (const auto& [key, value] : now.items())
    if (key != "text_config") published[key] = value;
  published["rope_theta"] = published["rope_parameters"]["rope_theta"];
  published["rope_scaling"] = {{"type", "mrope"}, {"mrope_section", published["rope_parameters"]["mrope_section"]}};
  published.erase("rope_parameters");
  checkpoint from = io::hf(folder);
  from.config = io::detail::text_config(published).dump();
  from.model_type = io::detail::text_config(published)["model_type"];
  match_config<qwen2_5_vl_decoder>(from, 64);
  for (const auto& t : from.tensors.tensors()) CHECK(!t.name.starts_with("visual."));
  const nlohmann::json odd{{"model_type", 3}};  // is left to the reader, which says what is wrong
  CHECK(io::detail::text_config(odd) == odd);
}

TEST_CASE_TEMPLATE("prompts: images of Qwen3.5 and Qwen2.5-VL in forks, in company, after a rewind and from the cache",
                   M, qwen3_5_decoder, qwen2_5_vl_decoder) {
  check_sharing<M>();
}
