// SPDX-License-Identifier: MIT
// config.cpp: config.json in every spelling, GGUF metadata, and what is wrong with a config that is no good.
#include "cke/models/config.hpp"

#include <doctest/doctest.h>

#include <string>

#include "cke/models/llama.hpp"
#include "cke/models/qwen3.hpp"

using namespace cke;

namespace {

using qwen = family<"qwen3">;
using llm = family<"llama">;

// A good config with `more` in it: later members of an object do not win, so `more` comes first.
std::string qwen_text(const std::string& more = "") {
  return "{" + more + R"("model_type": "qwen3", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 160,
    "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 24, "rms_norm_eps": 1e-06,
    "hidden_act": "silu", "tie_word_embeddings": true})";
}
std::string llama_text(const std::string& more = "") {
  return "{" + more +
      R"("vocab_size": 512, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 3, "num_attention_heads": 8})";
}

template <class Family> parsed_config<typename Family::config> read(const std::string& text, naming as = naming::hf) {
  static rope_factors factors;
  factors = {};
  return read_config<Family>(json{text}, as, &factors);
}

struct wrong {
  trouble what;
  std::string key, found, wanted;
  double least, most;
};
template <class Family> wrong problem(const std::string& text, naming as = naming::hf) {
  const config_problem bad = read<Family>(text, as).bad;
  return {bad.what, std::string(bad.key), std::string(bad.found), std::string(bad.wanted), bad.least, bad.most};
}
void refused(const std::string& more, trouble what, const std::string& key, const std::string& found,
             const std::string& wanted = "") {
  const std::string text = qwen_text(more);
  CAPTURE(text);
  const wrong w = problem<qwen>(text);
  CHECK(w.what == what);
  CHECK(w.key == key);
  CHECK(w.found == found);
  CHECK(w.wanted == wanted);
}
void out_of_range(const std::string& key, const std::string& value, double least, double most) {
  refused("\"" + key + "\": " + value + ", ", trouble::out_of_range, key, value);
  const wrong w = problem<qwen>(qwen_text("\"" + key + "\": " + value + ", "));
  CHECK(w.least == least);
  CHECK(w.most == most);
}

}  // namespace

TEST_CASE("config: every field of a plain config") {
  const auto [c, bad] =
      read<qwen>(qwen_text(R"("attention_bias": true, "max_position_embeddings": 4096, "rope_theta": 5e6, )"));
  CHECK(bad.what == trouble::none);
  CHECK(c.vocab == 512);
  CHECK(c.dim == 64);
  CHECK(c.hidden == 160);
  CHECK(c.layers == 3);
  CHECK(c.heads == 6);
  CHECK(c.kv_heads == 2);
  CHECK(c.head_dim == 24);
  CHECK(c.eps.v == 1e-6);
  CHECK(c.tied);
  CHECK(c.attention_bias);
  CHECK(c.rope.theta.v == 5e6);
  CHECK(c.rope.max_position == 4096);
  CHECK(c.rope.rule == rope_scaling::none);
}

TEST_CASE("config: keys that may be absent or null have their defaults") {
  for (
      const char* more :
      {"",
       R"("num_key_value_heads": null, "head_dim": null, "rope_scaling": null, "rope_theta": null, "mlp_bias": null, )"}) {
    const auto [c, bad] = read<llm>(llama_text(more));
    CHECK(bad.what == trouble::none);
    CHECK(c.kv_heads == 8);
    CHECK(c.head_dim == 8);
    CHECK(c.eps.v == 1e-6);
    CHECK(!c.tied);
    CHECK(!c.attention_bias);
    CHECK(!c.mlp_bias);
    CHECK(c.rope.theta.v == 1e4);
  }
  // ... and those that a family cannot do without have none
  const wrong w = problem<llm>(R"({"vocab_size": 512, "hidden_size": null, "intermediate_size": 160})");
  CHECK(w.what == trouble::missing);
  CHECK(w.key == "hidden_size");
}

