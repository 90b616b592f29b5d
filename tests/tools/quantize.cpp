// SPDX-License-Identifier: MIT
// quantize.cpp: cke quantize, against the files of gguf-py and what llama.cpp's converter would write.
#include <algorithm>
#include <cke/io/hf_checkpoint.hpp>
#include <cke/runtime/f8_matrix.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "../changed_gguf.hpp"
#include "../family_status.hpp"
#include "command.hpp"

namespace quantize_test {

using namespace command;
using cke::dtype;
using cke::io::gguf;

namespace {

const std::string families = CKE_TEST_DATA "/families/";

result quantize(const fs::path& in, const fs::path& out, const std::string& to, const setting& s = {}) {
  return command::run_cke({"quantize", in, out, "--to", to}, s);
}
gguf made(const fs::path& in, const fs::path& out, const std::string& to) {
  const result r = quantize(in, out, to);
  CHECK_SUCCESS(r);
  CHECK(r.out.starts_with(out.string() + ": "));
  return gguf::read(out);
}

bool same_bytes(const cke::io::tensor_ref& a, const cke::io::tensor_ref& b) {
  return a.type == b.type && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}
// As same_bytes, but for the last bit of numbers that come of e^x.
bool same_numbers(const cke::io::tensor_ref& a, const cke::io::tensor_ref& b) {
  if (a.type != dtype::f32 || b.type != dtype::f32 || a.shape != b.shape) return false;
  for (std::size_t i = 0; i < a.bytes.size(); i += sizeof(float)) {
    const float x = cke::io::detail::load<float>(a.bytes.data() + i),
                y = cke::io::detail::load<float>(b.bytes.data() + i);
    if (!(std::abs(x - y) <= 1.2e-7f * std::abs(y))) return false;
  }
  return true;
}
// Every tensor of the one is in the other, the same to the byte; `but`: names that may be missing.
void check_tensors(const gguf& ours, const gguf& theirs, std::string_view but = "none") {
  std::size_t count = 0;
  for (const auto& t : theirs.tensors().tensors()) {
    if (t.name.starts_with(but)) continue;
    CAPTURE(t.name);
    const auto* mine = ours.tensors().find(t.name);
    REQUIRE(mine != nullptr);
    CHECK((t.name.ends_with("ssm_a") ? same_numbers(*mine, t) : same_bytes(*mine, t)));
    ++count;
  }
  CHECK(ours.tensors().tensors().size() == count);
}
dtype type_in(const gguf& file, std::string_view tensor) {
  const auto* t = file.tensors().find(tensor);
  REQUIRE_MESSAGE(t != nullptr, std::string(tensor));
  return t->type;
}
std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE(
    "quantize: a Hugging Face directory becomes the file that llama.cpp's converter would write, in every family") {
  for (const auto& entry : fs::directory_iterator(families)) {
    const fs::path theirs = fs::path(entry.path()).concat(".gguf");
    if (!entry.is_directory() || !fs::exists(theirs)) continue;
    CAPTURE(theirs.string());
    const scratch dir;
    const gguf ours = made(entry.path(), dir / "m.gguf", "BF16"), want = gguf::read(theirs);
    // Layers that only look ahead are left out, and so is the key that says there are some.
    const bool ahead = want.tensors().find("blk.3.nextn.eh_proj.weight") != nullptr;
    check_tensors(ours, want, ahead ? "blk.3." : "none");
    const auto arch = want.get<std::string_view>("general.architecture");
    for (const auto& v : want.values()) {
      if (!v.key.starts_with(arch) ||
          (ahead && (v.key.ends_with("block_count") || v.key.ends_with("nextn_predict_layers"))))
        continue;
      // transformers' configs keep the width of dense layers where there are none.
      if (v.key.ends_with(".feed_forward_length") && ours.find(std::string(arch) + ".expert_count") &&
          !ours.find(v.key))
        continue;
      if (v.key == "granitehybrid.rope.freq_base" && !ours.get<bool>("granitehybrid.rope.scaling.finetuned"))
        continue;  // nothing turns
      CAPTURE(std::string(v.key));
      const auto* mine = ours.find(v.key);
      REQUIRE(mine != nullptr);
      CHECK(describe(*mine) == describe(v));
    }
    // What is in a GGUF file already stays as it is.
    check_tensors(made(theirs, dir / "same.gguf", "BF16"), want);
    family_status::establishes(family_status::family_in(entry.path() / "config.json"),
                               {family_status::column::export_});
  }
}

TEST_CASE("quantize: what GGUF cannot say, and tensors that are not the config's") {
  const scratch dir;
  const auto refused = [&](const std::string& model, const std::string& key, const std::string& value,
                           const char* text) {
    CAPTURE(key);
    const fs::path copy = dir.copy(CKE_TEST_DATA "/" + model);
    std::string config = content(copy / "config.json");
    const std::size_t at = config.find('"' + key + "\":");
    REQUIRE(at != config.npos);
    const std::size_t begin = config.find(':', at) + 1, open = config.find_first_not_of(" \n", begin);
    const std::size_t end = config[open] == '[' ? config.find(']', open) + 1 : config.find_first_of(",\n", open);
    write(copy / "config.json", config.replace(begin, end - begin, value));
    CHECK_REFUSED(quantize(copy, dir / "x.gguf", "f32"), text);
    CHECK(!fs::exists(dir / "x.gguf"));
    CHECK(files_in(dir / "") == 1);
    fs::remove_all(copy);
  };
  refused("families/mamba2", "time_step_limit", "[0.25, 1.0]",
          "config key time_step_limit (0.25), time_step_limit (1.0): GGUF has no word");
  refused("families/deepseek_v3", "qk_nope_head_dim", "2",
          "kv_b_proj.weight: expected 6 times 12 rows, found 132 rows");
  refused("families/nemotron_h_experts", "mlp_bias", "true", "model: config key mlp_bias (true): GGUF has no word");
  refused("models/deepseek_v3_fp8", "weight_block_size", "[64, 128]",
          "config key quantization_config.weight_block_size: expected [128, 128], found [64,128]");
  refused("families/nemotron_h_experts", "layers_block_type", R"(["mlp", "linear_attention", "full_attention", "moe"])",
          "tensor");
  CHECK_REFUSED(quantize(families + "nemotron_h_biased", dir / "x.gguf", "f32"),
                "nemotron_h_biased: config key intermediate_size (56), layers_block_type");
  CHECK(files_in(dir / "") == 0);
}

TEST_CASE("quantize: 8-bit floats times their scales, also where GGUF has them the other way round") {
  const scratch dir;
  const cke::io::checkpoint from = cke::io::hf(models + "deepseek_v3_fp8");
  const gguf file = made(from.name, dir / "m.gguf", "f32");
  const auto widened = [&](const std::string& name) {
    const auto* t = from.tensors.find(name);
    REQUIRE(t != nullptr);
    REQUIRE(t->type == dtype::f8_e4m3);
    const cke::runtime::f8_matrix m =
        cke::runtime::f8_matrix_of(from.tensors, from.name, from.tensors.tensor(from.tensors.number_of(name)));
    std::vector<float> numbers(t->bytes.size());
    for (cke::u64 row = 0; row < t->shape[0]; ++row) m.read(row, 0, m.columns, numbers.data() + row * m.columns);
    return numbers;
  };
  const auto in_file = [&](const std::string& name, std::size_t i) {
    const auto* t = file.tensors().find(name);
    REQUIRE(t != nullptr);
    return cke::io::detail::load<float>(t->bytes.data() + i * sizeof(float));
  };
  const auto down = widened("model.layers.1.mlp.experts.4.down_proj.weight");
  for (std::size_t i = 0; i < down.size(); ++i)
    CHECK(in_file("blk.1.ffn_down_exps.weight", 4 * down.size() + i) == down[i]);
  const auto kv = widened(
      "model.layers.0.self_attn.kv_b_proj.weight");  // 6 heads of 12 rows of keys and 10 of values, of 20 columns
  for (std::size_t head = 0; head < 6; ++head)
    for (std::size_t c = 0; c < 20; ++c) {
      for (std::size_t r = 0; r < 12; ++r)
        CHECK(in_file("blk.0.attn_k_b.weight", (head * 20 + c) * 12 + r) == kv[(head * 22 + r) * 20 + c]);
      for (std::size_t r = 0; r < 10; ++r)
        CHECK(in_file("blk.0.attn_v_b.weight", (head * 10 + r) * 20 + c) == kv[(head * 22 + 12 + r) * 20 + c]);
    }
}

TEST_CASE("quantize: ropes that GGUF has a word for, or a tensor") {
  const scratch dir;
  const auto text = [&](const std::string& model, const char* key) {
    const gguf g = made(models + model, dir / (model + ".gguf"), "f32");
    return g.find(key) ? describe(*g.find(key)) : std::string();
  };
  CHECK(text("rope_linear", "llama.rope.scaling.type") == "string \"linear\"");
  CHECK(text("rope_yarn", "llama.rope.scaling.type") == "string \"yarn\"");
  CHECK(text("rope_llama3", "llama.rope.scaling.type").empty());
  CHECK(type_in(gguf::read(dir / "rope_llama3.gguf"), "rope_freqs.weight") == dtype::f32);
  CHECK(text("rope_longrope", "llama.rope.scaling.type") == "string \"longrope\"");
  CHECK_REFUSED(quantize(models + "rope_dynamic", dir / "d.gguf", "f32"),
                "config key rope_parameters: GGUF has no word");
  CHECK_REFUSED(quantize(models + "rope_yarn_exact", dir / "y.gguf", "f32"),
                "config key rope_parameters: GGUF has no word");
  CHECK(files_in(dir / "") == 4);
}

TEST_CASE("quantize: from a GGUF file, bit for bit what gguf-py makes, and the rest as it was") {
  const scratch dir;
  const std::string in = models + "gguf/llama_untied-F32.gguf";
  const gguf ours = made(in, dir / "m.gguf", "q8_0"), theirs = gguf::read(models + "gguf/llama_untied-Q8_0.gguf"),
             source = gguf::read(in);
  check_tensors(ours, theirs);
  for (const auto& v : source.values()) {
    if (v.key == "general.file_type" || v.key == "general.quantization_version") continue;
    REQUIRE(ours.find(v.key) != nullptr);
    CHECK(std::ranges::equal(ours.find(v.key)->bytes, v.bytes));
  }
  CHECK(ours.get<cke::u32>("general.file_type") == 7);
  check_tensors(made(in, dir / "same.gguf", "f32"), source);
}

TEST_CASE("quantize: the types that llama.cpp gives, also rows that are no whole blocks") {
  const scratch dir;
  const gguf k = made(tiny, dir / "k.gguf", "Q4_K_M"), same = made(tiny, dir / "k2.gguf", "q4_k");
  check_tensors(k, same);
  CHECK(type_in(k, "token_embd.weight") == dtype::q8_0);  // the head too; rows of 128
  CHECK(type_in(k, "blk.0.attn_q.weight") == dtype::q5_0);
  CHECK(type_in(k, "blk.0.attn_norm.weight") == dtype::f32);
  const gguf e = made(families + "qwen2_moe", dir / "e.gguf", "q4_0");
  CHECK(type_in(e, "blk.0.ffn_gate_exps.weight") == dtype::f16);  // rows of 48
  CHECK(type_in(e, "blk.0.ffn_gate_inp.weight") == dtype::f32);
  const gguf n = made(tiny, dir / "n.gguf", "iq4_xs");
  CHECK(type_in(n, "blk.0.attn_q.weight") == dtype::iq4_nl);
}

TEST_CASE("quantize: what was written runs, and says what the directory says") {
  const scratch dir;
  const gguf file = made(tiny, dir / "tiny.gguf", "q8_0");
  const std::vector<std::string> story{"-p", "Once upon a time", "-n", "24", "--temp", "0"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), story.begin(), story.end());
    const result r = command::run_cke(words);
    CHECK_SUCCESS(r);
    return r.out;
  };
  const std::string from_directory = run({"run", tiny, "--format", "q8_0"});
  CHECK(run({"run", dir / "tiny.gguf"}) == from_directory);
  CHECK(from_directory.size() > 40);
  CHECK(command::run_cke({"build", tiny, "--format", "q8_0"}).out ==
        command::run_cke({"build", dir / "tiny.gguf"}).out);
  const std::string text = "<|im_start|>user\n  Hi, 12 don'ts<|im_end|>\n";
  CHECK(command::run_cke({"tokenize", tiny, "-p", text}).out ==
        command::run_cke({"tokenize", dir / "tiny.gguf", "-p", text}).out);
  write(dir / "m.json", R"([{"role": "user", "content": "hello"}])");
  CHECK(command::run_cke({"template", tiny, "--messages", dir / "m.json"}).out ==
        command::run_cke({"template", dir / "tiny.gguf", "--messages", dir / "m.json"}).out);
}

