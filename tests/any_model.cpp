// SPDX-License-Identifier: MIT
// engine.cpp: behind the abstract classes there is the same model.
#include "cke/model_adapter.hpp"

#include <doctest/doctest.h>

#include "byte_model.hpp"
#include "cke/embed.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using random_model::same_bits;

namespace {

using text_model = Model<byte_model::tiny, BF16>;
std::unique_ptr<any_model> opened() { return std::make_unique<model_adapter<text_model>>(byte_model::shared<BF16>()); }

}  // namespace

TEST_CASE("engine: its facts are the model's") {
  const text_model& m = byte_model::shared<BF16>();
  const auto e = opened();
  CHECK(e->vocab_size() == text_model::vocab_size);
  CHECK(e->context() == m.context());
  CHECK(e->threads() == m.threads());
  CHECK(e->kv() == dtype::f16);
  CHECK(e->isa() == isa::native::name);
  CHECK(e->parameters() == text_model::program::parameters);
  CHECK(e->weight_bytes() == m.weight_bytes());
  CHECK(e->activation_bytes() == m.activation_bytes());
  CHECK(e->state_bytes() == m.state_bytes());
}

TEST_CASE("engine: a conversation does what a session does, to the bit, and outlives the engine") {
  auto s = byte_model::shared<BF16>().session();
  auto e = opened();
  const auto talk = e->open();
  e.reset();
  const std::vector<u32> ids = random_model::ids(100, 259);
  s.feed(ids);
  talk->feed(ids);
  CHECK(same_bits(s.logits(), talk->logits()));
  s.feed(7);
  talk->feed(7);
  CHECK(same_bits(s.logits(), talk->logits()));
  CHECK(talk->position() == 101);
  CHECK(talk->context() == s.context());
  CHECK(std::ranges::equal(talk->history(), s.history()));

  const auto branch = talk->fork();
  branch->feed(9);
  CHECK(talk->position() == 101);
  CHECK(same_bits(s.logits(), talk->logits()));
  s.feed(9);
  CHECK(same_bits(s.logits(), branch->logits()));

  CHECK(branch->rewind(20) == 20);
  s.rewind(20);
  std::vector<float> rows, want;
  u32 next = 0;
  branch->feed_all(std::span(ids).subspan(20, 50), [&](u32 i, std::span<const float> row) {
    CHECK(i == next++);
    rows.insert(rows.end(), row.begin(), row.end());
  });
  s.feed_all(std::span(ids).subspan(20, 50),
             [&](u32, std::span<const float> row) { want.insert(want.end(), row.begin(), row.end()); });
  CHECK(same_bits(rows, want));
}

TEST_CASE("engine: conversations that are fed together have the bits that each has alone") {
  const auto e = opened();
  const auto a = e->open(), b = e->open();
  auto s = byte_model::shared<BF16>().session();
  const std::vector<u32> ids = random_model::ids(100, 259);
  const turn turns[]{{a.get(), std::span(ids).first(70)}, {b.get(), std::span(ids).first(2)}};
  e->feed_together(turns);
  s.feed(std::span(ids).first(2));
  CHECK(same_bits(b->logits(), s.logits()));
  s.feed(std::span(ids).subspan(2, 68));
  CHECK(same_bits(a->logits(), s.logits()));
  CHECK(std::ranges::equal(a->history(), s.history()));

  const auto c = e->open();
  CHECK(c->recall(ids) == 0);  // less than a block of 128
  const auto foreign = model_adapter<Model<byte_model::tiny, F32>>(byte_model::shared<F32>()).open();
  const turn wrong[]{{a.get(), std::span(ids).first(1)}, {foreign.get(), std::span(ids).first(1)}};
  CHECK(random_model::failure_of([&] { e->feed_together(wrong); }).code == errc::usage);
  CHECK(a->position() == 70);
  CHECK(b->position() == 2);
}

TEST_CASE("embed: a text has the same embedding alone and among others, and it is that of its hidden states") {
  const text_model& m = byte_model::shared<BF16>();
  const std::vector<u32> all = random_model::ids(190, 259);
  std::vector<std::vector<u32>> texts;
  for (u32 n = 1; n <= 40; ++n) texts.emplace_back(all.begin() + n, all.begin() + n + (n % 7 == 0 ? 140 : n));
  for (const pooling how : {pooling::last, pooling::mean, pooling::cls}) {
    const auto many = embed(m, texts, {.pooling = how});
    REQUIRE(many.size() == texts.size());
    for (const u32 i : {0u, 6u, 13u, 39u})
      CHECK(same_bits(many[i], embed(m, std::span(texts).subspan(i, 1), {.pooling = how})[0]));
  }
  const auto e = opened();
  const auto c = e->open();
  std::vector<float> rows;
  const turn one[]{{c.get(),
                    texts[4],
                    {[](void* to, u32, const float* row) {
                       static_cast<std::vector<float>*>(to)->insert(static_cast<std::vector<float>*>(to)->end(), row,
                                                                    row + 96);
                     },
                     &rows}}};
  REQUIRE(e->dim() == 96);
  e->feed_together(one);
  REQUIRE(rows.size() == 5 * 96);
  CHECK(same_bits(embed(*e, std::span(texts).subspan(4, 1), {.normalised = false})[0], std::span(rows).last(96)));
  CHECK(embed(m, "ab") == embed(*e, std::vector<std::vector<u32>>{{'a', 'b'}})[0]);
  CHECK(random_model::failure_of([&] { embed(m, std::vector<std::vector<u32>>{{1}, {}}); }).text ==
        "text 1: expected at least one token, found none");
}

TEST_CASE("engine: errors come through as they are") {
  const auto talk = opened()->open();
  talk->feed(1);
  CHECK(random_model::failure_of([&] { talk->feed(std::vector<u32>(192, 1)); }).code == errc::context_overflow);
  CHECK(random_model::failure_of([&] { talk->feed(259); }).code == errc::token_range);
  CHECK_THROWS_AS(talk->feed_all(std::vector<u32>(5, 1), [](u32, std::span<const float>) { throw 5; }), int);
  CHECK(talk->position() == 1);
}