TEST_CASE("config: a rope rule as published, as transformers 5 writes it, and in GGUF") {
  const std::string numbers =
      R"("factor": 4.0, "beta_fast": 16, "beta_slow": 2, "attention_factor": 0.8, "original_max_position_embeddings": 32)";
  const auto old = read<qwen>(
      qwen_text("\"rope_theta\": 1e5, \"max_position_embeddings\": 128, \"rope_scaling\": {\"type\": \"yarn\", " +
                numbers + "}, "));
  const auto now = read<qwen>(qwen_text(
      "\"max_position_embeddings\": 128, \"rope_parameters\": {\"rope_type\": \"yarn\", \"rope_theta\": 1e5, " +
      numbers + "}, "));
  CHECK(old.bad.what == trouble::none);
  CHECK(old.config.rope == now.config.rope);
  CHECK(now.config.rope.rule == rope_scaling::yarn);
  CHECK(now.config.rope.theta.v == 1e5);
  CHECK(now.config.rope.factor.v == 4);
  CHECK(now.config.rope.beta_fast.v == 16);
  CHECK(now.config.rope.beta_slow.v == 2);
  CHECK(now.config.rope.attention_factor.v == 0.8);
  CHECK(now.config.rope.original == 32);
  CHECK(now.config.rope.max_position == 128);

  const auto gguf = read<qwen>(
      R"({"vocab_size": 512, "embedding_length": 64, "feed_forward_length": 160, "block_count": 3, "attention.head_count": 6,
    "attention.head_count_kv": 2, "attention.key_length": 24, "attention.layer_norm_rms_epsilon": 1e-06, "tied": true, "attention_bias": false,
    "context_length": 128, "rope.freq_base": 1e5, "rope.scaling.type": "yarn", "rope.scaling.factor": 4, "rope.scaling.original_context_length": 32,
    "rope.scaling.yarn_beta_fast": 16, "rope.scaling.yarn_beta_slow": 2, "rope.scaling.attn_factor": 0.8, "rope.dimension_count": 24})",
      naming::gguf);
  CHECK(gguf.bad.what == trouble::none);
  CHECK(gguf.config.heads == 6);
  CHECK(gguf.config.kv_heads == 2);
  CHECK(gguf.config.eps.v == 1e-6);
  rotary same = now.config.rope;
  same.dims = 24;  // GGUF writes it
  CHECK(gguf.config.rope == same);
}

TEST_CASE("config: each rule, and what it is called") {
  const std::pair<const char*, rope_scaling> words[]{{"default", rope_scaling::none},
                                                     {"linear", rope_scaling::linear},
                                                     {"dynamic", rope_scaling::dynamic},
                                                     {"llama3", rope_scaling::llama3},
                                                     {"yarn", rope_scaling::yarn}};
  for (const auto& [word, rule] : words)
    for (const char* key : {"type", "rope_type"}) {
      const auto [c, bad] = read<qwen>(qwen_text("\"max_position_embeddings\": 99, \"rope_scaling\": {\"" +
                                                 std::string(key) + "\": \"" + word + "\", \"factor\": 2}, "));
      CHECK(bad.what == trouble::none);
      CHECK(c.rope.rule == rule);
      CHECK(c.rope.factor.v == (rule == rope_scaling::none ? 1 : 2));
      CHECK(c.rope.original == (rule == rope_scaling::none ? 0 : 99));  // the length that it was trained for
    }
}

