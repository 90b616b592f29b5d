// SPDX-License-Identifier: MIT
// markup_reader.hpp: the tokens that a model has for images: those that the files of a Hugging Face directory name, or
// those of published models, by their names.
#pragma once

#include <algorithm>

#include <string>

#include "../hf_config.hpp"
#include "../hf_dir.hpp"
#include "markup.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

class markup_reader {
 public:
  // Of a GGUF file.
  static markup_reader by_name(const std::string& file, const text::vocabulary& tokens) {
    return markup_reader(tokens, file);
  }
  // Of a directory. Throws file, malformed.
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
  // The id that the first of these keys of config.json names; of a GGUF file, that of the usual token. Throws malformed
  // unless it is a token's.
  u32 id_of(std::initializer_list<const char*> keys, std::string_view usual) const {
    if (by_name_) return id_named(usual);
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
  std::string token_of(std::initializer_list<const char*> keys, std::string_view usual) const {
    return token(id_of(keys, usual));
  }
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
  // A number above 0 that vision_config of config.json has. Throws malformed.
  double vision_number(const char* key, double usual) const {
    const auto vision = config_.find("vision_config");
    if (vision == config_.end() || !vision->is_object() || !vision->contains(key)) return usual;
    const nlohmann::json& found = (*vision)[key];
    if (found.is_number() && found > 0) return found.get<double>();
    throw Error(errc::malformed, file_, concat({"config key vision_config.", key}), "a number above 0", found.dump());
  }
  // A flag of processor_config.json.
  bool flag(const char* key, bool usual) const {
    const auto at = processor_.find(key);
    return at != processor_.end() && at->is_boolean() ? at->get<bool>() : usual;
  }

 private:
  markup_reader(const text::vocabulary& tokens, std::string file)
      : tokens_(tokens), file_(std::move(file)), by_name_(true) {}

  u32 id_named(std::string_view token) const {
    const auto at = std::ranges::find(tokens_.tokens, token);
    if (at == tokens_.tokens.end())
      throw Error(errc::malformed, file_, "key tokenizer.ggml.tokens", concat({"the token ", token, ", for images"}),
                  "none of this name");
    return static_cast<u32>(at - tokens_.tokens.begin());
  }

  const text::vocabulary& tokens_;
  std::string file_, tokenizer_file_;
  bool by_name_ = false;
  // Without keys where a GGUF file is read.
  nlohmann::json config_ = nlohmann::json::object(), tokenizer_ = config_, processor_ = config_;
};

}  // namespace cke::io
CKE_COLD_END
