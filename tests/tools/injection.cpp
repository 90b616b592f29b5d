// SPDX-License-Identifier: MIT
// injection.cpp: a checkpoint that tries to put text of its own into the unit, a command line or a path.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>

#include "fake_compiler.hpp"
#include "gguf_edit.hpp"

using namespace command;
using nlohmann::json;

namespace {

// Every word that a unit may hold; the rest of it is numbers and punctuation.
bool is_known_word(const std::string& word) {
  static const char* const known[] = {"Written",
                                      "by",
                                      "cke",
                                      "a",
                                      "model",
                                      "s",
                                      "type",
                                      "as",
                                      "numbers",
                                      "include",
                                      "export",
                                      "hpp",
                                      "models",
                                      "llama",
                                      "mistral",
                                      "gemma2",
                                      "gemma3",
                                      "glm4",
                                      "granite",
                                      "olmo2",
                                      "phi3",
                                      "qwen2",
                                      "qwen3",
                                      "smollm3",
                                      "using",
                                      "inline",
                                      "constexpr",
                                      "rope_factors",
                                      "factors",
                                      "CKE_EXPORT_MODEL",
                                      "F32",
                                      "F16",
                                      "BF16",
                                      "Q8_0",
                                      "I8",
                                      "I4",
                                      "Q4_0",
                                      "Q4_K_M",
                                      "Q5_K_M",
                                      "Q6_K",
                                      "stored_formats",
                                      "stored_matrices",
                                      "stored",
                                      "role",
                                      "embed",
                                      "head",
                                      "q",
                                      "k",
                                      "v",
                                      "o",
                                      "gate",
                                      "up",
                                      "down",
                                      "q8_0",
                                      "q4_0",
                                      "q4_1",
                                      "q5_0",
                                      "q5_1",
                                      "q2_k",
                                      "q3_k",
                                      "q4_k",
                                      "q5_k",
                                      "q6_k",
                                      "iq4_nl",
                                      "iq4_xs",
                                      "mxfp4",
                                      "dtype",
                                      "f32",
                                      "f16",
                                      "bf16",
                                      "true",
                                      "false",
                                      "pairing",
                                      "split",
                                      "adjacent",
                                      "rope_scaling",
                                      "none",
                                      "linear",
                                      "dynamic",
                                      "llama3",
                                      "yarn",
                                      "longrope",
                                      "vocab",
                                      "dim",
                                      "hidden",
                                      "layers",
                                      "heads",
                                      "kv_heads",
                                      "head_dim",
                                      "eps",
                                      "tied",
                                      "attention_bias",
                                      "mlp_bias",
                                      "rope",
                                      "dims",
                                      "theta",
                                      "window",
                                      "sliding",
                                      "local_rope",
                                      "query_scalar",
                                      "score_cap",
                                      "logit_cap",
                                      "turned",
                                      "embedding_multiplier",
                                      "attention_multiplier",
                                      "residual_multiplier",
                                      "logits_scaling",
                                      "pairs",
                                      "rule",
                                      "factor",
                                      "low",
                                      "high",
                                      "beta_fast",
                                      "beta_slow",
                                      "mscale",
                                      "mscale_all",
                                      "truncate",
                                      "attention_factor",
                                      "original",
                                      "max_position"};
  return std::ranges::find(known, word) != std::end(known);
}

bool is_safe_unit(const std::string& unit) {
  static const std::regex shape(
      "// Written by cke: a model's type, as numbers\\.\n#include <cke/export\\.hpp>\n#include "
      "<cke/models/([a-z0-9_]+)\\.hpp>\n"
      "(inline constexpr cke::rope_factors factors\\{\n    \\{[-+.e0-9, ]*\\},\n    \\{[-+.e0-9, ]*\\},\n    [0-9]+, "
      "[0-9]+\\};\n)?"
      "using model = cke::([a-z0-9_]+)<[-+.,:={}& A-Za-z0-9_]*>;\n"
      "(inline constexpr cke::stored_matrices stored\\[\\]\\{\n(    \\{cke::role::[a-z]+, [0-9]+, [0-9]+, "
      "cke::dtype::[a-z0-9_]+\\},\n)+\\};\n)?"
      "CKE_EXPORT_MODEL\\(model, cke::(F32|F16|BF16|Q8_0|Q4_0|Q4_K_M|Q5_K_M|Q6_K|stored_formats<stored>), "
      "cke::dtype::(f32|f16|bf16|q8_0)\\);\n");
  static const std::regex words("[A-Za-z_][A-Za-z_0-9]*"), numbers("\\b[0-9][0-9.]*(e[-+]?[0-9]+)?\\b");
  if (!std::regex_match(unit, shape)) return false;
  const std::string plain = std::regex_replace(unit, numbers, " ");
  for (std::sregex_iterator it(plain.begin(), plain.end(), words), end; it != end; ++it)
    if (!is_known_word(it->str())) return false;
  return true;
}

// A refusal, or a unit of our own words only.
void check(const result& r, const std::string& what) {
  const bool unit = r.signal == 0 && r.status == 0 && r.err.empty() && is_safe_unit(r.out);
  CHECK_MESSAGE((unit || is_refusal(r)), what.substr(0, 200) << '\n' << show(r));
}

std::vector<std::string> evil_strings(const fs::path& marker) {
  const std::string touch = "system(\"touch " + marker.string() + "\")";
  return {"\"}; " + touch + "; //",
          "1}>; int x = " + touch + "; /*",
          "\n#include \"/etc/passwd\"\n",
          "\?\?/\n" + touch + ";",
          "$(touch " + marker.string() + ")`touch " + marker.string() + "`",
          "; touch " + marker.string() + " #",
          "-fplugin=" + marker.string(),
          "\\u0022\\\n\\0",
          std::string("nul\0byte", 8),
          std::string(100000, 'A'),
          "yarn",
          "1e999",
          ""};
}

}  // namespace

