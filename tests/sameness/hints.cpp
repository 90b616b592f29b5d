// SPDX-License-Identifier: MIT
// hints.cpp: hints change no bit: the product of all knobs, on a prompt of two blocks of keys and the tokens after it.
#include "cke/hints.hpp"

#include "sameness.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::runtime;

namespace hinted {
namespace {

using model = sameness::machine<Q8_0, dtype::bf16, isa::native>;
constexpr u32 prompt = 280, generated = 20;

// The logits after the prompt and after each id that follows.
std::vector<float> logits_with(const hints& how, u32 threads) {
  static const auto tensors = random_model::tensors::of<model::program>();
  const model_options o{.threads = threads, .context = prompt + generated, .hints = how};
  const auto m = std::make_shared<model::loaded>(tensors.index(), "random", naming::hf, names_of<sameness::mixed>(), o);
  CHECK(m->executor->limits().chunk == std::min(how.chunk.value_or(512), prompt + generated));
  std::vector<float> out;
  model::sequence s(m);
  const auto feed = [&](std::span<const u32> ids) {
    s.feed(ids);
    out.insert(out.end(), s.logits().begin(), s.logits().end());
  };
  feed(std::span(model::ids()).first(prompt));
  for (u32 i = 0; i < generated; ++i) feed(std::span(model::ids()).subspan(prompt + i, 1));
  return out;
}

// Two values of each knob, one of them far from the default.
constexpr u32 other_values[knobs.size()][2]{{0, 2}, {0, 1}, {512, 37}, {1, 3}, {2000, 1}, {1, 0}, {1, 0}, {0, 1}};

}  // namespace
}  // namespace hinted

TEST_CASE("hints: every combination of the knobs gives the bits of one thread and no hints") {
  using namespace hinted;
  const std::vector<float> want = logits_with({}, 1);
  REQUIRE(want.size() == u64{generated + 1} * model::vocab);
  REQUIRE(std::ranges::all_of(want, [](float x) { return std::isfinite(x); }));
  for (u32 all = 0; all < 1u << knobs.size(); ++all) {
    hints how;
    std::string said;
    for (u32 k = 0; k < knobs.size(); ++k) {
      const u32 value = other_values[k][all >> k & 1];
      knobs[k].write(how, value);
      said += concat({knobs[k].name, "=", knobs[k].text(value), " "});
    }
    CAPTURE(said);
    REQUIRE(random_model::same_bits(want, logits_with(how, 3)));
  }
}

TEST_CASE("hints: those of layers change no bit either") {
  using namespace hinted;
  const std::vector<float> want = logits_with({}, 1);
  hints how{.units_per_claim = 2};
  how.layers.push({0, 0, 7, attention_sharing::streaming});
  how.layers.push({1, model::program::layers - 1, {}, attention_sharing::tiled});
  CHECK(random_model::same_bits(want, logits_with(how, 3)));
  hints beyond;
  beyond.layers.push({1, model::program::layers, 1, {}});
  try {
    logits_with(beyond, 1);
    FAIL("layers that the model does not have");
  } catch (const Error& e) {
    CHECK(e.subject == concat({"hints.layers 1-", model::program::layers}));
    CHECK(e.expected == concat({"1 to ", model::program::layers - 1}));
  }
}

TEST_CASE("hints: they end with the model that had them") {
  using namespace hinted;
  const hints slow{.prefill_threads = 1, .decode_threads = 1, .chunk = 5, .units_per_claim = 9};
  const std::vector<float> want = logits_with(slow, 2);
  CHECK(random_model::same_bits(want, logits_with({}, 2)));  // logits_with checks the chunk of each
}