TEST_CASE("quantize: the number of threads changes nothing") {
  const scratch dir;
  const result one = command::run_cke({"quantize", tiny, dir / "1.gguf", "--to", "q4_k_m", "-t", "1"});
  const result five = command::run_cke({"quantize", tiny, dir / "5.gguf", "--to", "q4_k_m", "-t", "5"});
  CHECK_SUCCESS(one);
  CHECK_SUCCESS(five);
  CHECK(content(dir / "1.gguf") == content(dir / "5.gguf"));
}

TEST_CASE("quantize: refusals leave nothing behind") {
  const scratch dir;
  const std::string f32 = models + "gguf/llama_untied-F32.gguf";
  CHECK_MESSAGE(is_refusal(quantize(tiny, dir / "x.gguf", "q7"), 2), "an unknown type");
  CHECK(quantize(tiny, dir / "x.gguf", "q7").err.find("Q4_K_M") != std::string::npos);
  CHECK_REFUSED(quantize(dir / "none", dir / "x.gguf", "q8_0"), "found nothing");
  CHECK_REFUSED(quantize(f32, dir / "none" / "x.gguf", "q8_0"), "No such file");
  CHECK_REFUSED(quantize(f32, dir / "x.gguf", "q8_0", {.file_size = 4096}), "expected a file that can be written");
  CHECK(files_in(dir / "") == 0);
  write(dir / "x.gguf", "mine");
  CHECK_REFUSED(quantize(f32, dir / "x.gguf", "q8_0"), "expected a name that is free");
  CHECK(content(dir / "x.gguf") == "mine");
  CHECK(files_in(dir / "") == 1);
  // Twice quantised is more wrong than once.
  made(tiny, dir / "q4.gguf", "q4_0");
  CHECK_REFUSED(quantize(dir / "q4.gguf", dir / "q5.gguf", "q5_0"), "to quantise from, found q4_0");
  // A number that no block can hold.
  const gguf whole = gguf::read(f32);
  const auto& attn_q = *whole.tensors().find("blk.0.attn_q.weight");
  const auto offset = static_cast<std::size_t>(attn_q.bytes.data() - attn_q.file->bytes().data());
  std::string bytes = content(f32);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + offset + 40, &nan, sizeof nan);
  write(dir / "nan.gguf", bytes);
  CHECK_REFUSED(quantize(dir / "nan.gguf", dir / "y.gguf", "q8_0"),
                "tensor blk.0.attn_q.weight: expected numbers that q8_0 can hold");
  CHECK(files_in(dir / "") == 3);
}

