// SPDX-License-Identifier: MIT
// sight.cpp: the model in assets/sight reads pictures: the command's answers are transformers', and the right words.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.hpp"

namespace sight_test {

using namespace command;
using nlohmann::json;

namespace {

const std::string model = CKE_ASSETS "/sight";
std::string picture(const std::string& name) { return model + "/pictures/" + name; }
const json& cases() {
  static const json all = json::parse(content(CKE_TEST_DATA "/sight/reference.json"));
  return all;
}
// cke run with a case's pictures.
result run(const json& of, std::vector<std::string> words) {
  words.insert(words.begin(), {"run", model, "--format", "f32", "--temp", "0"});
  for (const json& name : of["images"]) words.insert(words.end(), {"--image", picture(name)});
  return command::run_cke(std::move(words));
}

}  // namespace

TEST_CASE("sight: pictures that people look at get their own names") {
  const std::pair<const char*, const char*> known[] = {
      {"red-circle.png", "This is a red circle.\n"},
      {"blue-star.jpg", "This is a blue star.\n"},  // 640 x 480, and far from the middle
      {"yellow-heart.png", "This is a yellow heart.\n"},
      {"green-triangle-purple-ring.png", "This is a green triangle and a purple ring.\n"},
  };
  for (const auto& [name, words] : known) {
    CAPTURE(name);
    const result said = run({{"images", {name}}}, {"-p", "What is this?"});
    CHECK_SUCCESS(said);
    CHECK(said.out == words);
  }
}

TEST_CASE("sight: ids of prompts and greedy answers as transformers makes them, with and without pictures") {
  const scratch dir;
  for (const json& of : cases()) {
    CAPTURE(of["prompt"]);
    if (of.contains("messages")) {
      json messages = of["messages"];
      for (json& message : messages)
        for (json& part : message["content"])
          if (part["type"] == "image") part["image"] = picture(part["image"]);
      write(dir / "messages.json", messages.dump());
      const result ids = command::run_cke({"template", model, "--messages", dir / "messages.json", "--ids"});
      CHECK_SUCCESS(ids);
      CHECK(json::parse(ids.out) == of["ids"]);
    }
    std::string ids = of["ids"].dump();
    std::erase_if(ids, [](char c) { return c == '[' || c == ']'; });
    const result answer = run(of, {"--tokens", ids, "--ids", "-n", std::to_string(of["greedy"].size())});
    CHECK_SUCCESS(answer);
    CHECK(json::parse(answer.out) == of["greedy"]);
  }
}

TEST_CASE("sight: a question in the chat form, and a second one about the same picture") {
  for (const json& of : cases()) {
    if (!of.contains("question")) continue;
    const std::string asked = of["question"], words = of["answer"].get<std::string>() + "\n";
    CAPTURE(asked);
    CHECK(run(of, {"-p", asked, "--no-think"}).out == words);
  }
  const result said =
      command::run_cke({"chat", model, "--format", "f32", "--temp", "0"},
                       {.input = "/image " + picture("red-circle.png") + "\nWhat is this?\nWhat colour is it?\n"});
  CHECK_SUCCESS(said);
  CHECK(said.out == "This is a red circle.\nIt is red.\n");
}

TEST_CASE("sight: the model is small enough to live in the repository") {
  std::uintmax_t bytes = 0;
  for (const auto& file : fs::directory_iterator(model))
    if (file.is_regular_file()) bytes += file.file_size();
  CHECK(bytes <= 3'000'000);
  for (const auto& file : fs::directory_iterator(model + "/pictures")) CHECK(file.file_size() <= 10'000);
}

}  // namespace sight_test
