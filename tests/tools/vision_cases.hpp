// SPDX-License-Identifier: MIT
// vision_cases.hpp: the fixtures of tests/data/vision through the command.
#pragma once

#include <cke/io/safetensors.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "npy.hpp"

namespace vision_cases {

using namespace command;
using nlohmann::json;

inline std::string folder_of(const char* name) { return CKE_TEST_DATA "/vision/" + std::string(name); }
inline std::string picture(const char* name) { return CKE_TEST_DATA "/vision/images/" + std::string(name); }
inline json cases_of(const char* name) { return json::parse(content(folder_of(name) + "/cases.json")); }
inline std::string listed(const json& ids) {
  std::string out;
  for (const json& id : ids) out += (out.empty() ? "" : ",") + id.dump();
  return out;
}
inline std::vector<float> expected(const char* name, const std::string& tensor) {
  const auto all = cke::io::read_safetensors(folder_of(name) + "/expected.safetensors");
  const auto* const t = all.find(tensor);
  REQUIRE(t);
  std::vector<float> values(t->bytes.size() / sizeof(float));
  std::memcpy(values.data(), t->bytes.data(), t->bytes.size());
  return values;
}
inline float furthest(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// A prompt of cases.json through the command: transformers' ids, logits and greedy ids. `clip`: the frames of its
// video.
inline void check_prompt(const char* name, const json& of, const fs::path& clip = {}) {
  CAPTURE(name);
  CAPTURE(of["name"]);
  const scratch dir;
  const std::string model = folder_of(name);
  json messages = of["messages"];
  std::vector<std::string> prompt{"--format", "f32", "--tokens", listed(of["ids"])};
  for (json& message : messages)
    for (json& part : message["content"]) {
      if (part["type"] == "image") {
        part["image"] = picture(part["image"].get<std::string>().c_str());
        prompt.insert(prompt.end(), {"--image", part["image"]});
      } else if (part["type"] == "video") {
        part["video"] = clip.string();
        prompt.insert(prompt.end(), {"--video", clip.string(), "--fps", part["fps"].dump()});
      }
    }
  const auto with = [&](std::vector<std::string> words, std::vector<std::string> more) {
    words.insert(words.end(), prompt.begin(), prompt.end());
    words.insert(words.end(), more.begin(), more.end());
    return command::run_cke(words);
  };

  write(dir / "messages.json", messages.dump());
  const result ids = command::run_cke({"template", model, "--messages", dir / "messages.json", "--ids"});
  REQUIRE_MESSAGE(ids.status == 0, ids.err);
  CHECK(json::parse(ids.out) == of["ids"]);
  const result logits = with({"logits", model}, {"-o", dir / "logits.npy"});
  REQUIRE_MESSAGE(logits.status == 0, logits.err);
  CHECK(furthest(npy(dir / "logits.npy").values, expected(name, "logits." + of["name"].get<std::string>())) < 2e-3f);
  const result answer = with({"run", model}, {"--ids", "-n", "16", "--temp", "0"});
  REQUIRE_MESSAGE(answer.status == 0, answer.err);
  CHECK(json::parse(answer.out) == of["greedy"]);
}

}  // namespace vision_cases
