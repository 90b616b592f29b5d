// SPDX-License-Identifier: MIT
// training.cpp: cke grad and cke train as their user meets them, against what PyTorch made of the same batches.
#include <cke/io/safetensors.hpp>
#include <cmath>

#include "training.hpp"

namespace training_test {

using namespace command;

namespace {

const std::string qwen2 = CKE_TEST_DATA "/families/qwen2";
const json expected = json::parse(content(CKE_TEST_DATA "/training/qwen2.json"));

fs::path batch_file(const scratch& dir, const json& batch, std::string_view name = "batch.json") {
  write(dir / name, batch.dump());
  return dir / name;
}
const json one_batch{{"ids", expected["ids"]}, {"labels", expected["labels"]}};

// The batches whose steps tests/data/training/make.py took.
json batches(unsigned count) {
  json all = json::array();
  for (unsigned b = 0; b < count; ++b) {
    json batch = one_batch;
    for (std::size_t i = 0; i < batch["ids"].size(); ++i)
      for (std::size_t t = 0; t < batch["ids"][i].size(); ++t) {
        const unsigned id = (batch["ids"][i][t].get<unsigned>() * 7 + b * 13 + 5) % 288;
        batch["ids"][i][t] = id;
        if (batch["labels"][i][t] != -100) batch["labels"][i][t] = id;
      }
    all.push_back(batch);
  }
  return {{"batches", all}};
}
// With the flags of the recorded steps.
std::vector<std::string> train_words(const fs::path& file, const fs::path& to, std::vector<std::string> more = {}) {
  std::vector<std::string> words{
      "train",      qwen2,    "--batches",    file,  "--lr",    "1e-3", "--min-lr", "1e-4", "--warmup",       "3",
      "--schedule", "cosine", "--beta1",      "0.9", "--beta2", "0.95", "--eps",    "1e-8", "--weight-decay", "0.1",
      "--clip",     "1.0",    "--accumulate", "2",   "-o",      to};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("grad: loss, norm, and every tensor by its name and shape, the same bits however it is computed") {
  const scratch dir;
  const fs::path batch = batch_file(dir, one_batch);
  const result r = command::run_cke({"grad", qwen2, "--batch", batch, "-o", dir / "g.safetensors"});
  CHECK_SUCCESS(r);
  const json said = json::parse(r.out);
  CHECK(std::abs(said["loss"].get<double>() - expected["loss"].get<double>()) <= 1e-5);
  CHECK(said["tokens"] == 17);
  CHECK(std::abs(said["grad_norm"].get<double>() / expected["grad_norm"].get<double>() - 1) <= 1e-4);
  const cke::io::tensor_index found = cke::io::read_safetensors(dir / "g.safetensors"),
                              model = cke::io::read_safetensors(qwen2 + "/model.safetensors");
  REQUIRE(found.tensors().size() == model.tensors().size());
  for (const auto& t : model.tensors()) {
    const auto* const g = found.find(t.name);
    REQUIRE_MESSAGE(g, t.name);
    CHECK(g->type == cke::dtype::f32);
    CHECK(g->shape == t.shape);
  }
  const result again =
      command::run_cke({"grad", qwen2, "--batch", batch, "-o", dir / "h.safetensors", "-t", "3", "--rows", "1"});
  CHECK_SUCCESS(again);
  CHECK(content(dir / "h.safetensors") == content(dir / "g.safetensors"));
}

TEST_CASE("train: the losses, norms and rates of torch.optim.AdamW; a run that goes on has the same bits") {
  const scratch dir;
  const fs::path file = batch_file(dir, batches(20));
  const result whole =
      command::run_cke(train_words(file, dir / "whole", {"--steps", "10", "--log", dir / "log", "--save-every", "6"}));
  CHECK_SUCCESS(whole);
  const std::vector<json> log = lines_of(dir / "log");
  REQUIRE(log.size() == 10);
  for (std::size_t i = 0; i < log.size(); ++i)
    for (const char* key : {"step", "loss", "grad_norm", "lr"}) {
      const double want = expected["steps"][i][key];
      CHECK_MESSAGE(std::abs(log[i][key].get<double>() - want) <= 1e-4 * std::abs(want), key << " of step " << i + 1);
    }
  std::vector<std::string> words = train_words(file, dir / "second", {"--steps", "10", "--resume", "-t", "1"});
  words[1] = dir / "whole.step-6";
  const result second = command::run_cke(words);
  CHECK_SUCCESS(second);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "config.json", "training.json"})
    CHECK_MESSAGE(content(dir / "second" / name) == content(dir / "whole" / name), name);
  CHECK_SUCCESS(command::run_cke({"run", dir / "whole", "--tokens", "1,2,3", "-n", "4", "--ids", "--temp", "0"}));
}

TEST_CASE(
    "train --lora-rank: an adapter, the same bits however it is computed and resumed, and what merge makes of it") {
  const scratch dir;
  const fs::path file = batch_file(dir, batches(20));
  const auto run = [&](const char* name, std::vector<std::string> more) {
    const result r = command::run_cke(train_words(file, dir / name, more));
    CHECK_SUCCESS(r);
  };
  run("whole", {"--lora-rank", "2", "--lora-alpha", "4", "--steps", "9", "--log", dir / "log", "--save-every", "4"});
  run("again", {"--lora-rank", "2", "--lora-alpha", "4", "--steps", "9", "-t", "3", "--rows", "1", "--recompute"});
  run("second", {"--lora", dir / "whole.step-4", "--resume", "--steps", "9"});
  for (const char* name :
       {"adapter_model.safetensors", "optimizer.safetensors", "adapter_config.json", "training.json"})
    for (const char* other : {"again", "second"})
      CHECK_MESSAGE(content(dir / other / name) == content(dir / "whole" / name), other << ' ' << name);
  const std::vector<json> log = lines_of(dir / "log");
  REQUIRE(log.size() == 9);
  CHECK(std::abs(log[0]["loss"].get<double>() / expected["steps"][0]["loss"].get<double>() - 1) <= 1e-5);
  CHECK(log[8]["loss"] != log[0]["loss"]);

  const result wide = command::run_cke({"convert", qwen2, "-o", dir / "wide", "--to", "f32"});
  CHECK_SUCCESS(wide);
  const result merged = command::run_cke({"merge", dir / "wide", "--lora", dir / "whole", "-o", dir / "merged"});
  CHECK_SUCCESS(merged);
  // The tenth step's loss, before it moves anything, is that of the merged checkpoint on the same two batches.
  run("next", {"--lora", dir / "whole", "--steps", "10", "--resume", "--log", dir / "next.log"});
  const double added_loss = lines_of(dir / "next.log").back()["loss"];
  const auto loss_of = [&](const fs::path& model) {
    double sum = 0;
    for (const unsigned b : {18u, 19u}) {
      const fs::path batch = batch_file(dir, batches(20)["batches"][b], "one.json");
      const result r = command::run_cke({"grad", model, "--batch", batch, "-o", dir / "g"});
      CHECK_SUCCESS(r);
      fs::remove(dir / "g");
      sum += json::parse(r.out)["loss"].get<double>() / 2;
    }
    return sum;
  };
  CHECK(std::abs(loss_of(dir / "merged") / added_loss - 1) <= 1e-5);
  CHECK(std::abs(loss_of(qwen2) / added_loss - 1) > 1e-4);

  check_refused({"merge", tiny, "--lora", dir / "whole", "-o", dir / "x"}, "down_proj.weight: expected [48, 56] by");
  check_refused({"merge", qwen2, "--lora", qwen2, "-o", dir / "x"}, "adapter_config.json");
  check_refused({"merge", qwen2, "--lora", dir / "whole", "-o", dir / "merged"}, "expected a name that is free");
  check_refused(train_words(file, dir / "x", {"--steps", "1", "--lora-rank", "2", "--lora-targets", "q_proj,x_proj"}),
                "x_proj");
  json config = json::parse(content(dir / "whole" / "adapter_config.json"));
  config["use_dora"] = true;
  write(dir / "whole" / "adapter_config.json", config.dump());
  check_refused({"merge", qwen2, "--lora", dir / "whole", "-o", dir / "x"}, "use_dora");
  CHECK(!fs::exists(dir / "x"));
}

TEST_CASE("train --lora-rank: a quantised file, whose matrices stay in it") {
  const scratch dir;
  write(dir / "a.txt", "Once upon a time there was a small boat on a wide sea, and the boat was happy.");
  for (const std::string type : {"q8_0", "q5_1"}) {
    const result r = command::run_cke({"quantize", tiny, dir / (type + ".gguf"), "--to", type});
    CHECK_SUCCESS(r);
  }
  std::vector<double> losses;
  for (const std::string& model : {std::string(tiny), (dir / "q8_0.gguf").string(), (dir / "q5_1.gguf").string()}) {
    const std::string name = "out" + std::to_string(losses.size());
    const result r = command::run_cke({"train", model, "--data", dir / "a.txt", "--steps", "4", "--lr", "0.01",
                                       "--lora-rank", "4", "-o", dir / name, "--log", dir / (name + ".log")});
    CHECK_SUCCESS(r);
    const std::vector<json> log = lines_of(dir / (name + ".log"));
    REQUIRE(log.size() == 4);
    CHECK(log[3]["loss"].get<double>() < log[0]["loss"].get<double>());
    losses.push_back(log[0]["loss"]);
  }
  CHECK(std::abs(losses[1] / losses[0] - 1) <= 0.01);
  CHECK(std::abs(losses[2] / losses[0] - 1) <= 0.1);
  check_refused({"train", dir / "q8_0.gguf", "--data", dir / "a.txt", "--steps", "1", "-o", dir / "x"}, "--lora-rank");
}

TEST_CASE("train: texts and chats; of chats the answers are learned") {
  const scratch dir;
  write(dir / "a.txt", "Once upon a time there was a small boat on a wide sea, and the boat was happy.");
  write(dir / "b.jsonl", R"({"text": "The sea is blue."}
{"messages": [{"role": "user", "content": "What is blue?"}, {"role": "assistant", "content": "The sea."}]}
)");
  const auto run = [&](const char* name, std::vector<std::string> more) {
    std::vector<std::string> words{
        "train",     tiny,         "-o",          dir / name, "--lr",
        "1e-3",      "--schedule", "constant",    "--log",    dir / (std::string(name) + ".log"),
        "--context", "32",         "--sequences", "2"};
    words.insert(words.end(), more.begin(), more.end());
    const result r = command::run_cke(words);
    CHECK_SUCCESS(r);
    return lines_of(dir / (std::string(name) + ".log"));
  };
  const std::vector<json> text = run("text", {"--data", dir / "a.txt", "--data", dir / "b.jsonl", "--steps", "12"});
  CHECK(text.back()["loss"].get<double>() < text.front()["loss"].get<double>() / 2);

  // Ten steps on one answer: the model gives it, and does not give the question.
  write(dir / "c.jsonl",
        R"({"messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Zebra!"}]})");
  run("chat", {"--data", dir / "c.jsonl", "--steps", "30"});
  CHECK(command::run_cke({"chat", dir / "chat", "--temp", "0", "-n", "12", "--no-think"}, {.input = "Who?"})
            .out.find("Zebra!") != std::string::npos);

  const auto refused = [&](const char* line, std::string_view text_of_error) {
    write(dir / "bad.jsonl", line);
    check_refused({"train", tiny, "--data", dir / "bad.jsonl", "--steps", "1", "-o", dir / "bad"}, text_of_error);
  };
  refused("{\"text\": 3}", "bad.jsonl:1");
  refused("{\"text\": \"a b\"}\nnonsense", "bad.jsonl:2");
  refused("{\"messages\": [1]}", "bad.jsonl:1: message 0: expected an object, found int");
  refused("\n", "a text to learn");
  check_refused({"train", tiny, "--steps", "1", "-o", dir / "bad"}, "--data");
}

TEST_CASE("train and grad: what cannot be read, and what cannot be done") {
  const scratch dir;
  const auto refused = [&](std::string_view batch, std::string_view text) {
    write(dir / "batch.json", batch);
    check_refused({"grad", qwen2, "--batch", dir / "batch.json", "-o", dir / "g"}, text);
    CHECK_FALSE(fs::exists(dir / "g"));
  };
  const auto labelled = [](std::string ids, std::string labels) {
    return R"({"ids": )" + ids + R"(, "labels": )" + labels + '}';
  };
  refused("[]", "an object");
  refused(R"({"ids": [[1, 2]]})", "labels");
  refused(labelled("[[1, 2]]", "[[1, 2], [3]]"), "labels");
  refused(labelled("[[1, 2]]", "[[1, 2, 3]]"), "labels[0]");
  refused(labelled(R"([[1, "x"]])", "[[1, 2]]"), "ids[0][1]");
  refused(labelled("[[1, 2]]", "[[1, -3]]"), "labels[0][1]");
  refused(labelled("[[1, 2]]", "[[5, -100]]"), "not ignored");
  refused(labelled("[[1, 288]]", "[[1, 2]]"), "ids[0][1]: expected an id below 288, found 288");
  refused(labelled("[[1, 2]]", "[[1, 300]]"), "labels[0][1]: expected an id below 288, found 300");
  write(dir / "no.json", "{");
  check_refused({"grad", qwen2, "--batch", dir / "no.json", "-o", dir / "g"}, "JSON");
  check_refused({"grad", qwen2, "--batch", dir / "none.json", "-o", dir / "g"}, "none.json");
  const fs::path file = batch_file(dir, batches(2), "batches.json");
  check_refused(train_words(file, dir / "", {"--steps", "1"}), "a name that is free");
  check_refused(train_words(dir / "none.json", dir / "out", {"--steps", "1"}), "none.json");
  std::vector<std::string> words = train_words(file, dir / "out", {"--steps", "1"});
  words[1] = CKE_TEST_DATA "/families/qwen2.gguf";
  check_refused(words, "GGUF");
  check_refused(train_words(file, dir / "out", {"--steps", "1", "--resume"}), "training.json");
  CHECK_FALSE(fs::exists(dir / "out"));
}

TEST_CASE("train: a disk that is full leaves nothing under the name") {
  const scratch dir;
  const fs::path file = batch_file(dir, batches(2));
  const result r = command::run_cke(train_words(file, dir / "out", {"--steps", "1"}), {.file_size = 100000});
  CHECK_MESSAGE((r.status == 1 && r.err.find("model.safetensors") != r.err.npos), show(r));
  CHECK(std::ranges::distance(fs::directory_iterator(dir / "")) == 1);
}

}  // namespace training_test
