// SPDX-License-Identifier: MIT
// prompt.hpp: prompts of a tiny checkpoint with images: transformers' logits and ids, and the same bits however they
// are fed. A decoder M has its checkpoint's folder, the id that stands for an image, the smallest chunk that it takes,
// how many rows of a text of 170 or so it finds in the prefix cache, and how far float32 may be from float64.
#pragma once

#include <nlohmann/json.hpp>

#include "checkpoint.hpp"
#include "cke/hf.hpp"
#include "cke/model.hpp"

namespace towers {

using namespace cke;

// A prompt of cases.json, with the ids of this model's images in place of the placeholders.
template <class M> struct prompt {
  std::vector<u32> ids;
  std::vector<image_ref> held;
  std::vector<float> logits;
  std::vector<u32> greedy;

  prompt(const Model<M, F32>& model, const tiny_checkpoint& tiny, const nlohmann::json& of, const nlohmann::json& all) {
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

inline u32 likeliest(std::span<const float> row) {
  return static_cast<u32>(std::ranges::max_element(row) - row.begin());
}

template <class M> std::vector<float> logits_of(Model<M, F32>& model, std::span<const u32> ids) {
  auto session = model.session();
  std::vector<float> all;
  session.feed_all(ids, [&](u32, std::span<const float> row) { all.insert(all.end(), row.begin(), row.end()); });
  return all;
}

template <class M> void check_prompts() {
  const tiny_checkpoint tiny(M::folder);
  const checkpoint from = io::hf(tiny.folder);
  const auto all = nlohmann::json::parse(std::ifstream(tiny.folder + "/cases.json"));
  std::vector<std::vector<float>> first;  // the logits of each case, however it is fed
  for (const u32 threads : {2u, 1u, 3u})
    for (const u32 chunk : {512u, M::least_chunk + 16, M::least_chunk}) {
      CAPTURE(threads);
      CAPTURE(chunk);
      auto model = Model<M, F32>::load(from, {.threads = threads, .context = 256, .chunk = chunk, .logit_rows = 64});
      for (std::size_t i = 0; i < all["cases"].size(); ++i) {
        const prompt<M> p(model, tiny, all["cases"][i], all);
        const std::vector<float> got = logits_of(model, p.ids);
        REQUIRE(got.size() == p.logits.size());
        if (first.size() == i) {
          first.push_back(got);
          CHECK(::numbers::distance(got, p.logits, Model<M, F32>::vocab_size) < M::noise);
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

// Images in forks, in company, after a rewind and from the prefix cache: the same bits.
template <class M> void check_sharing() {
  const tiny_checkpoint tiny(M::folder);
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
  while (longer.size() < 170) longer.push_back(static_cast<u32>(longer.size() % 40));
  const std::vector<float> after_longer = last_of(longer);
  auto again = model.session();
  const u32 recalled = again.recall(longer);
  CHECK(recalled == M::recalled);
  again.feed(std::span(longer).subspan(recalled));
  CHECK(same(again.logits(), after_longer));
}

}  // namespace towers
