// SPDX-License-Identifier: MIT
// hf_vision.hpp: loads the vision tower of a Hugging Face directory as a checkpoint of its own.
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint.hpp"
#include "hf_config.hpp"
#include "hf_dir.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

namespace detail {

// A model with a tower: the model_type of config.json, the family of the tower, what else of config.json the tower's
// config needs, and the model_type that its vision_config must have, if the model takes several towers.
struct borrowed_key {
  std::string_view path, usual{};  // usual: JSON, where neither config has it; empty: what the tower's family says
};
struct tower_of_model {
  std::string_view model_type, tower;
  std::array<borrowed_key, 8> borrows{};
  std::string_view vision_type{};
  bool alone{};  // a tensor without a prefix is the tower's
};
inline constexpr tower_of_model towers_of_models[] = {
    {"siglip", "siglip_vision_model"},
    {"siglip_vision_model", "siglip_vision_model", {}, {}, true},
    {"gemma3", "gemma3_vision", {{{"mm_tokens_per_image"}, {"text_config.hidden_size"}}}},
    {"gemma4", "gemma4_vision", {{{"text_config.hidden_size"}}}},
    {"qwen3_vl", "qwen3_vl_vision"},
    {"qwen3_vl_moe", "qwen3_vl_vision"},
    {"qwen3_5", "qwen3_5_vision"},
    {"qwen3_5_moe", "qwen3_5_vision"},
    {"qwen2_5_vl", "qwen2_5_vl_vision"},
    {"lfm2_vl",
     "lfm2_vl_vision",
     {{{"downsample_factor"},
       {"projector_hidden_act"},
       {"projector_hidden_size"},
       {"projector_bias"},
       {"projector_use_layernorm"},
       {"text_config.hidden_size"}}},
     "siglip2_vision_model"},
    {"idefics3", "idefics3_vision", {{{"scale_factor"}, {"text_config.hidden_size"}}}},
    {"smolvlm", "idefics3_vision", {{{"scale_factor"}, {"text_config.hidden_size"}}}},
    {"llava",
     "pixtral_vision",
     {{{"hidden_act", R"("gelu")"},
       {"projector_hidden_act"},
       {"vision_feature_layer", "-2"},
       {"vision_feature_select_strategy", R"("default")"},
       {"multimodal_projector_bias"},
       {"text_config.hidden_size"}}},
     "pixtral"},
    {"mistral3",
     "mistral3_vision",
     {{{"hidden_act", R"("gelu")"},
       {"projector_hidden_act"},
       {"vision_feature_layer"},
       {"multimodal_projector_bias"},
       {"spatial_merge_size"},
       {"text_config.hidden_size"},
       {"text_config.rms_norm_eps"}}},
     "pixtral"},
};

// The value at a path of keys with dots between them; null: none.
inline nlohmann::json value_at(const nlohmann::json& config, std::string_view path) {
  const nlohmann::json* at = &config;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const auto next = at->is_object() ? at->find(path.substr(begin, end - begin)) : at->end();
    if (!at->is_object() || next == at->end()) return {};
    at = &*next, begin = end + 1;
  }
  return *at;
}

// The config of a tower: its own object, or all of config.json for a tower alone, with what it borrows under its path.
// The rope's base is a key of its own.
inline nlohmann::json vision_config(const nlohmann::json& config, const tower_of_model& model) {
  const auto nested = config.find("vision_config");
  nlohmann::json tower = nested != config.end() && nested->is_object() ? *nested : config;
  if (const auto theta = value_at(tower, "rope_parameters.rope_theta");
      !theta.is_null() && !tower.contains("rope_theta"))
    tower["rope_theta"] = theta;
  for (const borrowed_key& key : model.borrows) {
    const std::string path(key.path);
    if (path.empty() || tower.contains(path)) continue;
    if (const auto value = value_at(config, path); !value.is_null()) tower[path] = value;
    else if (!key.usual.empty()) tower[path] = nlohmann::json::parse(key.usual);
  }
  if (const auto act = value_at(tower, "hidden_act"); act.is_string()) tower["hidden_act_is_gelu"] = act == "gelu";
  return tower;
}

