// SPDX-License-Identifier: MIT
// beam.cpp: beam search finds what transformers' finds.
#include "cke/beam.hpp"

#include <doctest/doctest.h>

#include <cke/from_config.hpp>
#include <cke/hf.hpp>
#include <cke/models/qwen3.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "byte_model.hpp"
#include "parity/configs.hpp"

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;

namespace {

using tied = Model<from_config<configs::qwen3_tied>, F32>;
const tied& small() {
  static const tied m =
      tied::load(hf(CKE_TEST_DATA "/models/qwen3_tied"), {.threads = 2, .context = 64, .chunk = 17, .logit_rows = 4});
  return m;
}
beam_options options_of(const nlohmann::json& c) {
  const auto& early = c["early_stopping"];
  return {.beams = c["beams"],
          .answers = c["answers"],
          .max_tokens = c["max_tokens"],
          .length_penalty = c["length_penalty"],
          .end = early == "never" ? beam_end::hopeless
              : early == true     ? beam_end::enough
                                  : beam_end::unlikely,
          .stop_ids = c["stop_ids"]};
}

}  // namespace

TEST_CASE("beam search: ids and scores are those of transformers' generate(num_beams=...)") {
  std::ifstream file(CKE_TEST_DATA "/beams/beams.json");
  const auto cases = nlohmann::json::parse(file);
  REQUIRE(cases.size() >= 50);
  for (const auto& c : cases) {
    CAPTURE(c.dump());
    const auto found = beam_search(small(), c["prompt"].get<std::vector<u32>>(), options_of(c));
    REQUIRE(found.size() == c["found"].size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::vector<u32> stops = c["stop_ids"];
      CHECK(found[i].ids == c["found"][i].get<std::vector<u32>>());
      CHECK(found[i].score == doctest::Approx(c["scores"][i].get<double>()).epsilon(1e-4));
      CHECK(found[i].stopped == (std::ranges::find(stops, found[i].ids.back()) != stops.end()));
    }
  }
}

TEST_CASE(
    "beam search: one beam is the greedy answer, up to the end of the context; where it started stays as it was") {
  const std::vector<u32> prompt{5, 9, 200, 17};
  auto s = small().session();
  auto greedy = s.generate(prompt, {.max_tokens = 61, .ignore_stop_ids = true});
  for ([[maybe_unused]] const std::string_view piece : greedy) {}
  model_adapter<tied> e(small());
  const auto start = e.open();
  start->feed(prompt);
  const std::vector<float> before(start->logits().begin(), start->logits().end());
  const auto found = beam_search(e, *start, {.beams = 1, .max_tokens = 61});
  REQUIRE(found.size() == 1);
  CHECK(std::ranges::equal(found[0].ids, greedy.ids()));
  CHECK_FALSE(found[0].stopped);
  CHECK(start->position() == 4);
  CHECK(std::ranges::equal(before, start->logits()));

  const auto refused = [&](const beam_options& o) {
    return random_model::failure_of([&] { beam_search(e, *start, o); }).text;
  };
  CHECK(refused({.beams = 0}) == "beams: expected 1 to 256, found 0");
  CHECK(refused({.beams = ~0u}) == "beams: expected 1 to 256, found 4294967295");  // before there is room for them
  CHECK(refused({.beams = 3, .answers = 4}) == "answers: expected 1 to 3, found 4");
  CHECK(refused({.max_tokens = 62}) == "max_tokens: expected 1 to 61, found 62");
}