TEST_CASE("config: longrope's lists") {
  static rope_factors factors;
  factors = {};
  const std::string text =
      llama_text(R"("max_position_embeddings": 64, "rope_scaling": {"type": "su", "long_factor": [1, 2.5, 4, 5],
        "short_factor": [1.5, 1, 1, 7]}, )");
  const auto [c, bad] = read_config<llm>(json{text}, naming::hf, &factors);
  CHECK(bad.what == trouble::none);
  CHECK(c.rope.rule == rope_scaling::longrope);
  CHECK(c.rope.factors == &factors);
  CHECK(factors.long_count == 4);
  CHECK(factors.longs[1] == 2.5);
  CHECK(factors.shorts[3] == 7);
  const auto list = [](const std::string& longs) {
    return problem<llm>(
        llama_text(R"("max_position_embeddings": 64, "rope_scaling": {"type": "longrope", "long_factor": )" + longs +
                   R"(, "short_factor": [1, 1, 1, 1]}, )"));
  };
  CHECK(list("[1, 2, 3, 4]").what == trouble::none);
  CHECK(list("null").what == trouble::missing);
  CHECK(list("7").what == trouble::not_a_number);
  CHECK(list("[1, 0]").what == trouble::out_of_range);
  CHECK(list("[1, \"2\"]").found == "\"2\"");
  std::string many = "[1";
  for (u32 i = 0; i < std::size(factors.longs); ++i) many += ", 1";
  CHECK(list(many + "]").what == trouble::out_of_range);
  CHECK(list("[1, 2, 3, 4]").key.empty());
  // A number for each pair of the eight dims that turn.
  for (const char* both : {R"("long_factor": [1, 2, 3], "short_factor": [1, 2, 3, 4])",
                           R"("long_factor": [1, 2, 3, 4], "short_factor": [1, 2, 3, 4, 5])",
                           R"("long_factor": [], "short_factor": [])"}) {
    factors = {};
    const std::string wrong = llama_text(R"("max_position_embeddings": 64, "rope_scaling": {"type": "longrope", )" +
                                         std::string(both) + "}, ");
    const auto found = read_config<llm>(json{wrong}, naming::hf, &factors).bad;
    CHECK(found.what == trouble::unsupported);
    CHECK(found.key.ends_with("_factor"));
    CHECK(found.wanted == "a number for every two dims that turn");
  }
}

TEST_CASE("config: rope_scaling counts before rope_parameters, as in transformers") {
  const std::string length = R"("max_position_embeddings": 128, )",
                    now = R"("rope_parameters": {"rope_type": "default", "rope_theta": 5e5}, )",
                    old = R"("rope_scaling": {"rope_type": "yarn", "factor": 4, )"
                          R"("original_max_position_embeddings": 32}, )";
  const auto [c, bad] = read<qwen>(qwen_text(length + now + old));
  CHECK(bad.what == trouble::none);
  CHECK(c.rope.rule == rope_scaling::yarn);
  CHECK(c.rope.factor.v == 4);
  for (const char* none : {"null", "{}"})
    CHECK(read<qwen>(qwen_text(length + now + R"("rope_scaling": )" + none + ", ")).config.rope.theta.v == 5e5);
}

TEST_CASE("config: infinity as transformers spells it is out of every range") {
  refused(R"("rms_norm_eps": {"__float__": "Infinity"}, )", trouble::out_of_range, "rms_norm_eps",
          R"({"__float__": "Infinity"})");
  refused(R"("rms_norm_eps": {"__float__": "NaN"}, )", trouble::not_a_number, "rms_norm_eps",
          R"({"__float__": "NaN"})");
}

