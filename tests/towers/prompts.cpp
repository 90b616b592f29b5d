// SPDX-License-Identifier: MIT
// prompts.cpp: decoders that see images: transformers' logits and ids, and the same bits however a prompt is fed.
#include "checkpoint.hpp"
#include "cke/hf.hpp"
#include "cke/model.hpp"
#include "cke/models/gemma3.hpp"
#include "cke/models/qwen3_vl.hpp"

using namespace cke;

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
  static constexpr u32 image_token = 69, least_chunk = 1;
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
  static constexpr u32 image_token = 73, least_chunk = 9;  // an image's rows see each other
};

// A prompt of cases.json, with the ids of this model's images in place of the placeholders.
template <class M> struct prompt {
  std::vector<u32> ids;
  std::vector<image_ref> held;
  std::vector<float> logits;
  std::vector<u32> greedy;

  prompt(const Model<M, F32>& model, const towers::tiny_checkpoint& tiny, const nlohmann::json& of,
         const nlohmann::json& all) {
    std::size_t next = 0;
    const std::vector<u32> written = of["ids"];
    for (std::size_t at = 0; at < written.size();) {
      if (written[at] != M::image_token) {
        ids.push_back(written[at++]);
        continue;
      }
      const std::string image = of["images"][next++];
      const auto features = tiny.expected("features." + image);
      const u32 rows = all["images"][image]["rows"];
      patch_grid grid{1, rows};
      if (const auto& g = all["images"][image]; g.contains("grid"))
        grid = {u32{g["grid"][1]} / 2, u32{g["grid"][2]} / 2};
      held.push_back(model.add_image({1, std::hash<std::string>{}(image)}, grid, features.values));
      for (const u32 id : held.back()->ids()) ids.push_back(id);
      at += rows;
    }
    logits = tiny.expected("logits." + of["name"].get<std::string>()).values;
    greedy = of["greedy"].get<std::vector<u32>>();
  }
};

u32 likeliest(std::span<const float> row) { return static_cast<u32>(std::ranges::max_element(row) - row.begin()); }

template <class M> std::vector<float> logits_of(Model<M, F32>& model, std::span<const u32> ids) {
  auto session = model.session();
  std::vector<float> all;
  session.feed_all(ids, [&](u32, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  return all;
}

template <class M> void check_prompts() {
  const towers::tiny_checkpoint tiny(M::folder);
  const checkpoint from = io::hf(tiny.folder);
  const auto all = nlohmann::json::parse(std::ifstream(tiny.folder + "/cases.json"));
  std::vector<std::vector<float>> first;  // the logits of each case, however it is fed
  for (const u32 threads : {2u, 1u, 3u})
    for (const u32 chunk : {512u, 17u, M::least_chunk}) {
      CAPTURE(threads);
      CAPTURE(chunk);
      auto model = Model<M, F32>::load(from, {.threads = threads, .context = 256, .chunk = chunk, .logit_rows = 64});
      for (std::size_t i = 0; i < all["cases"].size(); ++i) {
        const prompt<M> p(model, tiny, all["cases"][i], all);
        const std::vector<float> got = logits_of(model, p.ids);
        REQUIRE(got.size() == p.logits.size());
        if (first.size() == i) {
          first.push_back(got);
          CHECK(numbers::distance(got, p.logits, Model<M, F32>::vocab_size) < 2e-5);
          auto session = model.session();
          session.feed(p.ids);
          for (const u32 id : p.greedy) {
            CHECK(likeliest(session.logits()) == id);
            session.feed(id);
          }
        }
        CHECK(std::memcmp(got.data(), first[i].data(), got.size() * sizeof(float)) == 0);
      }
    }
}

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
  const towers::tiny_checkpoint tiny(M::folder);
  const auto all = nlohmann::json::parse(std::ifstream(tiny.folder + "/cases.json"));
  auto model = Model<M, F32>::load(io::hf(tiny.folder), {.threads = 2, .context = 512, .chunk = 64, .logit_rows = 64});
  const prompt<M> one(model, tiny, all["cases"][1], all), two(model, tiny, all["cases"][2], all);
  const auto last_of = [&](std::span<const u32> ids) {
    auto session = model.session();
    session.feed(ids);
    return std::vector<float>(session.logits().begin(), session.logits().end());
  };
  const std::vector<float> after_one = last_of(one.ids), after_two = last_of(two.ids);
  const auto same = [](std::span<const float> a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  };

  auto a = model.session(), b = model.session();
  using session = decltype(a);
  session::feed_together(2, [&](u32 i) -> typename session::feeding {
    return {i ? &b : &a, i ? std::span<const u32>(two.ids) : std::span<const u32>(one.ids)};
  });
  CHECK(same(a.logits(), after_one));
  CHECK(same(b.logits(), after_two));

  auto fork = b;
  const u32 id = likeliest(after_two);
  fork.feed(id), b.feed(id);
  CHECK(same(fork.logits(), {b.logits().begin(), b.logits().end()}));
  b.rewind(3);  // before the images
  b.feed(std::span(two.ids).subspan(3));
  CHECK(same(b.logits(), after_two));

  // A text of more than a page, twice: the second takes the page with the image from the cache.
  std::vector<u32> longer = two.ids;
  while (longer.size() < 150) longer.push_back(static_cast<u32>(longer.size() % 40));
  const std::vector<float> after_longer = last_of(longer);
  auto again = model.session();
  CHECK(again.recall(longer) == 128);
  again.feed(std::span(longer).subspan(128));
  CHECK(same(again.logits(), after_longer));
}

TEST_CASE("prompts: ids that are no rows of an image, in order, are refused, and nothing has happened") {
  const towers::tiny_checkpoint tiny("qwen3_vl");
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

  auto whole =
      Model<gemma_decoder, F32>::load(io::hf(towers::folder_of("gemma3")), {.threads = 1, .context = 64, .chunk = 8});
  const towers::tiny_checkpoint gemma("gemma3");
  const auto cases = nlohmann::json::parse(std::ifstream(gemma.folder + "/cases.json"));
  const prompt<gemma_decoder> q(whole, gemma, cases["cases"][1], cases);
  CHECK_THROWS_WITH_AS(whole.session().feed(q.ids),
                       "chunk: expected at least 9, the rows of an image, which see each other, found 8", Error);
}