TEST_CASE("quantize and convert: a tensor of a GGUF file that has no dimensions is refused by its name") {
  const scratch dir;
  static constexpr std::byte number[sizeof(float)]{};
  changed_gguf file(models + "gguf/llama_untied-F32.gguf");
  file.tensors.push_back({"rope_fx", dtype::f32, "f32", {}, number, {}});
  file.write(dir / "odd.gguf");
  const char* const refusal = "tensor rope_fx: expected only tensors of the model";
  CHECK_REFUSED(quantize(dir / "odd.gguf", dir / "x.gguf", "q8_0"), refusal);
  CHECK_REFUSED(command::run_cke({"convert", dir / "odd.gguf", "-o", dir / "x.gguf"}), refusal);
  CHECK(files_in(dir / "") == 1);
}

TEST_CASE("quantize: damaged metadata and tensors of another model") {
  const scratch dir;
  fs::path copy = dir.copy(models + "llama_untied");
  write(copy / "config.json", "{\"model_type\": \"unheard-of\"}");
  CHECK_REFUSED(quantize(copy, dir / "x.gguf", "f16"), "model type: expected one of");
  fs::copy_file(models + "qwen3_odd/config.json", copy / "config.json", fs::copy_options::overwrite_existing);
  CHECK(is_refusal(quantize(copy, dir / "x.gguf", "f16")));
  CHECK(files_in(dir / "") == 1);
}

}  // namespace quantize_test
