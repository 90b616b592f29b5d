// SPDX-License-Identifier: MIT
// mmproj.cpp: GGUF models with their mmproj files through the command: features, prompts with images, which file is
// found, and what it says of files that do not fit.
#include <cke/io/safetensors.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "../changed_gguf.hpp"
#include "../family_status.hpp"
#include "command.hpp"
#include "npy.hpp"

namespace mmproj_test {

using namespace command;
using nlohmann::json;

namespace {

std::string folder_of(const char* name) { return CKE_TEST_DATA "/mmproj/" + std::string(name); }
std::string model_of(const char* name) { return folder_of(name) + "/model.gguf"; }
std::string tower_of(const char* name) { return folder_of(name) + "/mmproj-model.gguf"; }
std::string picture(const std::string& name) { return CKE_TEST_DATA "/vision/images/" + name; }
std::string listed(const json& ids) {
  std::string out;
  for (const json& id : ids) out += (out.empty() ? "" : ",") + id.dump();
  return out;
}
float furthest(const std::vector<float>& values, const char* model, const std::string& tensor) {
  const auto all = cke::io::read_safetensors(folder_of(model) + "/expected.safetensors");
  const auto* const t = all.find(tensor);
  REQUIRE(t);
  REQUIRE(t->bytes.size() == values.size() * sizeof(float));
  float most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    float wanted;
    std::memcpy(&wanted, t->bytes.data() + i * sizeof wanted, sizeof wanted);
    most = std::max(most, std::abs(values[i] - wanted));
  }
  return most;
}
// The command with an image, whose features go to a file of the folder.
result seen(const scratch& dir, const std::string& model, std::vector<std::string> more = {}) {
  std::vector<std::string> words{"vision", model,        "--format", "f32", "--image", picture("wide.png"),
                                 "-o",     dir / "f.npy"};
  words.insert(words.end(), more.begin(), more.end());
  return command::run_cke(words);
}

}  // namespace

TEST_CASE("mmproj: an image becomes transformers' features, with the file that is named and with the one beside") {
  for (const char* const name : {"qwen3_vl", "gemma3"}) {
    CAPTURE(name);
    const scratch dir;
    for (const bool named : {false, true}) {
      const result r = seen(dir, model_of(name),
                            named ? std::vector<std::string>{"--mmproj", tower_of(name)} : std::vector<std::string>{});
      REQUIRE_MESSAGE(r.status == 0, r.err);
      CHECK(furthest(npy(dir / "f.npy").values, name, "features.wide.png") < 2e-3f);
    }
  }
}

TEST_CASE("mmproj: prompts with images: ids as the processor expands them, transformers' logits and greedy ids") {
  for (const char* const name : {"qwen3_vl", "gemma3"}) {
    CAPTURE(name);
    const scratch dir;
    const json all = json::parse(content(folder_of(name) + "/cases.json"));
    for (const json& of : all["cases"]) {
      CAPTURE(of["name"]);
      json messages = of["messages"];
      std::vector<std::string> prompt{"--format", "f32", "--tokens", listed(of["ids"])};
      for (json& message : messages)
        for (json& part : message["content"])
          if (part["type"] == "image") part["image"] = picture(part["image"].get<std::string>());
      for (const json& image : of["images"])
        prompt.insert(prompt.end(), {"--image", picture(image.get<std::string>())});
      const auto with = [&](std::vector<std::string> words, std::vector<std::string> more) {
        words.insert(words.end(), prompt.begin(), prompt.end());
        words.insert(words.end(), more.begin(), more.end());
        return command::run_cke(words);
      };
      write(dir / "messages.json", messages.dump());
      const result ids = command::run_cke({"template", model_of(name), "--messages", dir / "messages.json", "--ids"});
      REQUIRE_MESSAGE(ids.status == 0, ids.err);
      CHECK(json::parse(ids.out) == of["ids"]);
      const result logits = with({"logits", model_of(name)}, {"-o", dir / "logits.npy"});
      REQUIRE_MESSAGE(logits.status == 0, logits.err);
      CHECK(furthest(npy(dir / "logits.npy").values, name, "logits." + of["name"].get<std::string>()) < 2e-3f);
      const result answer = with({"run", model_of(name)}, {"--ids", "-n", "16", "--temp", "0"});
      REQUIRE_MESSAGE(answer.status == 0, answer.err);
      CHECK(json::parse(answer.out) == of["greedy"]);
    }
  }
  using family_status::column;
  for (const char* const family : {"qwen3_vl_text", "gemma3_text"})
    family_status::establishes(family, {column::load_gguf});
}

TEST_CASE("mmproj: a message with an image in the chat form, and in a chat") {
  const std::string model = model_of("qwen3_vl");
  const std::vector<std::string> usual{"--format", "f32", "-n", "4", "--temp", "0"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), usual.begin(), usual.end());
    return words;
  };
  const result said = command::run_cke(with({"run", model, "-p", "see", "--think", "--image", picture("wide.png")}));
  REQUIRE_MESSAGE(said.status == 0, said.err);
  const result later = command::run_cke(with({"chat", model, "--mmproj", tower_of("qwen3_vl")}),
                                        {.input = "/image " + picture("wide.png") + "\nsee\n"});
  CHECK(later.out == said.out);
}

