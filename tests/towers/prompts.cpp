// SPDX-License-Identifier: MIT
// prompts.cpp: decoders that see images: transformers' logits and ids, and the same bits however a prompt is fed.
#include "cke/models/gemma3.hpp"
#include "cke/models/qwen3_vl.hpp"
#include "prompt.hpp"

using namespace cke;
using namespace towers;

namespace {

constexpr qwen3_vl_config tiny_qwen{.vocab = 83,
                                    .dim = 32,
                                    .hidden = 44,
                                    .layers = 3,
                                    .heads = 2,
                                    .kv_heads = 1,
                                    .head_dim = 20,
                                    .taps = 2,
                                    .section_t = 4,
                                    .section_h = 3,
                                    .section_w = 3,
                                    .rope = {.theta = 100, .max_position = 512}};
struct qwen_decoder : qwen3_vl<tiny_qwen> {
  static constexpr const char* folder = "qwen3_vl";
  static constexpr u32 image_token = 69, least_chunk = 1, recalled = 128;
  static constexpr double noise = 2e-5;
};
constexpr gemma3_config tiny_gemma{
    .vocab = 87,
    .dim = 32,
    .hidden = 44,
    .layers = 4,
    .heads = 2,
    .kv_heads = 1,
    .head_dim = 20,
    .window = 6,
    .sliding = layer_set::of({0, 1, 3}),
    .query_scalar = 17,
    .images = true,
    .rope = {.theta = 500, .rule = rope_scaling::linear, .factor = 4, .original = 512, .max_position = 512},
    .local_rope = {.theta = 50, .max_position = 512}};
struct gemma_decoder : gemma3<tiny_gemma> {
  static constexpr const char* folder = "gemma3";
  static constexpr u32 image_token = 73, least_chunk = 9, recalled = 128;  // an image's rows see each other
  static constexpr double noise = 2e-5;
};

}  // namespace

TEST_CASE(
    "prompts: Qwen3-VL with none, one and two images: transformers' logits and ids; the same bits in any pieces") {
  check_prompts<qwen_decoder>();
}
TEST_CASE("prompts: Gemma 3 with images, whose rows see each other; the same bits in any pieces that divide none") {
  check_prompts<gemma_decoder>();
}

TEST_CASE_TEMPLATE("prompts: images in forks, in company, after a rewind and from the prefix cache: the same bits", M,
                   qwen_decoder, gemma_decoder) {
  check_sharing<M>();
}

TEST_CASE("prompts: ids that are no rows of an image, in order, are refused, and nothing has happened") {
  const tiny_checkpoint tiny("qwen3_vl");
  const auto all = nlohmann::json::parse(std::ifstream(tiny.folder + "/cases.json"));
  auto model = Model<qwen_decoder, F32>::load(io::hf(tiny.folder), {.threads = 1, .context = 64});
  const prompt<qwen_decoder> p(model, tiny, all["cases"][1], all);
  const u32 row = p.held[0]->first;
  auto session = model.session();
  const auto refused = [&](std::vector<u32> ids) {
    try {
      session.feed(ids);
    } catch (const Error& e) {
      CHECK(session.position() == 0);
      return std::string(e.what());
    }
    return std::string("taken");
  };
  CHECK(refused({1, row + 1}) == "token id: expected the first row of an image, 83, found 84");
  CHECK(refused({1, row, 2}) == "token id: expected the next row of an image, 84, found 2");
  CHECK(refused({1, row, row + 2}) == "token id: expected the next row of an image, 84, found 85");
  CHECK(refused({4000}) == "token id: expected less than 83, or a row of an image that the model has, found 4000");
  session.feed(std::vector<u32>{1, row, row + 1});  // an image may come in pieces
  session.feed(std::vector<u32>{row + 2});
  CHECK(session.position() == 4);

  CHECK_THROWS_WITH_AS(model.add_image({5, 5}, {2, 2}, std::vector<float>(3)),
                       "features of an image: expected 384 numbers, found 3", Error);
  CHECK(model.add_image({1, std::hash<std::string>{}("wide.png")}, {1, 1}, {}) == p.held[0]);  // equal keys, one image
  CHECK(model.find_image({9, 9}) == nullptr);

  // More images than are kept: one that a session has stays, another is gone, and comes back under its ids.
  const u32 gone = model.add_image({7, 7}, {1, 2}, std::vector<float>(2 * 96, 1.f))->first;
  model.add_image({8, 8}, {1024, 700}, std::vector<float>(u64{1024} * 700 * 96));
  CHECK(model.find_image({7, 7}) == nullptr);
  auto other = model.session();
  CHECK_THROWS_WITH_AS(other.feed(std::vector<u32>{1, gone, gone + 1}),
                       doctest::Contains("an image that the model has"), Error);
  CHECK(other.position() == 0);
  session.feed(std::vector<u32>{row + 3});
  CHECK(model.add_image({7, 7}, {1, 2}, std::vector<float>(2 * 96, 1.f))->first == gone);
  other.feed(std::vector<u32>{1, gone, gone + 1});
  CHECK(other.position() == 3);

  auto whole = Model<gemma_decoder, F32>::load(io::hf(folder_of("gemma3")), {.threads = 1, .context = 64, .chunk = 8});
  const tiny_checkpoint gemma("gemma3");
  const auto cases = nlohmann::json::parse(std::ifstream(gemma.folder + "/cases.json"));
  const prompt<gemma_decoder> q(whole, gemma, cases["cases"][1], cases);
  CHECK_THROWS_WITH_AS(whole.session().feed(q.ids),
                       "chunk: expected at least 9, the rows of an image, which see each other, found 8", Error);
}

TEST_CASE("prompts: an image whose rows see each other does not come in pieces") {
  auto model =
      Model<gemma_decoder, F32>::load(io::hf(folder_of("gemma3")), {.threads = 1, .context = 256, .chunk = 64});
  const u32 first = model.add_image({1, 2}, {1, 9}, std::vector<float>(9 * 32, 0.5f))->first;
  std::vector<u32> ids{1, 2};
  for (u32 row = 0; row < 9; ++row) ids.push_back(first + row);
  ids.push_back(3);
  auto session = model.session();
  const auto refused = [&](std::span<const u32> some, u32 position) {
    CHECK_THROWS_WITH_AS(session.feed(std::vector<u32>(some.begin(), some.end())),
                         doctest::Contains("ids: expected all rows of an image, which see each other, up to"), Error);
    CHECK(session.position() == position);
  };
  const std::span<const u32> all = ids;
  refused(all.first(5), 0);
  refused(all.subspan(2, 4), 0);
  session.feed(ids);
  CHECK(session.position() == 12);
  session.rewind(6);
  refused(all.subspan(6, 2), 6);
  session.feed(std::vector<u32>(ids.begin() + 6, ids.end()));
  CHECK(session.position() == 12);
}
