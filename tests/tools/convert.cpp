// SPDX-License-Identifier: MIT
// convert.cpp: cke convert: what it writes has the same numbers, and the same logits to the bit.
#include <cke/io/gguf.hpp>
#include <cke/io/hf_dir.hpp>
#include <cke/runtime/f8_matrix.hpp>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "npy.hpp"

namespace convert_test {

using namespace command;
using cke::dtype;
using cke::io::tensor_ref;
using nlohmann::json;

namespace {

const std::string llama = models + "llama_untied", fp8 = models + "deepseek_v3_fp8";

fs::path convert(const std::string& from, const fs::path& to, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"convert", from, "-o", to});
  const result r = command::run_cke(more);
  CHECK_SUCCESS(r);
  CHECK(r.out.starts_with(to.string() + ": "));
  return to;
}
std::vector<float> logits(const std::string& model, std::vector<std::string> more = {}) {
  const scratch dir;
  more.insert(more.begin(), {"logits", model, "--tokens", "5,9,20,17,3", "-o", dir / "l.npy"});
  const result r = command::run_cke(more);
  CHECK_SUCCESS(r);
  return npy(dir / "l.npy").values;
}
bool same(const tensor_ref& a, const tensor_ref& b) {
  return a.name == b.name && a.type == b.type && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}
void check_same_tensors(std::span<const tensor_ref> a, std::span<const tensor_ref> b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK_MESSAGE(same(a[i], b[i]), a[i].name);
}
void check_nothing_left(const scratch& dir) { CHECK(fs::is_empty(dir / "")); }

}  // namespace

TEST_CASE("convert: a directory as another one, every tensor and small file as it is") {
  const scratch dir;
  for (const std::string& from : {tiny, models + "llama_sharded", models + "qwen3_bf16", fp8}) {
    CAPTURE(from);
    const fs::path to = convert(from, dir / fs::path(from).filename().string());
    check_same_tensors(cke::io::read_hf_weights(to).tensors(), cke::io::read_hf_weights(from).tensors());
    CHECK(fs::exists(to / "model.safetensors"));
    CHECK_FALSE(fs::exists(to / "model.safetensors.index.json"));
    for (const auto& file : fs::directory_iterator(from))
      if (const std::string name = file.path().filename(); name.ends_with(".json") && !name.ends_with("index.json"))
        CHECK_MESSAGE(content(to / name) == content(file.path()), name);
  }
  CHECK(command::run_cke({"chat", dir / "tiny", "-n", "9"}, {.input = "Hi"}).out ==
        command::run_cke({"chat", tiny, "-n", "9"}, {.input = "Hi"}).out);
}

TEST_CASE("convert --to f32 and bf16: matrices and the config's word for them change, and nothing else") {
  const scratch dir;
  const result made = command::run_cke({"convert", models + "qwen3_bf16", "-o", dir / "wide/", "--to", "f32"});
  CHECK_SUCCESS(made);
  CHECK(made.out.starts_with((dir / "wide").string() + ": "));
  const auto was = cke::io::read_hf_weights(models + "qwen3_bf16"), is = cke::io::read_hf_weights(dir / "wide");
  for (const tensor_ref& t : is.tensors()) {
    const tensor_ref* old = was.find(t.name);
    REQUIRE(old != nullptr);
    CHECK(t.shape == old->shape);
    CHECK(t.type == (t.shape.size() > 1 ? dtype::f32 : old->type));
  }
  CHECK(logits(dir / "wide", {"--format", "f32"}) == logits(models + "qwen3_bf16", {"--format", "f32"}));
  json config = json::parse(content(dir / "wide/config.json")),
       old = json::parse(content(models + "qwen3_bf16/config.json"));
  const char* const key = old.contains("dtype") ? "dtype" : "torch_dtype";
  CHECK(config[key] == "float32");
  config.erase(key), old.erase(key);
  CHECK(config == old);

  // And back: bf16 is a part of f32.
  convert(dir / "wide", dir / "narrow", {"--to", "bf16"});
  check_same_tensors(cke::io::read_hf_weights(dir / "narrow").tensors(), was.tensors());
}