TEST_CASE("mmproj: which file is found beside a model") {
  const scratch dir;
  const auto put = [&](const std::string& from, const char* name) { fs::copy_file(from, dir / name); };
  const std::string model = dir / "some-model.gguf";
  put(model_of("qwen3_vl"), "some-model.gguf");
  CHECK_MISUSED(
      seen(dir, model),
      model + ": --mmproj: expected a file, or an mmproj*.gguf beside the model, with its vision tower, found none");
  put(tower_of("gemma3"), "mmproj-gemma.gguf");
  CHECK_MISUSED(seen(dir, model), "found only those of other models: mmproj-gemma.gguf");
  write(dir / "mmproj-broken.gguf", "GGUF");
  put(tower_of("qwen3_vl"), "mmproj-F32.gguf");
  CHECK(seen(dir, model).status == 0);  // the one that fits
  put(tower_of("qwen3_vl"), "mmproj-BF16.gguf");
  CHECK_MISUSED(seen(dir, model),
                "--mmproj: expected one of the files beside it that fit, found mmproj-BF16.gguf, mmproj-F32.gguf");
  CHECK(seen(dir, model, {"--mmproj", dir / "mmproj-F32.gguf"}).status == 0);
  CHECK_MISUSED(command::run_cke({"run", model, "--format", "f32", "-p", "see", "--image", picture("wide.png")}),
                "--mmproj: expected one of the files");
  // Text needs none of them.
  CHECK(command::run_cke({"run", model, "--format", "f32", "--tokens", "1,2", "-n", "2", "--ids"}).status == 0);
}

TEST_CASE("mmproj: files that do not fit are refused by file and key") {
  const scratch dir;
  const std::string model = model_of("qwen3_vl"), text = tower_of("qwen3_vl"), other = dir / "mmproj-other.gguf";
  const auto with = [&](const std::string& file) { return seen(dir, model, {"--mmproj", file}); };
  CHECK_REFUSED(with(model), model + ": key general.architecture: expected clip, as an mmproj file has, found qwen3vl");
  CHECK_REFUSED(with(tower_of("gemma3")),
                tower_of("gemma3") + ": key clip.projector_type: expected one for architecture qwen3vl, which " +
                    model + " has, found gemma3");
  CHECK_REFUSED(with(dir / "none.gguf"), "none.gguf: expected a readable file");
  CHECK_REFUSED(
      command::run_cke(
          {"vision", models + "gguf/qwen3_tied-F32.gguf", "--image", picture("wide.png"), "-o", dir / "f.npy"}),
      "qwen3_tied-F32.gguf: key general.architecture: expected that of a model that sees images, found qwen3");
  changed_gguf wide(text);
  wide.dropped = {"clip.vision.projection_dim"};
  wide.more = [](cke::io::gguf_writer& w) { w.add("clip.vision.projection_dim", 40u); };
  wide.write(other);
  CHECK_REFUSED(
      with(other),
      other + ": key clip.vision.projection_dim: expected 32, the embedding_length of " + model + ", found 40");
  changed_gguf silent(text);
  silent.dropped = {"clip.vision.embedding_length"};
  silent.write(other);
  CHECK_REFUSED(with(other), other + ": config key clip.vision.embedding_length: expected this key, found none");
  changed_gguf untapped(text);  // the text model adds the features of two layers
  untapped.dropped = {"clip.vision.is_deepstack_layers"};
  untapped.write(other);
  CHECK_REFUSED(with(other),
                other + ": tensor v.deepstack.0.fc1.bias: expected only tensors of the model, found this one");
}

TEST_CASE("mmproj: tensors of another shape, one too few and one too many are refused by name") {
  const scratch dir;
  const std::string other = dir / "mmproj-other.gguf";
  const auto with = [&](const changed_gguf& c) {
    c.write(other);
    return seen(dir, model_of("gemma3"), {"--mmproj", other});
  };
  const auto shaped = [&](const char* name, cke::tensor_shape shape) {
    changed_gguf c(tower_of("gemma3"));
    cke::io::tensor_ref t = *c.file.tensors().find(name);
    t.shape = shape, c.dropped = {name}, c.tensors = {t};
    return c;
  };
  CHECK_REFUSED(with(shaped("v.blk.1.ffn_up.weight", {40, 56})),
                other + ": tensor v.blk.1.ffn_up.weight: expected 56 rows of 40 numbers by the config, found [40, 56]");
  CHECK_REFUSED(with(shaped("mm.input_projection.weight", {32, 40})),
                other + ": tensor mm.input_projection.weight: expected shape [40, 32], found [32, 40]");
  changed_gguf few(tower_of("gemma3"));
  few.dropped = {"mm.soft_emb_norm.weight"};
  CHECK_REFUSED(with(few), other + ": tensor mm.soft_emb_norm.weight: expected this tensor, found none of this name");
  changed_gguf many(tower_of("gemma3"));
  many.tensors = {*many.file.tensors().find("v.post_ln.weight")};
  many.tensors[0].name = "v.pre_ln.weight";
  CHECK_REFUSED(with(many), other + ": tensor v.pre_ln.weight: expected only tensors of the model, found this one");
}

TEST_CASE("mmproj: the file of a tower is no MODEL, and a directory has its own") {
  const scratch dir;
  const std::string tower = tower_of("gemma3"), directory = CKE_TEST_DATA "/vision/gemma3";
  const std::string no_text =
      tower + ": key general.architecture: expected a text model, with this file as --mmproj, found clip";
  CHECK_REFUSED(seen(dir, tower), no_text);
  CHECK_REFUSED(command::run_cke({"run", tower, "--tokens", "1"}), no_text);
  CHECK_REFUSED(command::run_cke({"inspect", tower}), no_text);
  CHECK_MISUSED(seen(dir, directory, {"--mmproj", tower}), directory + ": --mmproj: expected a .gguf MODEL");
  CHECK_MISUSED(command::run_cke({"run", directory, "--tokens", "1", "--mmproj", tower}),
                directory + ": --mmproj: expected a .gguf MODEL");
}

}  // namespace mmproj_test
