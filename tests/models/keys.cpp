// SPDX-License-Identifier: MIT
// keys.cpp: keys are bound to members, in any order; each check is of the member it is about, and a message names the
// key as the file that was read spells it.
#include <doctest/doctest.h>
#include <cke_families.hpp>

#include <algorithm>
#include <boost/pfr/ops_fields.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cke/config_check.hpp"
#include "cke/io/hf_config.hpp"

namespace keys_test {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::runtime;
using namespace cke::text;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}
std::string without(std::string text, std::string_view key) { return text.replace(text.find(key), 1, "x"); }

template <class Family> void same(const auto& keys, const std::string& text, naming as) {
  static rope_factors factors;
  const auto one = read_config<Family>(json{text}, as, &factors),
             other = read_config<Family>(keys, json{text}, as, &factors);
  const bool alike =
      boost::pfr::eq_fields(one.config, other.config) && one.bad.what == other.bad.what && one.bad.key == other.bad.key;
  CAPTURE(one.bad.key);
  CAPTURE(other.bad.key);
  REQUIRE(alike);
}

// With any two of the family's keys swapped, a config that is good, and one that lacks a key.
template <class Family> void swapped(const std::string& text, naming as) {
  std::vector<config_key<typename Family::config>> keys(std::begin(Family::keys), std::end(Family::keys));
  for (std::size_t a = 0; a < keys.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      std::swap(keys[a], keys[b]);
      for (const std::string& t : {text, without(text, as == naming::hf ? "hidden_size" : "embedding_length")})
        same<Family>(keys, t, as);
      std::swap(keys[a], keys[b]);
    }
  std::ranges::reverse(keys);
  same<Family>(keys, text, as);
}

template <class Family> config_problem problem(const std::string& text, naming as = naming::hf) {
  static rope_factors factors;
  return read_config<Family>(json{text}, as, &factors).bad;
}
template <class Family> std::string message(const std::string& text, naming as = naming::hf) {
  rope_factors factors;
  checkpoint from{};
  from.name = "file", from.as = as, from.model_type = name_in<Family>(as), from.config = text;
  try {
    config_of<Family>(from, factors);
  } catch (const Error& e) { return e.what(); }
  return "";
}
const std::string shape = R"("vocab_size": 384, "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 4,
  "num_attention_heads": 6, "num_key_value_heads": 2})";
const std::string gguf_shape =
    R"("vocab_size": 384, "embedding_length": 96, "feed_forward_length": 160, "block_count": 4,
  "attention.head_count": 6, "attention.head_count_kv": 2, "attention.key_length": 24, "context_length": 128})";

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("keys: any two of a family's swapped change nothing") {
  std::set<std::string> read;
  std::vector<std::filesystem::path> folders;
  for (const char* all : {CKE_TEST_DATA "/families", CKE_TEST_DATA "/vision"})
    for (const auto& entry : std::filesystem::directory_iterator(all))
      if (std::filesystem::exists(entry.path() / "config.json")) folders.push_back(entry.path());
  for (const auto& folder : folders) {
    const std::string text = io::detail::text_config(nlohmann::json::parse(text_of(folder / "config.json"))).dump(),
                      file = folder.string() + ".gguf";
    const std::string type(json{text}["model_type"].text());
    CAPTURE(type);
    [&]<class... Families>(list<Families...>) {
      const auto one = [&]<class Family>(Family) {
        if (Family::name != type) return;
        swapped<Family>(text, naming::hf);
        if (std::filesystem::exists(file)) swapped<Family>(gguf_weights(gguf::read(file)).config, naming::gguf);
        read.insert(type);
      };
      (one(Families{}), ...);
    }(families{});
  }
  CHECK(read.size() >= 29);  // llama and qwen3 are in models/
}

TEST_CASE("keys: a member's name is as C++ spells it") {
  CHECK(member_name<&rotary::theta>() == "theta");
  CHECK(member_name<&gemma4_config::global_head_dim>() == "global_head_dim");
  CHECK(bind<&qwen3_config::kv_heads>("a").name == "kv_heads");
}