TEST_CASE("convert: matrices of 8-bit floats become numbers, without their scales") {
  const scratch dir;
  convert(fp8, dir / "wide", {"--to", "f32"});
  const auto wide = cke::io::read_hf_weights(dir / "wide");
  for (const tensor_ref& t : wide.tensors()) {
    CHECK(t.type != dtype::f8_e4m3);
    CHECK_FALSE(t.name.ends_with("_scale_inv"));
  }
  CHECK_FALSE(json::parse(content(dir / "wide/config.json")).contains("quantization_config"));
  CHECK(logits(dir / "wide", {"--format", "f32"}) == logits(fp8, {"--format", "f32"}));
  CHECK_REFUSED(command::run_cke({"convert", fp8, "-o", dir / "m.gguf"}),
                "expected a type that GGUF has; or --to f32 or bf16, found F8_E4M3");
  convert(fp8, dir / "m.gguf", {"--to", "f32"});
  CHECK(logits(dir / "m.gguf", {"--format", "f32"}) == logits(fp8, {"--format", "f32"}));
}

TEST_CASE("convert: to a GGUF file, from a directory or from another file, in the types that are there") {
  const scratch dir;
  for (const std::string& from :
       {llama, models + "qwen3_bf16", models + "qwen3_f16", tiny, models + "gguf/llama_untied-Q8_0.gguf"}) {
    CAPTURE(from);
    const fs::path to = convert(from, dir / (fs::path(from).filename().string() + ".gguf"));
    CHECK(logits(to) == logits(from));
  }
  const auto q8 = cke::io::gguf::read(models + "gguf/llama_untied-Q8_0.gguf"),
             again = cke::io::gguf::read(dir / "llama_untied-Q8_0.gguf.gguf");
  for (const tensor_ref& t : again.tensors().tensors()) {
    const tensor_ref* old = q8.tensors().find(t.name);
    REQUIRE(old != nullptr);
    CHECK_MESSAGE(same(t, *old), t.name);
  }
  CHECK(again.get<cke::u32>("general.file_type") == q8.get<cke::u32>("general.file_type"));
  CHECK(cke::io::gguf::read(dir / "qwen3_bf16.gguf").get<cke::u32>("general.file_type") == 32);
  CHECK(cke::io::gguf::read(dir / "llama_untied.gguf").get<cke::u32>("general.file_type") == 0);
  // As quantize writes it, where a type is asked for.
  convert(llama, dir / "a.gguf", {"--to", "bf16"});
  const result quantized = command::run_cke({"quantize", llama, dir / "b.gguf", "--to", "bf16"});
  CHECK_SUCCESS(quantized);
  CHECK(content(dir / "a.gguf") == content(dir / "b.gguf"));
}

TEST_CASE("convert: what cannot be written is refused by name, and leaves nothing") {
  const scratch dir;
  const std::string out = dir / "out";
  const std::string gguf = models + "gguf/llama_untied-F32.gguf";
  CHECK_REFUSED(command::run_cke({"convert", gguf, "-o", out}), "--output: expected a name that ends with .gguf");
  CHECK_REFUSED(command::run_cke({"convert", dir / "none", "-o", out}), "none");
  CHECK_REFUSED(command::run_cke({"convert", llama, "-o", dir / "no/such/out"}), "no/such/out");
  check_nothing_left(dir);
  CHECK(command::run_cke({"convert", llama, "-o", out, "--to", "q8_0"}).status == 2);
  CHECK(command::run_cke({"convert", llama}).status == 2);
  write(out, "mine");
  CHECK_REFUSED(command::run_cke({"convert", llama, "-o", out}), "expected a name that is free");
  CHECK(content(out) == "mine");
  fs::remove(out);
  // A disk that is full.
  const result full = command::run_cke({"convert", llama, "-o", out}, {.file_size = 20000});
  CHECK_REFUSED(full, "out");
  check_nothing_left(dir);
  // A number that cannot be converted.
  const fs::path model = dir.copy(models + "qwen3_bf16");
  std::string bytes = content(model / "model.safetensors");
  for (std::size_t i = bytes.size() - 4000; i < bytes.size(); ++i) bytes[i] = '\x7f';  // 0x7f7f is finite
  for (std::size_t at = bytes.size() / 2, i = 0; i < 8; ++i) bytes[at / 2 * 2 + i] = i % 2 ? '\x7f' : '\xc0';  // NaN
  write(model / "model.safetensors", bytes);
  CHECK_REFUSED(command::run_cke({"convert", model, "-o", out, "--to", "f32"}), "expected finite numbers to convert");
  CHECK_FALSE(fs::exists(out));
  fs::remove_all(model);
  check_nothing_left(dir);
}

}  // namespace convert_test