TEST_CASE("the check itself sees foreign text") {
  const std::string good = run_cke({"build", models + "rope_longrope", "--print-unit"}).out;
  CHECK(is_safe_unit(good));
  for (const char* text : {"system", "x", "\"", "#", ";", "\n", "("}) {
    std::string bad = good;
    CHECK(!is_safe_unit(bad.insert(bad.find(".vocab = ") + 9, text)));
  }
}

TEST_CASE("every key of config.json, with values that are code, or no number that makes sense") {
  const scratch dir;
  const fs::path marker = dir / "executed";
  std::vector<json> values{nullptr,
                           true,
                           -1,
                           0,
                           -0.0,
                           1e308,
                           5e-324,
                           0.5,
                           4294967296,
                           std::numeric_limits<std::uint64_t>::max(),
                           json::array(),
                           json::object(),
                           json::parse("[[[[[[[[1]]]]]]]]"),
                           json{{"__float__", "Infinity"}}};
  for (const std::string& s : evil_strings(marker)) values.push_back(s);
  std::vector<json> nested;  // the same in lists and objects; one of them for each key in turn
  for (const json& v : values) {
    nested.push_back(json::array({v, v}));
    if (v.is_string()) nested.push_back(json{{v.get<std::string>(), v}});
  }
  for (const char* name : {"qwen3_bf16", "rope_longrope"}) {
    const fs::path model = dir.copy(models + name, name);
    const json config = json::parse(content(model / "config.json"));
    const auto attempt = [&](const json& changed) {
      write(model / "config.json", changed.dump());
      check(run_cke({"build", model, "--print-unit"}), changed.dump());
    };
    std::size_t turn = 0;
    for (const auto& [key, usual] : config.items()) {
      for (std::size_t i = 0; i <= values.size(); ++i) {
        json changed = config;
        changed[key] = i < values.size() ? values[i] : nested[turn++ % nested.size()];
        attempt(changed);
      }
      if (usual.is_object())
        for (const auto& [inner, number] : usual.items())
          for (const json& v : values) {
            json changed = config;
            changed[key][inner] = v;
            attempt(changed);
          }
    }
    for (const std::string& s : evil_strings(marker)) {
      json changed = config;
      changed[s] = s, changed["model_type"] = config["model_type"].get<std::string>() + s;
      attempt(changed);
      changed["model_type"] = config["model_type"];
      attempt(changed);
    }
  }
  CHECK(!fs::exists(marker));
}