// The name of a tower's tensor after the prefixes of the model; a projector's keeps its own. Empty: not the tower's.
inline std::string_view name_in_tower(std::string_view name, bool alone) {
  const auto drop = [&](std::string_view prefix) {
    const bool has = name.starts_with(prefix);
    if (has) name.remove_prefix(prefix.size());
    return has;
  };
  drop("model.");
  for (const std::string_view projector : {"multi_modal_projector.", "embed_vision.", "connector."})
    if (name.starts_with(projector)) return name;
  const bool is_tower = drop("vision_tower.") || drop("visual.");
  return drop("vision_model.") || is_tower || alone ? name : std::string_view();
}
// Those of a prefix, perhaps after "model.", without it.
inline tensor_index tensors_below(std::string_view prefix, const tensor_index& all) {
  std::vector<tensor_ref> kept;
  for (const tensor_ref& t : all.tensors()) {
    std::string_view name = t.name;
    if (name.starts_with("model.")) name.remove_prefix(6);
    if (!name.starts_with(prefix) || name.ends_with("position_ids")) continue;
    kept.push_back(t);
    kept.back().name = std::string(name.substr(prefix.size()));
  }
  return tensor_index(std::move(kept));
}
inline tensor_index vision_tensors(const tensor_index& all, const tower_of_model& model) {
  std::vector<tensor_ref> kept;
  for (const tensor_ref& t : all.tensors()) {
    const std::string_view name = name_in_tower(t.name, model.alone);
    if (name.empty() || name.ends_with("position_ids")) continue;  // those are counted, not learned
    kept.push_back(t);
    kept.back().name = std::string(name);
  }
  return tensor_index(std::move(kept));
}

inline std::string model_type_of(const nlohmann::json& config) {
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() ? type->get<std::string>() : std::string();
}
// The row of a config; null: none.
inline const tower_of_model* tower_of(const nlohmann::json& config) {
  const auto* const row = std::ranges::find(towers_of_models, model_type_of(config), &tower_of_model::model_type);
  return row == std::end(towers_of_models) ? nullptr : row;
}

}  // namespace detail

// Whether a directory's model has a vision tower that cke knows; false too without a config.json.
inline bool has_tower(const std::string& dir) {
  const hf_files files = read_hf_files(dir);
  return !files.config.empty() &&
      detail::tower_of(detail::checked_object(files.config, files.path("config.json"))) != nullptr;
}

// What of a model is loaded: its tower; that of SigLIP with the head that makes one row of an image; SigLIP's tower of
// texts.
enum class tower_part : u8 { features, pooled, text };

// Throws Error: file, malformed, and unsupported for a model without a tower that cke knows, or without that part.
inline checkpoint hf_vision(const std::string& dir, tower_part part = tower_part::features) {
  const hf_files files = read_hf_files(dir);
  if (files.config.empty()) throw Error(errc::file, files.path("config.json"), {}, "a file", "none");
  const nlohmann::json all = detail::checked_object(files.config, files.path("config.json"));
  const std::string name = detail::model_type_of(all);
  const auto* const model = detail::tower_of(all);
  if (!model) {
    std::string known;
    for (const auto& t : detail::towers_of_models) known += (known.empty() ? "" : ", ") + std::string(t.model_type);
    throw Error(errc::unsupported, dir, "model type with a vision tower", "one of " + known,
                name.empty() ? "none" : name);
  }
  const nlohmann::json vision = detail::vision_config(all, *model);
  if (const auto of = detail::value_at(vision, "model_type"); !model->vision_type.empty() && of != model->vision_type)
    throw Error(errc::unsupported, files.path("config.json"), "vision_config.model_type",
                std::string(model->vision_type), of.is_string() ? of.get<std::string>() : "none");
  checkpoint c;
  c.name = dir, c.as = naming::hf, c.model_type = model->tower;
  if (part == tower_part::pooled) {
    if (c.model_type != "siglip_vision_model")
      throw Error(errc::unsupported, dir, "model type with a pooled row", "siglip or siglip_vision_model", name);
    c.model_type = "siglip_pooled";
  }
  if (part == tower_part::text) {
    if (name != "siglip") throw Error(errc::unsupported, dir, "model type with a tower of texts", "siglip", name);
    c.model_type = "siglip_text";
    c.tensors = detail::tensors_below("text_model.", read_hf_weights(dir));
    c.config = detail::value_at(all, "text_config").dump();
    return c;
  }
  c.tensors = detail::vision_tensors(read_hf_weights(dir), *model);
  c.config = vision.dump();
  return c;
}

}  // namespace cke::io
CKE_COLD_END
