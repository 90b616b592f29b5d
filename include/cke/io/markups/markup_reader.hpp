// SPDX-License-Identifier: MIT
// markup_reader.hpp: the tokens that a Hugging Face directory names for images, in any of its files.
#pragma once

#include "../hf_checkpoint.hpp"
#include "markup.hpp"

namespace cke::io {

class markup_reader {
 public:
  // Throws file, malformed.
  markup_reader(const std::string& dir, const text::vocabulary& tokens)
      : tokens_(tokens), file_(dir + "/config.json"), tokenizer_file_(dir + "/tokenizer_config.json") {
    const hf_files files = read_hf_files(dir);
    config_ = detail::checked_object(files.config, file_);
    tokenizer_ = detail::checked_object(files.tokenizer_config, tokenizer_file_);
    const std::string processor = files.path("processor_config.json");
    processor_ = detail::checked_object(detail::text_of(processor), processor);
  }

  const std::string& file() const { return file_; }
  std::string model_type() const {
    const auto type = config_.find("model_type");
    return type != config_.end() && type->is_string() ? type->get<std::string>() : std::string();
  }
  // The id that the first of these keys of config.json names. Throws malformed unless it is a token's.
  u32 id_of(std::initializer_list<const char*> keys) const {
    std::string found = "none";
    for (const char* key : keys)
      if (const auto id = config_.find(key); id != config_.end() && !id->is_null()) {
        if (id->is_number_unsigned() && *id < tokens_.tokens.size()) return id->get<u32>();
        found = id->is_number() ? id->dump() : id->type_name();
      }
    throw Error(errc::malformed, file_, concat({"config key ", *keys.begin()}),
                concat({"an id below ", u64{tokens_.tokens.size()}}), found);
  }
  std::string token(u32 id) const { return std::string(tokens_.tokens[id]); }
  std::string token_of(std::initializer_list<const char*> keys) const { return token(id_of(keys)); }
  // The token that tokenizer_config.json or processor_config.json names by `key`; otherwise the usual one.
  std::string named(const char* key, std::string_view usual) const {
    const nlohmann::json extra = tokenizer_.value("extra_special_tokens", nlohmann::json());
    for (const nlohmann::json* from : {&extra, &tokenizer_, &processor_}) {
      const nlohmann::json found = from->is_object() ? from->value(key, nlohmann::json()) : nlohmann::json();
      const nlohmann::json token = found.is_object() ? found.value("content", nlohmann::json()) : found;
      if (token.is_string()) return token.get<std::string>();
    }
    return std::string(usual);
  }
  // A flag of processor_config.json.
  bool flag(const char* key, bool usual) const {
    const auto at = processor_.find(key);
    return at != processor_.end() && at->is_boolean() ? at->get<bool>() : usual;
  }

 private:
  const text::vocabulary& tokens_;
  std::string file_, tokenizer_file_;
  nlohmann::json config_, tokenizer_, processor_;
};

}  // namespace cke::io
