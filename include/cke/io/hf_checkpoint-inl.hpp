// SPDX-License-Identifier: MIT
// hf_checkpoint-inl.hpp: how the directory of hf_checkpoint.hpp is read.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "hf_checkpoint.hpp"
#include "hf_config.hpp"
#include "hf_dir.hpp"
#include "hf_tokenizer.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

CKE_ONCE checkpoint hf(const std::string& dir, const std::function<tensor_index(const std::string&)>& weights) {
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
  c.tensors = weights ? weights(dir) : read_hf_weights(dir);
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
CKE_COLD_END
