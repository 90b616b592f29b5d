// SPDX-License-Identifier: MIT
// hf_checkpoint.hpp: a Hugging Face directory as a checkpoint.
#pragma once

#include <nlohmann/json.hpp>

#include "checkpoint.hpp"
#include "hf_dir.hpp"
#include "hf_tokenizer.hpp"

namespace cke {

namespace detail {

// Checked text of an object; "{}" for no text.
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
  if (of.is_array()) for (const auto& id : of) one(id);
  else one(of);
}

}  // namespace detail

// Throws Error: file, malformed, unsupported. The tokenizer is optional; weights are not.
inline checkpoint hf(const std::string& dir) {
  const hf_files files = read_hf_files(dir);
  if (files.config.empty()) throw Error(errc::file, files.path("config.json"), {}, "a file", "none");
  const nlohmann::json config = detail::checked_object(files.config, files.path("config.json"));
  const nlohmann::json generation = detail::checked_object(files.generation_config, files.path("generation_config.json"));
  checkpoint c;
  c.name = dir, c.as = naming::hf;
  if (const auto type = config.find("model_type"); type != config.end() && type->is_string()) c.model_type = type->get<std::string>();
  c.config = config.dump();
  c.tensors = read_hf_weights(dir);
  if (!files.tokenizer.empty()) {
    c.tokens = std::make_shared<const vocabulary>(read_hf_tokenizer(files));
    if (c.tokens->eos != no_token) c.stop_ids.push_back(c.tokens->eos);
  }
  for (const auto* from : {&generation, &config})
    if (from->contains("eos_token_id")) detail::add_ids((*from)["eos_token_id"], c.stop_ids);
  return c;
}

}  // namespace cke