TEST_CASE("a number in config.json that JSON does not have, or that is longer than any") {
  const scratch dir;
  const fs::path model = dir.copy(models + "qwen3_bf16");
  const std::string config = content(model / "config.json"), key = "\"rms_norm_eps\": ";
  const std::size_t at = config.find(key) + key.size(), size = config.find(',', at) - at;
  for (const std::string& number :
       {std::string("NaN"), std::string("Infinity"), std::string("-Infinity"), std::string("1e999"),
        std::string("-1e999"), std::string("0x10"), std::string("1e-999"), std::string("+1"), std::string(50000, '1'),
        "0." + std::string(50000, '0') + '1', std::string("1}>;int x"), std::string(100000, '['),
        std::string("\"\xff\xfe\"")}) {
    write(model / "config.json", std::string(config).replace(at, size, number));
    check(run_cke({"build", model, "--print-unit"}), number);
  }
}

TEST_CASE("every key of GGUF metadata, with values that are code, or no number that makes sense") {
  const scratch dir;
  const fs::path marker = dir / "executed", file = dir / "model.gguf";
  std::vector<std::pair<gguf_kind, std::string>> values{
      {gguf_kind::f32, bytes_of(std::nanf(""))},
      {gguf_kind::f64, bytes_of(std::numeric_limits<double>::infinity())},
      {gguf_kind::f32, bytes_of(-0.0f)},
      {gguf_kind::u64, bytes_of(~std::uint64_t{0})},
      {gguf_kind::i64, bytes_of(std::int64_t{-1})},
      {gguf_kind::u32, bytes_of(0u)},
      {gguf_kind::f64, bytes_of(1e308)},
      {gguf_kind::boolean, std::string(1, 1)},
      {gguf_kind::array, bytes_of(gguf_kind::string) + bytes_of(std::uint64_t{1}) + gguf_string("\"};")}};
  for (const std::string& s : evil_strings(marker)) values.emplace_back(gguf_kind::string, gguf_string(s));
  for (const char* name : {"gguf/qwen3_tied-yarn-Q8_0.gguf", "gguf/llama_untied-llama3-F16.gguf"}) {
    const gguf_edit original(models + name);
    const auto attempt = [&](const gguf_edit& changed, const std::string& what) {
      write(file, changed.text());
      check(run_cke({"build", file, "--print-unit"}), what);
    };
    write(file, original.text());
    const result unchanged = run_cke({"build", file, "--print-unit"});
    CHECK_MESSAGE((unchanged.status == 0 && is_safe_unit(unchanged.out)), show(unchanged));
    std::size_t turn = 0;
    for (std::size_t i = 0; i < original.entries.size(); ++i) {
      const std::string& key = original.entries[i].key;
      for (std::size_t k = 0; k < (key.starts_with("tokenizer.") ? 3 : values.size()); ++k) {
        gguf_edit changed = original;
        std::tie(changed.entries[i].kind, changed.entries[i].value) = values[turn++ % values.size()];
        attempt(changed, key);
      }
    }
    const std::string family = std::string(name).find("qwen3") != std::string::npos ? "qwen3." : "llama.";
    for (const std::string& s : evil_strings(marker)) {
      gguf_edit changed = original;
      changed.entries.push_back({family + s, gguf_kind::string, gguf_string(s)});
      changed.entries.push_back({s, gguf_kind::f32, bytes_of(1.f)});
      attempt(changed, s);
    }
  }
  CHECK(!fs::exists(marker));
}

TEST_CASE("names of directories and of the compiler are names, whatever is in them") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const fs::path marker = dir / "executed";
  for (const std::string& name :
       {std::string("a\"}; b"), std::string("$(touch executed)"), std::string("`touch executed`; touch executed"),
        std::string("new\nline"), std::string("-o executed")}) {
    const fs::path model = dir.copy(compiler.model, name);
    setting s = compiler.use();
    s.variables[1].second = dir / ("cache " + name);
    const result r = run_cke({"run", model, "--tokens", "1,2,3", "-n", "2", "--ids"}, s);
    CHECK_SUCCESS(r);
    write(model / "config.json", "{}");
    CHECK_REFUSED(run_cke({"run", model, "--tokens", "1"}, s), "model type");
    s.variables[0].second = name;
    CHECK_REFUSED(run_cke({"build", compiler.model}, s), "C++ compiler");
  }
  CHECK(!fs::exists(marker));
  CHECK(!fs::exists("executed"));
}