TEST_CASE("keys: a rope is held against the heads that it turns") {
  const std::string layers = R"("hidden_size_per_layer_input": 0,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"], )";
  using gemma4_family = family<"gemma4_text">;
  static rope_factors factors;
  for (const char* larger :
       {R"("per_layer_config": {"1": {"head_dim": 512}, "3": {"head_dim": 512}}, )", R"("global_head_dim": 512, )"}) {
    const std::string text = std::string(R"({"head_dim": 24, )") + larger + layers + shape;
    const auto [c, bad] = read_config<gemma4_family>(json{text}, naming::hf, &factors);
    CHECK(bad.what == trouble::none);
    CHECK((c.head_dim == 24 && c.global_head_dim == 512 && c.rope.dims == 128 && c.local_rope.dims == 24));
  }
  // Smaller ones, too; and each is refused by the key that it comes from.
  const auto with = [&](const std::string& more) {
    return std::string(problem<gemma4_family>("{" + more + layers + shape).key);
  };
  CHECK(with(R"("head_dim": 512, "global_head_dim": 24, )") == "");
  CHECK(with(R"("head_dim": 25, )") == "head_dim");
  CHECK(with(R"("global_head_dim": 25, )") == "global_head_dim");
  CHECK(with(R"("per_layer_config": {"1": {"head_dim": 25}, "3": {"head_dim": 25}}, )") == "per_layer_config");
  CHECK(with(R"("rope_parameters": {"full_attention": {"rope_type": "default", "partial_rotary_factor": 0.01}}, )") ==
        "partial_rotary_factor");
  CHECK(with(R"("rope_parameters": {"sliding_attention": {"rope_theta": 0}}, )") == "rope_theta");
  CHECK(problem<gemma4_family>(R"({"rope.dimension_count": 30, "attention.key_length_swa": 48, )" + gguf_shape,
                               naming::gguf)
            .key == "rope.dimension_count");
  CHECK(problem<gemma4_family>(R"({"rope.dimension_count": 24, "attention.key_length_swa": 12, )" + gguf_shape,
                               naming::gguf)
            .key == "");
  CHECK(problem<family<"gemma3_text">>(R"({"rope_local_base_freq": 0, )" + shape).key == "rope_local_base_freq");
  CHECK(problem<family<"gemma3_text">>(R"({"rope.freq_base_swa": 0, )" + gguf_shape, naming::gguf).key ==
        "rope.freq_base_swa");
  CHECK(problem<family<"glm4">>(R"({"head_dim": 24, "partial_rotary_factor": 0.3, )" + shape).key ==
        "partial_rotary_factor");  // 7 dims
  CHECK(problem<family<"glm4">>(R"({"rope.dimension_count": 7, )" + gguf_shape, naming::gguf).key ==
        "rope.dimension_count");
  CHECK(problem<family<"glm4">>(R"({"head_dim": 22, )" + shape).key == "head_dim");  // half of it is odd
}

