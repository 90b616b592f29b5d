// SPDX-License-Identifier: MIT
// adapter_file.cpp: implements adapter_file.hpp.
#include "adapter_file.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <cke/io/hf_dir.hpp>
#include <cke/kernels/formats/convert.hpp>

#include "commands.hpp"
#include "json_text.hpp"

namespace cke::tool {
namespace {

constexpr std::string_view saved_prefix = "base_model.model.";

std::string_view module_of(std::string_view tensor) { return tensor.substr(0, tensor.rfind('.')); }

std::vector<float> float_numbers(const tensor_ref& t) {
  std::vector<float> out(t.shape[0] * t.shape[1]);
  kernels::to_f32(t.type, t.bytes.data(), static_cast<u32>(out.size()), out.data());
  return out;
}

// What the key of a pattern says of a module: PEFT takes a key as the end of a name, or as a regular expression, which
// is refused here.
double by_pattern(const nlohmann::json& patterns, std::string_view module, double otherwise, const std::string& file) {
  for (const auto& [key, value] : patterns.items()) {
    if (key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != key.npos)
      throw Error(errc::unsupported, file, "rank_pattern, alpha_pattern", "names of modules", key);
    if (module == key || module.ends_with('.' + key)) return value.get<double>();
  }
  return otherwise;
}

void refuse_other_kinds(const nlohmann::json& config, const std::string& file) {
  const auto refuse = [&](const char* key, const char* expected) {
    throw Error(errc::unsupported, file, key, expected, shown(config.at(key)));
  };
  if (config.value("peft_type", "") != "LORA")
    throw Error(errc::unsupported, file, "peft_type", "\"LORA\"", config.value("peft_type", "none"));
  for (const char* key : {"use_dora", "fan_in_fan_out", "lora_bias"})
    if (config.contains(key) && config[key].is_boolean() && config[key].get<bool>()) refuse(key, "false");
  if (config.contains("bias") && config["bias"] != "none") refuse("bias", "\"none\"");
  for (const char* key : {"modules_to_save", "target_parameters", "trainable_token_indices", "alora_invocation_tokens",
                          "arrow_config", "layer_replication"})
    if (config.contains(key) && !config[key].is_null() && !config[key].empty()) refuse(key, "null");
  // PEFT changes the matrices themselves when it loads an addition that began in one of the other ways.
  const auto begun = config.find("init_lora_weights");
  if (begun != config.end() && begun->is_string() && *begun != "gaussian" && *begun != "eva" && *begun != "orthogonal")
    refuse("init_lora_weights", "true, false, \"gaussian\", \"eva\" or \"orthogonal\"");
}

}  // namespace

std::vector<float> adapter_pair::a_numbers() const { return float_numbers(*a); }
std::vector<float> adapter_pair::b_numbers() const { return float_numbers(*b); }

const adapter_pair* adapter::find(std::string_view tensor) const {
  const auto at = std::ranges::find(pairs, tensor, &adapter_pair::tensor);
  return at == pairs.end() ? nullptr : &*at;
}

std::string adapter_name(std::string_view tensor, char which) {
  return std::string(saved_prefix) + std::string(module_of(tensor)) + ".lora_" + which + ".weight";
}

adapter read_adapter(const std::string& folder) {
  const std::string file = folder + "/adapter_config.json", weights = folder + "/adapter_model.safetensors";
  adapter out{folder, 0, 0, {}, {}};
  nlohmann::json config;
  float alpha{};
  bool root = false;
  try {
    config = nlohmann::json::parse(file_text(file));
    refuse_other_kinds(config, file);
    out.rank = config.at("r").get<u32>(), alpha = config.at("lora_alpha").get<float>();
    root = config.contains("use_rslora") && config["use_rslora"].get<bool>();
    out.alpha = root ? alpha * std::sqrt(static_cast<float>(out.rank)) : alpha;
  } catch (const nlohmann::json::exception& e) {
    throw Error(errc::malformed, file, {}, "the config of low-rank additions", e.what());
  }
  out.tensors = read_safetensors(weights);
  const nlohmann::json none = nlohmann::json::object(),
                       &ranks = config.contains("rank_pattern") ? config["rank_pattern"] : none,
                       &alphas = config.contains("alpha_pattern") ? config["alpha_pattern"] : none;
  for (const tensor_ref& t : out.tensors.tensors()) {
    const std::string about = "tensor " + std::string(t.name);
    const bool is_a = t.name.ends_with(".lora_A.weight"), is_b = t.name.ends_with(".lora_B.weight");
    if (!t.name.starts_with(saved_prefix) || (!is_a && !is_b))
      throw Error(errc::tensor_unknown, weights, about, "base_model.model.(name).lora_A.weight or lora_B", "this one");
    if (t.shape.size() != 2 || !kernels::convertible(t.type) || t.type == dtype::q8_0)
      throw Error(errc::tensor_dtype, weights, about, "a matrix in f32, f16 or bf16", t.stored);
    if (is_b) continue;
    const std::string module(
        std::string_view(t.name).substr(saved_prefix.size(), t.name.size() - saved_prefix.size() - 14));
    const tensor_ref* const b = out.tensors.find(adapter_name(module + ".weight", 'B'));
    if (!b)
      throw Error(errc::tensor_missing, weights, "tensor " + adapter_name(module + ".weight", 'B'), "this tensor",
                  "none");
    const auto rank = static_cast<u32>(by_pattern(ranks, module, out.rank, file));
    if (t.shape[0] != rank || b->shape.size() != 2 || b->shape[1] != rank || rank == 0)
      throw Error(errc::tensor_shape, weights, about, "as many rows as rank " + std::to_string(rank),
                  std::to_string(t.shape[0]));
    const double own = by_pattern(alphas, module, double(alpha), file);
    out.pairs.push_back(
        {module + ".weight", &t, b, rank, static_cast<float>(own / (root ? std::sqrt(double(rank)) : double(rank)))});
  }
  if (2 * out.pairs.size() != out.tensors.tensors().size() || out.pairs.empty())
    throw Error(errc::malformed, weights, {}, "a lora_B for each lora_A", "others");
  return out;
}

std::string adapter_config(const std::string& base, u32 rank, float alpha, const std::vector<std::string>& targets) {
  return nlohmann::ordered_json{{"peft_type", "LORA"},
                                {"task_type", "CAUSAL_LM"},
                                {"base_model_name_or_path", base},
                                {"r", rank},
                                {"lora_alpha", alpha},
                                {"lora_dropout", 0.0},
                                {"bias", "none"},
                                {"fan_in_fan_out", false},
                                {"inference_mode", true},
                                {"init_lora_weights", true},
                                {"target_modules", targets}}
             .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
      '\n';
}

}  // namespace cke::tool
