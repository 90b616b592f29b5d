// SPDX-License-Identifier: MIT
// training_files.cpp: what cke train, grad and merge make of unusual checkpoints, adapters, data and names of outputs.
#include <cke/io/safetensors.hpp>
#include <cmath>
#include <cstring>

#include "training.hpp"

namespace training_files_test {

using namespace command;

namespace {

const std::string qwen2 = CKE_TEST_DATA "/families/qwen2";

struct stored_tensor {
  std::string name, type;
  std::vector<cke::u64> shape;
  std::string bytes;
};
// The tensors of a safetensors file, and more, as another file.
void write_with(const std::string& from, const std::vector<stored_tensor>& more, const fs::path& to) {
  const cke::io::tensor_index index = cke::io::read_safetensors(from);
  std::vector<stored_tensor> all = more;
  for (const auto& t : index.tensors())
    all.push_back({t.name,
                   t.stored,
                   {t.shape.begin(), t.shape.end()},
                   {reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size()}});
  json header = json::object();
  std::string data;
  for (const stored_tensor& t : all) {
    const std::size_t begin = data.size(), end = begin + t.bytes.size();
    header[t.name] = {{"dtype", t.type}, {"shape", t.shape}, {"data_offsets", {begin, end}}};
    data += t.bytes;
  }
  const std::string text = header.dump();
  const cke::u64 length = text.size();
  write(to, std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data);
}
bool same_content(const fs::path& a, const fs::path& b) { return fs::exists(a) && content(a) == content(b); }

// Ids that every model here has; they need no tokenizer.
fs::path ids_in(const scratch& dir) {
  write(dir / "ids.jsonl", R"({"ids": [5, 6, 7, 8, 5, 6, 7, 8, 9]})");
  return dir / "ids.jsonl";
}
std::vector<std::string> train_words(const std::string& model, const std::string& data, const std::string& to,
                                     const std::vector<std::string>& more) {
  std::vector<std::string> words{"train", model,  "--data",     data,       "-c", "64",
                                 "--lr",  "0.01", "--schedule", "constant", "-o", to};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
void train_to(const std::string& model, const std::string& data, const std::string& to,
              const std::vector<std::string>& more) {
  const result r = command::run_cke(train_words(model, data, to, more));
  CHECK_SUCCESS(r);
}
double first_loss(const std::string& model, const std::string& data, const std::string& to,
                  std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--steps", "1", "--log", to + ".log"});
  train_to(model, data, to, more);
  const std::vector<json> log = lines_of(to + ".log");
  REQUIRE(log.size() == 1);
  return log[0]["loss"].get<double>();
}
void merge_to(const std::string& adapter, const std::string& to) {
  const result r = command::run_cke({"merge", qwen2, "--lora", adapter, "-o", to});
  CHECK_SUCCESS(r);
}
void set_in_config(const fs::path& adapter, const char* key, const json& value) {
  json config = json::parse(content(adapter / "adapter_config.json"));
  config[key] = value;
  write(adapter / "adapter_config.json", config.dump());
}

}  // namespace

TEST_CASE("train: a tied head that lies in the file too does not stay beside the embedding that was trained") {
  const scratch dir;
  const fs::path data = ids_in(dir), copy = dir.copy(tiny);
  const cke::io::tensor_index all = cke::io::read_safetensors(tiny + "/model.safetensors");
  const auto* const embedding = all.find("model.embed_tokens.weight");
  REQUIRE(embedding != nullptr);
  stored_tensor head{"lm_head.weight", embedding->stored, {embedding->shape.begin(), embedding->shape.end()}, {}};
  head.bytes.assign(reinterpret_cast<const char*>(embedding->bytes.data()), embedding->bytes.size());
  write_with(tiny + "/model.safetensors", {head}, copy / "model.safetensors");
  REQUIRE(cke::io::read_safetensors(copy / "model.safetensors").find("lm_head.weight") != nullptr);

  train_to(copy, data, dir / "out", {"--steps", "2"});
  train_to(tiny, data, dir / "known", {"--steps", "2"});
  CHECK(cke::io::read_safetensors(dir / "out" / "model.safetensors").find("lm_head.weight") == nullptr);
  CHECK(same_content(dir / "out" / "model.safetensors", dir / "known" / "model.safetensors"));
  CHECK_SUCCESS(command::run_cke({"run", dir / "out", "-p", "Once upon a time", "-n", "4", "--temp", "0"}));
}

TEST_CASE("train: 8-bit floats of layers after the last become the numbers that they are") {
  const scratch dir;
  const fs::path copy = dir.copy(models + "deepseek_v3_fp8");
  stored_tensor codes{"model.layers.3.eh_proj.weight", "F8_E4M3", {130, 48}, {}},
      scales{"model.layers.3.eh_proj.weight_scale_inv", "F32", {2, 1}, {}};
  for (unsigned i = 0; i < 130 * 48; ++i)  // no code that is not a number
    codes.bytes += static_cast<char>(i % 120 + (i % 2 == 0 ? 0u : 128u));
  const float factors[] = {0.5f, 3};
  scales.bytes.assign(reinterpret_cast<const char*>(factors), sizeof factors);
  write_with(models + "deepseek_v3_fp8/model.safetensors", {codes, scales}, copy / "model.safetensors");

  train_to(copy, ids_in(dir), dir / "out", {"--steps", "1"});
  const cke::io::tensor_index made = cke::io::read_safetensors(dir / "out" / "model.safetensors");
  CHECK(made.find(scales.name) == nullptr);
  const auto* const t = made.find(codes.name);
  REQUIRE(t != nullptr);
  CHECK(t->stored == "F32");
  CHECK(t->shape == cke::tensor_shape{130, 48});
  REQUIRE(t->bytes.size() == codes.bytes.size() * sizeof(float));
  std::vector<float> numbers(codes.bytes.size());
  std::memcpy(numbers.data(), t->bytes.data(), t->bytes.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CAPTURE(i);
    const float want = cke::from_f8_e4m3(static_cast<cke::u8>(codes.bytes[i])) * factors[i / (128 * 48)];
    CHECK(numbers[i] == want);
  }
}

TEST_CASE("train --save-every: a slash after the name; names that are taken are found before the first step") {
  const scratch dir;
  const fs::path data = ids_in(dir), out = dir / "out";
  train_to(qwen2, data, dir / "out/", {"--steps", "2", "--save-every", "1"});
  CHECK(fs::exists(out / "model.safetensors"));
  CHECK(fs::exists(dir / "out.step-1" / "model.safetensors"));
  CHECK(std::ranges::distance(fs::directory_iterator(dir / "")) == 3);  // the data, too

  fs::remove_all(out);
  const std::vector<std::string> three{"--steps", "3", "--save-every", "1", "--log", dir / "log"};
  check_refused(train_words(qwen2, data, out, three), "out.step-1: expected a name that is free");
  CHECK(content(dir / "log").empty());
  CHECK_FALSE(fs::exists(out));

  // What a step wrote that is not taken again is not in the way.
  std::vector<std::string> resumed = three;
  resumed.push_back("--resume");
  train_to(dir / "out.step-1", data, out, resumed);
  CHECK(lines_of(dir / "log").size() == 2);
  CHECK(fs::exists(dir / "out.step-2"));
  fs::remove_all(out);
  check_refused(train_words(dir / "out.step-1", data, out, resumed), "out.step-2: expected a name that is free");
  train_to(qwen2, data, out, {"--steps", "1", "--save-every", "1"});
}

TEST_CASE("train: decays of AdamW that never forget, and nothing added to its root, are refused by their flags") {
  const scratch dir;
  const fs::path data = ids_in(dir);
  for (const auto& [flag, value] : {std::pair{"--beta1", "1"}, {"--beta2", "1"}, {"--eps", "0"}})
    check_refused(train_words(qwen2, data, dir / "x", {"--steps", "1", flag, value}), flag);
  CHECK_FALSE(fs::exists(dir / "x"));
}

TEST_CASE("train --lora and merge: scales by the root of the rank, and those that some matrices have alone") {
  const scratch dir;
  const fs::path data = ids_in(dir), adapter = dir / "adapter";
  train_to(qwen2, data, adapter, {"--lora-rank", "2", "--lora-alpha", "4", "--steps", "3"});
  const double usual = first_loss(qwen2, data, dir / "usual", {"--lora", adapter});
  merge_to(adapter, dir / "merged");

  set_in_config(adapter, "lora_alpha", 2 * std::sqrt(2.0));
  CHECK(std::abs(first_loss(qwen2, data, dir / "less", {"--lora", adapter}) / usual - 1) > 1e-5);
  set_in_config(adapter, "use_rslora", true);
  CHECK(std::abs(first_loss(qwen2, data, dir / "root", {"--lora", adapter}) / usual - 1) <= 1e-6);
  merge_to(adapter, dir / "merged-root");

  set_in_config(adapter, "use_rslora", false);
  set_in_config(adapter, "lora_alpha", 4);
  set_in_config(adapter, "alpha_pattern", json::parse(R"({"q_proj": 8})"));
  check_refused(train_words(qwen2, data, dir / "x", {"--lora", adapter, "--steps", "1"}), "alpha_pattern: expected");
  CHECK_FALSE(fs::exists(dir / "x"));
  merge_to(adapter, dir / "merged-pattern");
  CHECK_FALSE(same_content(dir / "merged-pattern" / "model.safetensors", dir / "merged" / "model.safetensors"));
}

TEST_CASE("merge: additions that began by changing the matrices themselves are refused") {
  const scratch dir;
  const fs::path adapter = dir / "adapter";
  train_to(qwen2, ids_in(dir), adapter, {"--lora-rank", "2", "--steps", "1"});
  set_in_config(adapter, "init_lora_weights", "pissa");
  check_refused({"merge", qwen2, "--lora", adapter, "-o", dir / "x"}, "init_lora_weights: expected");
  CHECK_FALSE(fs::exists(dir / "x"));
  set_in_config(adapter, "init_lora_weights", "gaussian");
  merge_to(adapter, dir / "gaussian");
  set_in_config(adapter, "init_lora_weights", true);
  merge_to(adapter, dir / "true");
}

TEST_CASE("train --lora: an adapter goes on where files and models have other names for matrices") {
  const scratch dir;
  const fs::path data = ids_in(dir);
  const auto check_goes_on = [&](const std::string& model, const std::string& name, std::vector<std::string> more) {
    CAPTURE(model);
    more.insert(more.end(), {"--lora-rank", "2", "--steps", "2", "--save-every", "1"});
    train_to(model, data, dir / name, more);
    train_to(model, data, dir / (name + "-on"), {"--lora", dir / (name + ".step-1"), "--resume", "--steps", "2"});
    for (const char* file : {"adapter_model.safetensors", "optimizer.safetensors", "adapter_config.json"})
      CHECK_MESSAGE(same_content(dir / name / file, dir / (name + "-on") / file), file);
  };
  check_goes_on(CKE_TEST_DATA "/vision/gemma3", "tower", {});  // language_model.model.layers beside the tower's
  const result r = command::run_cke({"quantize", tiny, dir / "tiny.gguf", "--to", "q8_0"});
  CHECK_SUCCESS(r);
  check_goes_on(dir / "tiny.gguf", "gguf", {"--lora-targets", "model.layers.4.self_attn.q_proj"});

  check_refused(train_words(qwen2, data, dir / "x", {"--lora", dir / "gguf", "--steps", "1"}),  // it has three layers
                "tensor base_model.model.model.layers.4.self_attn.q_proj.lora_A.weight: expected additions");
  CHECK_FALSE(fs::exists(dir / "x"));
}

TEST_CASE("train: a chat that the template refuses is named by its line") {
  const scratch dir;
  const fs::path copy = dir.copy(tiny);
  write(
      copy / "chat_template.jinja",
      R"({%- for m in messages %}{% if m.content == "no" %}{{ raise_exception("never no") }}{% endif %}{{ m.content }})"
      R"({% endfor %})");
  write(dir / "bad.jsonl", R"({"text": "The sea is blue."}
{"messages": [{"role": "user", "content": "no"}, {"role": "assistant", "content": "Why?"}]}
)");
  CHECK_REFUSED(command::run_cke(train_words(copy, dir / "bad.jsonl", dir / "x", {"--steps", "1"})), "bad.jsonl:2");
  CHECK_FALSE(fs::exists(dir / "x"));
}

TEST_CASE("train: a chat that begins with an answer is learned from its second answer on") {
  const scratch dir;
  const json chat = json::parse(R"([{"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "Who?"},
                                    {"role": "assistant", "content": "Zebra!"}])");
  const auto ids_of = [&](std::size_t count, std::vector<std::string> more) {
    json part = json::array();
    for (std::size_t i = 0; i < count; ++i) part.push_back(chat[i]);
    write(dir / "messages.json", part.dump());
    more.insert(more.begin(), {"template", tiny, "--ids", "--messages", dir / "messages.json"});
    const result r = command::run_cke(more);
    CHECK_SUCCESS(r);
    return json::parse(r.out);
  };
  const json asked = ids_of(2, {}), whole = ids_of(3, {"--no-generation-prompt"});
  REQUIRE(asked.size() < whole.size());
  json labels = whole, chat_line, ids_line;
  for (std::size_t i = 0; i < asked.size(); ++i) labels[i] = -100;
  chat_line["messages"] = chat, ids_line["ids"] = whole, ids_line["labels"] = labels;
  write(dir / "chat.jsonl", chat_line.dump());
  write(dir / "ids.jsonl", ids_line.dump());
  CHECK(first_loss(tiny, dir / "chat.jsonl", dir / "chat") == first_loss(tiny, dir / "ids.jsonl", dir / "ids"));
}

