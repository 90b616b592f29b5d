// SPDX-License-Identifier: MIT
// hf_checkpoint.hpp: loads a Hugging Face directory as a checkpoint.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "checkpoint.hpp"
#include "hf_dir.hpp"
#include "hf_tokenizer.hpp"

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
  const std::string type = config.value("model_type", std::string());
  const bool nested = text != config.end() && text->is_object();
  // Published files of Qwen2.5-VL keep the text's keys beside those of the tower.
  const bool flat = !nested && type == "qwen2_5_vl";
  if (!nested && !flat) return config;
  nlohmann::json alone = nested ? *text : config;
  if (flat) alone["model_type"] = "qwen2_5_vl_text";
  if (!alone.contains("eos_token_id") && config.contains("eos_token_id"))
    alone["eos_token_id"] = config["eos_token_id"];
  // The head belongs to the whole model; Llava's text model may tie it too.
  if (const auto tie = config.find("tie_word_embeddings"); tie != config.end() && tie->is_boolean())
    if (*tie == true || type != "llava") alone["tie_word_embeddings"] = *tie;
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

// Throws Error: file, malformed, unsupported. The directory must have weights; a tokenizer is optional. `weights` is
// called once, with `dir`, after the config was found.
inline checkpoint hf(const std::string& dir,
                     const std::function<tensor_index(const std::string&)>& weights = read_hf_weights) {
  const hf_files files = read_hf_files(dir);
  if (files.config.empty()) throw Error(errc::file, files.path("config.json"), {}, "a file", "none");
  const nlohmann::json all = detail::checked_object(files.config, files.path("config.json"));
  nlohmann::json config = detail::text_config(all);
  const nlohmann::json generation =
      detail::checked_object(files.generation_config, files.path("generation_config.json"));
  checkpoint c;
  c.name = dir, c.as = naming::hf;
  if (const auto type = config.find("model_type"); type != config.end() && type->is_string())
    c.model_type = type->get<std::string>();
  c.tensors = weights(dir);
  if (all.contains("text_config") || all.contains("vision_config")) c.tensors = detail::text_tensors(c.tensors);
  if (detail::is_headless(c.tensors)) {
    c.tensors = detail::headed_tensors(c.tensors);
    config["tie_word_embeddings"] = true;  // only the embedding can serve as the head
  }
  if (const auto method = all.find("quantization_config"); method != all.end() && method->is_object())
    if (const auto block = method->find("weight_block_size");
        block != method->end() && !block->is_null() && *block != nlohmann::json::array({128, 128}))
      throw Error(errc::unsupported, dir, "config key quantization_config.weight_block_size", "[128, 128]",
                  block->dump().substr(0, 40));
  c.config = config.dump();
  if (!files.tokenizer.empty()) {
    c.tokens = std::make_shared<const vocabulary>(read_hf_tokenizer(files));
    if (c.tokens->eos != no_token) c.stop_ids.push_back(c.tokens->eos);
  }
  for (const nlohmann::json* from : {&generation, &std::as_const(config)})
    if (from->contains("eos_token_id")) detail::add_ids((*from)["eos_token_id"], c.stop_ids);
  return c;
}

}  // namespace cke::io
