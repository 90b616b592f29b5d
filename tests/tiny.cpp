// SPDX-License-Identifier: MIT
// tiny.cpp: the model in assets/tiny, as a type, against what transformers makes of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cke/from_config.hpp>
#include <cke/hf.hpp>
#include <cke/model.hpp>
#include <cke/qwen3.hpp>
#include <cke/text/chat/chat_contracts.hpp>
#include <cke/text/chat/chat_encoder.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "family_status.hpp"

namespace tiny_test {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::runtime;
using namespace cke::text;

namespace {

constexpr char tiny_config[] =
    R"({"model_type": "qwen3", "vocab_size": 1536, "hidden_size": 128, "num_hidden_layers": 5,
  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 384, "hidden_act": "silu",
  "rms_norm_eps": 1e-06, "rope_theta": 10000.0, "max_position_embeddings": 2048, "tie_word_embeddings": true})";
using tiny = from_config<tiny_config>;

constexpr u32 context = 512;

using family_status::column, family_status::establishes;
std::string tiny_family() { return family_status::family_in(CKE_ASSETS "/tiny/config.json"); }

nlohmann::json read_reference() {
  std::ifstream in(CKE_TEST_DATA "/tiny/reference.json");
  REQUIRE(in.good());
  return nlohmann::json::parse(in);
}
const nlohmann::json& reference() {
  static const nlohmann::json prompts = read_reference();
  return prompts;
}
template <class Formats> const Model<tiny, Formats>& loaded_tiny() {
  static const auto model = Model<tiny, Formats>::load(hf(CKE_ASSETS "/tiny"), {.context = context});
  return model;
}

std::vector<chat_message> messages_of(const nlohmann::json& prompt) {
  std::vector<chat_message> messages;
  for (const auto& m : prompt["messages"]) messages.push_back({m["role"], m["content"]});
  return messages;
}

}  // namespace

TEST_CASE("tiny: text to ids as the tokenizers package does it") {
  const tokenizer& tokens = loaded_tiny<F32>().tokens();
  for (const auto& prompt : reference()) {
    CAPTURE(prompt["prompt"]);
    const auto ids = prompt["ids"].get<std::vector<u32>>();
    CHECK(tokens.encode(prompt["prompt"].get<std::string>(), {.parse_special = true}) == ids);
  }
  establishes(tiny_family(), {column::tokenizer});
}

TEST_CASE("tiny: its chat form, thinking on and off, is what its own template renders") {
  const tokenizer& tokens = loaded_tiny<F32>().tokens();
  const chat_encoder encoder(tokens, contracts::qwen3);
  for (const auto& prompt : reference()) {
    if (!prompt.contains("messages")) continue;
    const auto segments =
        render(contracts::qwen3, messages_of(prompt), {.enable_thinking = prompt["enable_thinking"].get<bool>()});
    CHECK(to_string(segments) == prompt["prompt"].get<std::string>());
    CHECK(encoder.encode(segments) == prompt["ids"].get<std::vector<u32>>());
  }
  establishes(tiny_family(), {column::template_});
}

TEST_CASE("tiny: logits in f32 are those of transformers") {
  for (const auto& prompt : reference()) {
    CAPTURE(prompt["prompt"]);
    auto session = loaded_tiny<F32>().session();
    session.feed(prompt["ids"].get<std::vector<u32>>());
    const auto ids = prompt["top5"]["ids"].get<std::vector<u32>>();
    const auto logits = prompt["top5"]["logits"].get<std::vector<double>>();
    for (std::size_t i = 0; i < ids.size(); ++i)
      CHECK(std::abs(static_cast<double>(session.logits()[ids[i]]) - logits[i]) <= 1e-4);
    const auto largest = std::ranges::max_element(session.logits()) - session.logits().begin();
    CHECK(std::abs(static_cast<double>(session.logits()[static_cast<std::size_t>(largest)]) - logits[0]) <= 1e-4);
  }
  establishes(tiny_family(), {column::load_hf, column::logits});
}

TEST_CASE("tiny: greedy answers in f32 are those of transformers") {
  for (const auto& prompt : reference()) {
    CAPTURE(prompt["prompt"]);
    const auto want = prompt["greedy"].get<std::vector<u32>>();
    auto session = loaded_tiny<F32>().session();
    auto answer = session.generate(prompt["ids"].get<std::vector<u32>>(),
                                   {.max_tokens = static_cast<u32>(want.size()), .ignore_stop_ids = true});
    for ([[maybe_unused]] const std::string_view piece : answer) {}
    CHECK(std::vector<u32>(answer.ids().begin(), answer.ids().end()) == want);
  }
  establishes(tiny_family(), {column::generation});
}

TEST_CASE("tiny: answers from its own words, in bf16 as it is stored") {
  const auto& model = loaded_tiny<BF16>();
  const chat_encoder encoder(model.tokens(), contracts::qwen3);
  const auto ask = [&](std::string question, bool thinking) {
    const std::vector<chat_message> messages{{"user", std::move(question)}};
    auto session = model.session();
    std::string text;
    for (const std::string_view piece :
         session.generate(encoder.encode(render(contracts::qwen3, messages, {.enable_thinking = thinking}))))
      text += piece;
    return text;
  };
  const std::string facts = "Tom has a green hat. Anna has a yellow cup. ";
  CHECK(ask(facts + "What colour is the hat?", false) == "The hat is green.");
  CHECK(ask(facts + "Who has the cup?", false) == "Anna has the cup.");
  CHECK(ask(facts + "Who has the cup?", true) ==
        "<think>\nThe text says: \"Anna has a yellow cup.\"\n</think>\n\nAnna has the cup.");
  CHECK(ask("Who are you?", false) == "I am Tiny, a small language model. I can tell stories and answer questions.");
}

}  // namespace tiny_test