TEST_CASE("grad and train: a batch that nests deeper than a stack allows is refused by its place") {
  const scratch dir;
  const std::string batch =
      R"({"ids": [[)" + std::string(1000000, '[') + std::string(1000000, ']') + R"(]], "labels": [[1]]})";
  write(dir / "batch.json", batch);
  write(dir / "batches.json", R"({"batches": [)" + batch + "]}");
  CHECK_REFUSED(command::run_cke({"grad", qwen2, "--batch", dir / "batch.json", "-o", dir / "x"}),
                "batch.json: ids[0][0]: expected an id");
  CHECK_REFUSED(command::run_cke({"train", qwen2, "--batches", dir / "batches.json", "--steps", "1", "-o", dir / "x"}),
                "batches.json: batches[0].ids[0][0]: expected an id");
  CHECK_FALSE(fs::exists(dir / "x"));
}

TEST_CASE("train: an error after some steps does not take them along") {
  const scratch dir;
  const std::string data = ids_in(dir);
  const result r = command::run_cke(train_words(qwen2, data, dir / "out", {"--steps", "5", "--log", "/dev/full"}));
  CHECK_REFUSED(r, "/dev/full: expected a file that can be written");
  CHECK_MESSAGE(r.err.find("what was learned until then is in " + (dir / "out.step-1").string()) != r.err.npos,
                show(r));
  CHECK_FALSE(fs::exists(dir / "out"));
  train_to(dir / "out.step-1", data, dir / "goes-on", {"--resume", "--steps", "3"});
  train_to(qwen2, data, dir / "whole", {"--steps", "3"});
  CHECK(same_content(dir / "goes-on/model.safetensors", dir / "whole/model.safetensors"));
}

TEST_CASE("train: of the texts beside a config only those of the model go along") {
  const scratch dir;
  const fs::path copy = dir.copy(qwen2);
  write(copy / "book.txt", "Once");
  write(copy / "log.json", "{}");
  train_to(copy, ids_in(dir), dir / "out", {"--steps", "1"});
  CHECK(fs::exists(dir / "out/config.json"));
  CHECK_FALSE(fs::exists(dir / "out/book.txt"));
  CHECK_FALSE(fs::exists(dir / "out/log.json"));
}

}  // namespace training_files_test