TEST_CASE("config: a key that is missing is named") {
  for (const char* key :
       {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"}) {
    std::string text = qwen_text();
    text.replace(text.find(key), 1, "x");
    const wrong w = problem<qwen>(text);
    CHECK(w.what == trouble::missing);
    CHECK(w.key == key);
    CHECK(w.found == "");
  }
  const wrong w = problem<qwen>(R"({"vocab_size": 512})", naming::gguf);
  CHECK(w.what == trouble::missing);
  CHECK(w.key == "embedding_length");
}

TEST_CASE("config: values of another kind") {
  refused(R"("hidden_size": "64", )", trouble::not_a_number, "hidden_size", "\"64\"");
  refused(R"("hidden_size": [64], )", trouble::not_a_number, "hidden_size", "[64]");
  refused(R"("hidden_size": true, )", trouble::not_a_number, "hidden_size", "true");
  refused(R"("tie_word_embeddings": 1, )", trouble::not_a_bool, "tie_word_embeddings", "1");
  refused(R"("attention_bias": "true", )", trouble::not_a_bool, "attention_bias", "\"true\"");
  refused(R"("rope_scaling": 7, )", trouble::not_a_number, "rope_scaling", "7");
  refused(R"("rope_parameters": {"rope_type": 7}, )", trouble::unknown_word, "rope_type", "7",
          "default, linear, dynamic, llama3, yarn, longrope or proportional");
}

TEST_CASE("config: numbers that no model has") {
  out_of_range("vocab_size", "0", 1, 1 << 24);
  out_of_range("vocab_size", "16777217", 1, 1 << 24);
  out_of_range("hidden_size", "64.5", 1, 1 << 20);
  out_of_range("hidden_size", "-64", 1, 1 << 20);
  out_of_range("num_hidden_layers", "1025", 1, 1024);
  out_of_range("num_hidden_layers", "1e300", 1, 1024);
  out_of_range("head_dim", "1", 2, 1024);
  out_of_range("head_dim", "1026", 2, 1024);
  out_of_range("rms_norm_eps", "0", 1e-12, 1e-1);
  out_of_range("rms_norm_eps", "1", 1e-12, 1e-1);
  CHECK(problem<qwen>(qwen_text("\"rope_theta\": 0.5, ")).what == trouble::out_of_range);
  CHECK(problem<qwen>(qwen_text(R"("rope_scaling": {"rope_type": "linear", "factor": 0}, )")).what ==
        trouble::out_of_range);
  CHECK(problem<qwen>(qwen_text("\"hidden_size\": 1048576, ")).what == trouble::none);  // the limit itself is sane
}

TEST_CASE("config: numbers that do not go together") {
  refused("\"num_attention_heads\": 5, ", trouble::unsupported, "num_attention_heads", "", "a multiple of");
  refused("\"head_dim\": 25, ", trouble::unsupported, "head_dim", "", "an even number");
  const std::string gguf =
      R"({"vocab_size": 512, "embedding_length": 64, "feed_forward_length": 160, "block_count": 3, "attention.head_count": 6,
    "attention.head_count_kv": 2, "attention.key_length": 24, "rope.dimension_count": )";
  CHECK(problem<qwen>(gguf + "26}", naming::gguf).key == "rope.dimension_count");
  CHECK(problem<qwen>(gguf + "12}", naming::gguf).what == trouble::none);
}

TEST_CASE("config: features that a family does not have") {
  refused(R"("hidden_act": "gelu", )", trouble::unsupported, "hidden_act", "\"gelu\"", "silu");
  refused(R"("use_sliding_window": true, )", trouble::unsupported, "use_sliding_window", "true", "false");
  refused(R"("mlp_bias": true, )", trouble::unsupported, "mlp_bias", "true", "false");
  refused(R"("rope_scaling": {"rope_type": "ntk"}, )", trouble::unknown_word, "rope_type", "\"ntk\"",
          "default, linear, dynamic, llama3, yarn, longrope or proportional");
  refused(R"("partial_rotary_factor": 0.5, )", trouble::unsupported, "partial_rotary_factor", "0.5", "1");
  refused(R"("rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}, )", trouble::unsupported,
          "partial_rotary_factor", "0.25", "1");
  for (const char* fine :
       {R"("hidden_act": "silu", )", R"("use_sliding_window": false, )", R"("sliding_window": null, )",
        R"("partial_rotary_factor": 1.0, )", R"("new_key": {"a": [1, "}"]}, )"})
    CHECK(problem<qwen>(qwen_text(fine)).what == trouble::none);
}
