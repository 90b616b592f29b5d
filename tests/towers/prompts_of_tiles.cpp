// SPDX-License-Identifier: MIT
// prompts_of_tiles.cpp: decoders to which an image is several runs of rows, its tiles or its lines: transformers'
// logits and ids, and the same bits however a prompt is fed.
#include "checkpoint.hpp"
#include "cke/hf.hpp"
#include "cke/model.hpp"
#include "cke/models/lfm2.hpp"
#include "cke/models/llama.hpp"
#include "cke/models/mistral.hpp"

namespace prompts_of_tiles_test {

using namespace cke;

namespace {

constexpr rotary tiny_rope{.theta = 100, .max_position = 512};
struct idefics3_decoder : llama<llama_config{.vocab = 101,
                                             .dim = 32,
                                             .hidden = 44,
                                             .layers = 3,
                                             .heads = 2,
                                             .kv_heads = 1,
                                             .images = true,
                                             .rope = tiny_rope}> {
  static constexpr const char* folder = "idefics3";
  static constexpr u32 image_token = 67;
};
struct lfm2_decoder : lfm2<lfm2_config{.vocab = 97,
                                       .dim = 32,
                                       .hidden = 44,
                                       .layers = 3,
                                       .heads = 2,
                                       .kv_heads = 1,
                                       .attends = layer_set::of({1}),
                                       .images = true,
                                       .rope = tiny_rope}> {
  static constexpr const char* folder = "lfm2_vl";
  static constexpr u32 image_token = 66;
};
constexpr mistral_config tiny_mistral{.vocab = 89,
                                      .dim = 32,
                                      .hidden = 44,
                                      .layers = 3,
                                      .heads = 2,
                                      .kv_heads = 1,
                                      .head_dim = 20,
                                      .eps = 1e-3,
                                      .images = true,
                                      .rope = tiny_rope};
struct pixtral_decoder : mistral<tiny_mistral> {
  static constexpr const char* folder = "pixtral";
  static constexpr u32 image_token = 69;
};
struct mistral3_decoder : mistral<tiny_mistral> {
  static constexpr const char* folder = "mistral3";
  static constexpr u32 image_token = 69;
};

// A prompt of cases.json. Each run of placeholders is an image of its own to the model: the next rows of the features.
template <class M> struct prompt {
  std::vector<u32> ids;
  std::vector<image_ref> held;
  std::vector<float> logits;
  std::vector<u32> greedy;

  prompt(const Model<M, F32>& model, const towers::tiny_checkpoint& tiny, const nlohmann::json& of) {
    std::vector<float> features;
    for (const std::string image : of["images"])
      for (const float f : tiny.expected("features." + image).values) features.push_back(f);
    const std::vector<u32> written = of["ids"];
    u64 used = 0;
    for (std::size_t at = 0; at < written.size();) {
      if (written[at] != M::image_token) {
        ids.push_back(written[at++]);
        continue;
      }
      u32 rows = 0;
      while (at < written.size() && written[at] == M::image_token) ++at, ++rows;
      const u64 numbers = u64{rows} * M::config.dim;
      REQUIRE(used + numbers <= features.size());
      const auto part = std::span(features).subspan(used, numbers);
      held.push_back(model.add_image({std::hash<std::string>{}(of["name"]), used}, {1, rows}, part));
      for (const u32 id : held.back()->ids()) ids.push_back(id);
      used += numbers;
    }
    CHECK(used == features.size());
    logits = tiny.expected("logits." + of["name"].get<std::string>()).values;
    greedy = of["greedy"].get<std::vector<u32>>();
  }
};

u32 likeliest(std::span<const float> row) { return static_cast<u32>(std::ranges::max_element(row) - row.begin()); }

}  // namespace

TEST_CASE_TEMPLATE("prompts of tiles: transformers' logits and ids; the same bits in any pieces, by any threads", M,
                   idefics3_decoder, lfm2_decoder, pixtral_decoder, mistral3_decoder) {
  const towers::tiny_checkpoint tiny(M::folder);
  const checkpoint from = io::hf(tiny.folder);
  const auto all = nlohmann::json::parse(std::ifstream(tiny.folder + "/cases.json"));
  std::vector<std::vector<float>> first;  // the logits of each case, however it is fed
  for (const u32 threads : {2u, 1u, 3u})
    for (const u32 chunk : {512u, 17u, 1u}) {
      CAPTURE(threads);
      CAPTURE(chunk);
      auto model = Model<M, F32>::load(from, {.threads = threads, .context = 256, .chunk = chunk, .logit_rows = 64});
      for (std::size_t i = 0; i < all["cases"].size(); ++i) {
        CAPTURE(i);
        const prompt<M> p(model, tiny, all["cases"][i]);
        auto session = model.session();
        std::vector<float> got;
        session.feed_all(p.ids,
                         [&](u32, std::span<const float> row) { got.insert(got.end(), row.begin(), row.end()); });
        REQUIRE(got.size() == p.logits.size());
        if (first.size() == i) {
          first.push_back(got);
          CHECK(numbers::distance(got, p.logits, Model<M, F32>::vocab_size) < 2e-5);
          for (const u32 id : p.greedy) {
            CHECK(likeliest(session.logits()) == id);
            session.feed(id);
          }
        }
        CHECK(std::memcmp(got.data(), first[i].data(), got.size() * sizeof(float)) == 0);
      }
    }
}

}  // namespace prompts_of_tiles_test
