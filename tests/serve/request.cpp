// SPDX-License-Identifier: MIT
// request.cpp: checked bodies as orders: the names that OpenAI, vLLM and llama.cpp have for settings of the sampler.
#include <cke/serve/request.hpp>

#include <doctest/doctest.h>

#include "fake_model.hpp"

using namespace cke;
using namespace cke::serve;

namespace {

sampling sampling_of(const std::string& fields) {
  static const text::tokenizer tokens = fake::bytes();
  const served_model model{.id = "m",
                           .tokens = tokens,
                           .form = nullptr,
                           .stop_ids = {},
                           .chat_stops = {},
                           .vocab_size = fake::vocab,
                           .context = 64};
  const json body = json::parse(R"({"prompt": "x")" + (fields.empty() ? "" : ", " + fields) + "}");
  check(body, fields::completion);
  return completion_request(body, model).how.sample;
}

}  // namespace

TEST_CASE("request: every setting of the sampler, and its default") {
  const sampling none = sampling_of("");
  CHECK(none.temperature == 1);
  CHECK(none.typical_p == 1);
  CHECK(none.repetition_penalty == 1);
  CHECK(none.repeat_last_n == ~0u);
  const sampling all = sampling_of(
      R"("temperature": 0.5, "top_k": 7, "top_p": 0.25, "min_p": 0.125, "typical_p": 0.75, "frequency_penalty": -1.5,
         "presence_penalty": 2, "repeat_penalty": 1.25, "repeat_last_n": 9, "seed": 3, "logit_bias": {"5": -100})");
  CHECK(all.temperature == 0.5f);
  CHECK(all.top_k == 7);
  CHECK(all.top_p == 0.25f);
  CHECK(all.min_p == 0.125f);
  CHECK(all.typical_p == 0.75f);
  CHECK(all.frequency_penalty == -1.5f);
  CHECK(all.presence_penalty == 2);
  CHECK(all.repetition_penalty == 1.25f);
  CHECK(all.repeat_last_n == 9);
  CHECK(all.seed == 3);
  REQUIRE(all.logit_bias.size() == 1);
  CHECK(all.logit_bias[0].bias == -100);
  all.validate();
  sampling_of(R"("typical_p": 1e-6)").validate();
}

TEST_CASE("request: repeat_penalty is another name of repetition_penalty") {
  CHECK(sampling_of(R"("repetition_penalty": 1.5)").repetition_penalty == 1.5f);
  CHECK(sampling_of(R"("repeat_penalty": 1.5)").repetition_penalty == 1.5f);
  CHECK(sampling_of(R"("repeat_penalty": 1.5, "repetition_penalty": 1.5)").repetition_penalty == 1.5f);
  CHECK(sampling_of(R"("repeat_penalty": null, "repetition_penalty": 1.5)").repetition_penalty == 1.5f);
  try {
    sampling_of(R"("repeat_penalty": 1.5, "repetition_penalty": 1.25)");
    FAIL("taken");
  } catch (const api_error& e) {
    CHECK(e.param == "repeat_penalty");
    CHECK(std::string(e.what()) == "repeat_penalty: expected the same as repetition_penalty, or nothing");
  }
}