TEST_CASE("keys: a message names the keys of the file") {
  using qwen = family<"qwen3">;
  CHECK(has(message<qwen>(R"({"num_attention_heads": 5, )" + shape),
            "config key num_attention_heads: expected a multiple of num_key_value_heads"));
  CHECK(has(message<qwen>(R"({"attention.head_count": 5, )" + gguf_shape, naming::gguf),
            "config key attention.head_count: expected a multiple of attention.head_count_kv"));
  CHECK(has(message<qwen>(R"({"rope.dimension_count": 26, )" + gguf_shape, naming::gguf),
            "config key rope.dimension_count: expected an even number up to attention.key_length"));
  CHECK(has(message<qwen>(R"({"attention.key_length": 25, )" + gguf_shape, naming::gguf),
            "config key attention.key_length: expected an even number"));
  CHECK(has(message<family<"glm4">>(R"({"head_dim": 24, "partial_rotary_factor": 0.3, )" + shape),
            "config key partial_rotary_factor: expected an even number of dims of head_dim, found 0.3"));

  using mixture = family<"qwen3_moe">;
  const auto experts = [](const char* key) {
    return std::string(R"({"moe_intermediate_size": 40, "num_experts_per_tok": 8, ")") + key + "\": 7, " + shape;
  };
  CHECK(has(message<mixture>(experts("num_experts")), "num_experts_per_tok: expected at most num_experts"));
  CHECK(has(message<mixture>(experts("num_local_experts")), "num_experts_per_tok: expected at most num_local_experts"));
  CHECK(has(
      message<mixture>(R"({"expert_feed_forward_length": 40, "expert_used_count": 8, "expert_count": 7, )" + gguf_shape,
                       naming::gguf),
      "expert_used_count: expected at most expert_count"));
  const auto groups = [](const char* more) {
    return message<family<"glm4_moe">>(
        std::string(R"({"moe_intermediate_size": 40, "num_experts_per_tok": 4, "n_routed_experts": 12, )") + more +
        shape);
  };
  CHECK(
      has(groups(R"("n_group": 4, "topk_group": 1, )"), "topk_group: expected enough groups for num_experts_per_tok"));
  CHECK(has(groups(R"("n_group": 2, "topk_group": 3, )"), "topk_group: expected at most n_group"));

  using next = family<"qwen3_next">;
  CHECK(has(
      message<next>(
          R"({"ssm.time_step_rank": 5, "ssm.group_count": 2, "expert_feed_forward_length": 8, "expert_count": 4, "expert_used_count": 2,
    "expert_shared_feed_forward_length": 8, )" +
              gguf_shape,
          naming::gguf),
      "ssm.time_step_rank: expected a multiple of ssm.group_count"));
  CHECK(has(message<family<"granitemoehybrid">>(
                R"({"layer_types": ["mamba", "conv", "mamba", "mamba"], "mamba_n_heads": 6, )" + shape),
            "layer_types: expected linear_attention, mamba, full_attention or attention, found \"conv\""));
  CHECK(has(message<family<"granitemoehybrid">>(R"({"mamba_n_heads": 6, "mamba_n_groups": 4, )" + shape),
            "mamba_n_groups: expected a divisor of mamba_n_heads"));
  CHECK(has(message<family<"gemma2">>(R"({"sliding_window_pattern": "x", )" + shape),
            "sliding_window_pattern: expected full_attention or sliding_attention"));
  CHECK(has(message<family<"llama">>(R"({"rope_scaling": {"type": "linear"}, )" + shape),
            "config key rope_scaling.factor: expected this key"));
  CHECK(has(message<family<"llama">>(R"({"rope_parameters": {"rope_type": "linear"}, )" + shape),
            "config key rope_parameters.factor: expected this key"));
  CHECK(has(message<family<"llama">>(R"({"rope.scaling.type": "linear", )" + gguf_shape, naming::gguf),
            "config key rope.scaling.factor: expected this key"));
  CHECK(has(message<family<"llama">>(R"({"rope_scaling": {"type": "ntk", "factor": 2}, )" + shape),
            "config key type: expected default, linear"));
}

TEST_CASE("keys: families that share an architecture in GGUF know theirs by the metadata") {
  const auto is = []<class Family>(Family, const char* architecture, const char* metadata) {
    return is_of<Family>(architecture, json{metadata}, naming::gguf);
  };
  CHECK((is(family<"llama">{}, "llama", "{}") && !is(family<"mixtral">{}, "llama", "{}") &&
         !is(family<"mistral">{}, "llama", "{}")));
  CHECK((is(family<"mixtral">{}, "llama", R"({"expert_count": 8})") &&
         !is(family<"llama">{}, "llama", R"({"expert_count": 8})")));
  CHECK((is(family<"deepseek_v2">{}, "deepseek2", "{}") && !is(family<"deepseek_v3">{}, "deepseek2", "{}")));
  CHECK((is(family<"deepseek_v3">{}, "deepseek2", R"({"expert_gating_func": 2})") &&
         !is(family<"deepseek_v2">{}, "deepseek2", R"({"expert_gating_func": 2})")));
  CHECK((is(family<"nemotron_h">{}, "nemotron_h", "{}") && is(family<"nemotron_h">{}, "nemotron_h_moe", "{}") &&
         !is(family<"nemotron_h">{}, "nemotron", "{}")));
}

}  // namespace keys_test
