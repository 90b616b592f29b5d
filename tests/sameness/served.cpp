// SPDX-License-Identifier: MIT
// served.cpp: prompts of a model with windows that begin alike, in one slot of a server: what was evicted is fed again.
#include <cke/model_adapter.hpp>
#include <cke/serve/scheduler.hpp>

#include <doctest/doctest.h>

#include "../byte_model.hpp"
#include "../runtime/mixed_model.hpp"

namespace served {

using namespace cke;
using namespace cke::graph;
using namespace cke::serve;
using namespace cke::text;

namespace {

using machine = Model<random_model::mixed, Q8_0>;

struct outcome {
  std::vector<std::pair<u32, float>> tokens{};  // ids with their log-probabilities
  u32 cached = 0;
};

outcome run(scheduler& work, const std::vector<u32>& prompt) {
  order o;
  o.prompt = prompt, o.max_tokens = 10, o.sample.temperature = 0, o.logprobs = true;
  const auto asked = std::make_shared<job>(std::move(o), std::size_t{1} << 20, [] {});
  REQUIRE(work.submit({{asked}}));
  while (!work.idle()) std::this_thread::yield();
  const delivery all = asked->box.take();
  CHECK(all.end == ending::length);
  outcome out;
  out.cached = all.counts.cached;
  for (const piece& p : all.pieces)
    for (const token_report& t : p.tokens) out.tokens.emplace_back(t.id, t.logprob);
  return out;
}

// As `ids` at first, and then another text.
std::vector<u32> parting(std::vector<u32> ids, u32 same, u32 size) {
  ids.resize(size);
  for (u32 i = same; i < size; ++i) ids[i] = (ids[i] + 1) % machine::vocab_size;
  return ids;
}

}  // namespace

TEST_CASE("sameness: served: of windows that were evicted nothing is cached, of those that are held each token is") {
  const auto weights = random_model::tensors::of<machine::program>();
  const tokenizer tokens(byte_model::bytes());
  const std::vector<u32> first = random_model::ids(800, machine::vocab_size), far = parting(first, 200, 500),
                         near = parting(far, 495, 497);
  for (const bool share : {true, false}) {
    CAPTURE(share);
    model_adapter<machine> model(machine::load(weights.checkpoint(), {.threads = 2, .context = 1000, .chunk = 32}));
    metrics count, of_cold;
    scheduler work(model, tokens, {.slots = 1, .chunk = 32, .share = share}, count);
    run(work, first);
    for (const auto& [prompt, cached] : {std::pair{&far, 0u}, {&near, 495u}}) {
      const u64 before = count.prompt_tokens;
      const outcome found = run(work, *prompt);
      CHECK(found.cached == cached);
      CHECK(count.prompt_tokens - before == prompt->size() - cached);
      scheduler cold(model, tokens, {.slots = 1, .share = false}, of_cold);
      const outcome want = run(cold, *prompt);
      CHECK(want.cached == 0);
      CHECK(found.tokens.size() == 10);
      CHECK(found.tokens == want.tokens);
    }
  }
}

}  // namespace served
