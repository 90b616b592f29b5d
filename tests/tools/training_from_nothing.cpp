// SPDX-License-Identifier: MIT
// training_from_nothing.cpp: cke train --config, data as ids, what is held out, and the memory that training takes.
#include <cke/io/safetensors.hpp>
#include <cmath>

#include "training.hpp"

using namespace command;

namespace {

std::vector<std::string> words_of(const fs::path& config, const fs::path& data, const fs::path& to,
                                  std::vector<std::string> more = {}) {
  std::vector<std::string> words{"train", "--config", config, "--data", data, "--lr", "5e-3", "-c", "32", "-o", to};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("train --config: a model from nothing, which the other commands take, the same bits for a seed") {
  const scratch dir;
  write(dir / "a.jsonl", R"({"ids": [5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8]}
{"ids": [9, 10, 5, 6, 7, 8, 11], "labels": [-100, -100, -100, 6, 7, 8, 11]}
)");
  write(dir / "unseen.jsonl", R"({"ids": [7, 8, 5, 6, 7, 8, 5, 6]})");
  const auto run = [&](const char* name, std::vector<std::string> more) {
    more.insert(more.end(), {"--log", dir / (std::string(name) + ".log")});
    const result r = command::run_cke(words_of(tiny + "/config.json", dir / "a.jsonl", dir / name, more));
    CHECK_SUCCESS(r);
    return r.out;
  };
  const std::string said =
      run("one", {"--steps", "60", "--held-out", dir / "unseen.jsonl", "--evaluate-every", "20", "--seed", "3"});
  run("two", {"--steps", "60", "--held-out", dir / "unseen.jsonl", "--evaluate-every", "20", "--seed", "3", "-t", "1"});
  run("other", {"--steps", "60", "--seed", "4"});
  CHECK(content(dir / "one" / "model.safetensors") == content(dir / "two" / "model.safetensors"));
  CHECK(content(dir / "one.log") == content(dir / "two.log"));
  CHECK(content(dir / "one" / "model.safetensors") != content(dir / "other" / "model.safetensors"));

  const std::vector<json> log = lines_of(dir / "one.log");
  REQUIRE(log.size() == 60);
  CHECK(std::abs(log[0]["loss"].get<double>() - std::log(1536)) < 0.5);  // a guess among all ids
  CHECK(log[59]["loss"].get<double>() < 0.5);
  for (std::size_t i = 0; i < log.size(); ++i) CHECK(log[i].contains("held_out_loss") == ((i + 1) % 20 == 0));
  CHECK(log[59]["held_out_loss"].get<double>() < log[19]["held_out_loss"].get<double>());
  CHECK(said.find("held-out loss ") != said.npos);

  // The tensors of the checkpoint that the config is of.
  const cke::io::tensor_index made = cke::io::read_safetensors(dir / "one" / "model.safetensors"),
                              known = cke::io::read_safetensors(tiny + "/model.safetensors");
  REQUIRE(made.tensors().size() == known.tensors().size());
  for (const auto& t : known.tensors()) {
    REQUIRE_MESSAGE(made.find(t.name), t.name);
    CHECK(made.find(t.name)->shape == t.shape);
  }
  const result answer = command::run_cke(
      {"run", dir / "one", "--tokens", "5,6,7,8,5", "-n", "3", "--ids", "--temp", "0", "--format", "f32"});
  CHECK_SUCCESS(answer);
  CHECK(json::parse(answer.out) == json::array({6, 7, 8}));
  const result on = command::run_cke(
      {"train", dir / "one", "--resume", "--data", dir / "a.jsonl", "-c", "32", "--steps", "61", "-o", dir / "on"});
  CHECK_SUCCESS(on);
}

TEST_CASE("train --config: what is refused") {
  const scratch dir;
  write(dir / "a.jsonl", R"({"ids": [5, 6, 7]})");
  const auto data_refused = [&](std::string_view line, std::string_view text) {
    write(dir / "bad.jsonl", line);
    check_refused(words_of(tiny, dir / "bad.jsonl", dir / "x", {"--steps", "1"}), text);
  };
  data_refused(R"({"ids": 3})", "bad.jsonl:1: ids: expected a list of ids, found int");
  data_refused(R"({"ids": [1, -1]})", "ids[1]: expected an id, found -1");
  data_refused(R"({"ids": [1, 2.5]})", "ids[1]: expected an id");
  data_refused(R"({"ids": [1, 2], "labels": [1]})", "labels: expected 2, as many as ids, found 1");
  data_refused(R"({"ids": [1, 2], "labels": [-100, 3]})", "labels[1]: expected 2, which the id is, or -100, found 3");
  data_refused("{\"ids\": [1, 2]}\n{\"ids\": [1, 1536]}", "bad.jsonl:2: ids: expected below 1536, found 1536");

  const auto refused = [&](const fs::path& config, std::string_view text, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--steps", "1"});
    check_refused(words_of(config, dir / "a.jsonl", dir / "x", more), text);
  };
  refused(dir / "none", "--config: expected a directory with a config.json, or that file");
  refused(dir / "a.jsonl", "--config: expected a directory with a config.json, or that file");
  refused(dir / "", "config.json: expected a file, found none");
  refused(tiny, "--lora-rank", {"--lora-rank", "2"});
  refused(tiny, "--resume", {"--resume"});
  check_refused({"train", "--data", dir / "a.jsonl", "--steps", "1", "-o", dir / "x"}, "MODEL, --config");

  fs::create_directory(dir / "shape");
  json config = json::parse(content(tiny + "/config.json"));
  const auto with = [&](const char* key, const json& value) {
    json changed = config;
    changed[key] = value;
    write(dir / "shape" / "config.json", changed.dump());
    return dir / "shape";
  };
  refused(with("initializer_range", -1), "initializer_range: expected more than 0, at most 1, found -1");
  refused(with("hidden_size", 0), "hidden_size");
  refused(with("model_type", "none_such"), "none_such");
  refused(with("vision_config", json::object()), "key vision_config");
  CHECK_FALSE(fs::exists(dir / "x"));
}

TEST_CASE("inspect --plan --train: the memory that training all weights takes") {
  const result r = command::run_cke({"inspect", tiny, "--plan", "--train", "--json"});
  CHECK_SUCCESS(r);
  const json plan = json::parse(r.out);
  const json& t = plan["training"];
  CHECK(t["weights"] == 4 * plan["parameters"].get<std::uint64_t>());
  CHECK(t["gradients"] == t["weights"].get<std::uint64_t>() + 4 * 1536 * 128);  // a tied embedding has two
  CHECK(t["moments"] == 2 * t["weights"].get<std::uint64_t>());
  CHECK(t["kept"]["values"].get<double>() > 2 * t["recomputed"]["values"].get<double>());
  CHECK(t["kept"]["value_gradients"] == t["recomputed"]["value_gradients"]);
  const result text = command::run_cke({"inspect", tiny, "--plan", "--train"});
  CHECK(text.out.find("training of all weights, in f32, a pass of 512 ids") != text.out.npos);
  CHECK(command::run_cke({"inspect", tiny, "--train"}).status != 0);
}
