// SPDX-License-Identifier: MIT
// hf_config.hpp: the config of a Hugging Face model, and of the text model in a multimodal one, with its tensors.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/concat.hpp"
#include "../text/tokenizer/vocabulary.hpp"
#include "json_events.hpp"
#include "tensor_index.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

namespace detail {

// Parses text that must be an object; empty text gives {}.
inline nlohmann::json checked_object(const std::string& text, const std::string& file) {
  if (text.empty()) return nlohmann::json::object();
  struct any_events final : json_events {
    using json_events::json_events;
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }

   private:
    bool opens(bool) override { return true; }
  };
  any_events(file).read(text);
  return nlohmann::json::parse(text);
}

inline void add_ids(const nlohmann::json& of, std::vector<u32>& ids) {
  auto one = [&](const nlohmann::json& id) {
    if (id.is_number_unsigned() && id.get<u64>() < no_token && std::ranges::find(ids, id.get<u32>()) == ids.end())
      ids.push_back(id.get<u32>());
  };
  if (of.is_array())
    for (const auto& id : of) one(id);
  else one(of);
}

// For a multimodal model: the config of its text model, and that model's tensors, named as in a text-only checkpoint.
inline nlohmann::json text_config(const nlohmann::json& config) {
  const auto text = config.find("text_config");
  const auto model_type = config.find("model_type");
  const std::string type =
      model_type != config.end() && model_type->is_string() ? model_type->get<std::string>() : std::string();
  const bool nested = text != config.end() && text->is_object();
  // Published files of Qwen2.5-VL keep the text's keys beside those of the tower.
  const bool flat = !nested && type == "qwen2_5_vl";
  if (!nested && !flat) return config;
  nlohmann::json alone = nested ? *text : config;
  if (flat) alone["model_type"] = "qwen2_5_vl_text";
  if (!alone.contains("eos_token_id") && config.contains("eos_token_id"))
    alone["eos_token_id"] = config["eos_token_id"];
  // The head belongs to the whole model; the text models of Llava and Qwen2.5-VL may tie it too.
  if (const auto tie = config.find("tie_word_embeddings"); tie != config.end() && tie->is_boolean())
    if (*tie == true || (type != "llava" && type != "qwen2_5_vl")) alone["tie_word_embeddings"] = *tie;
  const auto tower = config.find("vision_config");
  if (tower == config.end() || !tower->is_object()) return alone;
  // What decoders that see images take from their rope and from their tower.
  alone["sees_images"] = true;
  for (const char* rope : {"rope_parameters", "rope_scaling"})
    for (const char* key : {"mrope_section", "mrope_interleaved"})
      if (alone.contains(rope) && alone[rope].is_object() && alone[rope].contains(key) && !alone.contains(key))
        alone[key] = alone[rope][key];
  if (const auto taps = tower->find("deepstack_visual_indexes"); taps != tower->end() && taps->is_array())
    alone["deepstack_layers"] = taps->size();
  return alone;
}
inline tensor_index text_tensors(const tensor_index& all) {
  using prefix = std::pair<std::string_view, std::string_view>;
  static constexpr prefix head{"lm_head.", "lm_head."};
  static constexpr prefix prefixes[] = {{"model.language_model.", "model."},
                                        {"model.text_model.", "model."},
                                        {"language_model.model.", "model."},
                                        {"language_model.lm_head.", "lm_head."},
                                        head};
  static constexpr prefix unchanged[] = {{"model.", "model."}, head};  // beside a tower's, as Qwen2.5-VL has them
  std::span<const prefix> known = unchanged;
  for (const tensor_ref& t : all.tensors())
    for (const auto& [nested, alone] : prefixes)
      if (nested != alone && t.name.starts_with(nested)) known = prefixes;
  std::vector<tensor_ref> text;
  for (const tensor_ref& t : all.tensors())
    for (const auto& [nested, alone] : known)
      if (t.name.starts_with(nested)) {
        text.push_back(t);
        text.back().name = concat({alone, std::string_view(t.name).substr(nested.size())});
        break;
      }
  return tensor_index(std::move(text));
}

// For a model saved without its head, as embedding models are: its tensors under the names of a complete one.
inline bool is_headless(const tensor_index& all) {
  return all.find("embed_tokens.weight") && !all.find("lm_head.weight");
}
inline tensor_index headed_tensors(const tensor_index& all) {
  std::vector<tensor_ref> named(all.tensors().begin(), all.tensors().end());
  for (tensor_ref& t : named) t.name = concat({"model.", t.name});
  return tensor_index(std::move(named));
}

}  // namespace detail

}  // namespace cke::io
CKE_COLD_END
