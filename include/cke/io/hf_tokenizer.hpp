// SPDX-License-Identifier: MIT
// hf_tokenizer.hpp: reads Hugging Face's tokenizer.json and tokenizer_config.json into a vocabulary.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "../text/tokenizer/vocabulary.hpp"
#include "hf_built_in.hpp"
#include "hf_dir.hpp"
#include "hf_model.hpp"
#include "hf_steps.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {
namespace detail {

class hf_tokenizer_reader {
 public:
  hf_tokenizer_reader(std::string file, std::string config_file)
      : file_(std::move(file)), config_file_(std::move(config_file)) {}

  vocabulary read(std::string_view tokenizer_json, std::string_view config_json) {
    const nlohmann::json parsed = parse(tokenizer_json, file_);
    const json_node root(parsed, file_, "");
    root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
               "decoder", "model"});
    text_recipe recipe = hf_recipe(root, file_);
    hf_model model(out_, root["model"], root["added_tokens"]);
    recipe.model = model.options();
    if (!is_byte_level(recipe, out_) && !is_sentencepiece(recipe, out_)) {
      out_.model = tokenizer_model::steps;
      out_.recipe = std::make_shared<const text_recipe>(std::move(recipe));
    }
    read_post_processor(root["post_processor"]);
    if (!config_json.empty()) {
      const nlohmann::json config = parse(config_json, config_file_);
      read_config(json_node(config, config_file_, ""), model);
    }
    model.spell();
    validate(out_, file_);
    return std::move(out_);
  }

 private:
  static nlohmann::json parse(std::string_view text, const std::string& file) {
    try {
      return nlohmann::json::parse(text);
    } catch (const nlohmann::json::exception& e) { throw Error(errc::malformed, file, "JSON", e.what()); }
  }

  // Each processor puts its tokens around those of the one before.
  void read_post_processor(const json_node& node) {
    for (const json_node& step : hf_steps(node, "processors")) {
      const json_node type = step["type"];
      std::vector<u32> before, after;
      if (type.is("TemplateProcessing")) {
        read_template(step, before, after);
      } else if (type.is("BertProcessing") || type.is("RobertaProcessing")) {
        step.only({"sep", "cls", "trim_offsets", "add_prefix_space"});
        before = {processed_id(step["cls"])}, after = {processed_id(step["sep"])};
      } else if (!type.is("ByteLevel")) {  // ByteLevel only changes offsets
        type.unsupported("a post-processor that cke knows");
      }
      out_.before.insert(out_.before.begin(), before.begin(), before.end());
      out_.after.insert(out_.after.end(), after.begin(), after.end());
    }
    if (out_.before.size() == 1) out_.bos = out_.before[0], out_.add_bos = true, out_.before.clear();
    if (out_.after.size() == 1) out_.eos = out_.after[0], out_.add_eos = true, out_.after.clear();
  }

  static u32 processed_id(const json_node& pair) {  // ["[CLS]", 101]
    if (!pair.raw().is_array() || pair.raw().size() != 2) pair.mismatch("a token and its id");
    return pair[1].id();
  }

  static void read_template(const json_node& step, std::vector<u32>& before, std::vector<u32>& after) {
    step.only({"single", "pair", "special_tokens"});
    bool after_text = false;
    for (const json_node& item : step["single"].array()) {
      if (!item["Sequence"].null()) {
        item["Sequence"].require(!after_text && item["Sequence"]["id"].is("A"), "the text once");
        after_text = true;
        continue;
      }
      item.require(!item["SpecialToken"].null(), "a Sequence or a SpecialToken");
      for (const json_node& id : step["special_tokens"][item["SpecialToken"]["id"].text().c_str()]["ids"].array())
        (after_text ? after : before).push_back(id.id());
    }
    step["single"].require(after_text, "a template with the text");
  }

  void read_config(const json_node& config, const hf_model& model) {
    config.object();  // must be one
    std::vector<u32> none;
    const auto read = [&](const char* key, u32& id, bool& added, std::vector<u32>& around) {
      const json_node node = config[key];
      if (node.null()) return;
      const u32 named = model.find(node.raw().is_object() ? node["content"] : node);
      // The post-processor may add another token than bos or eos.
      if (added && named != id) around.push_back(id), added = false;
      id = named;
    };
    bool no_pad = false;
    read("bos_token", out_.bos, out_.add_bos, out_.before);
    read("eos_token", out_.eos, out_.add_eos, out_.after);
    read("pad_token", out_.pad, no_pad, none);
    // As in transformers 5, add_bos_token and add_eos_token do not count: the post-processor says what is added.
    const json_node chat = config["chat_template"];
    if (chat.raw().is_array()) {
      for (const json_node& item : chat.array()) {
        if (item["name"].is("default")) out_.chat_template = item["template"].text();
        if (item["name"].is("tool_use")) out_.tool_template = item["template"].text();
      }
    } else if (!chat.null()) {
      out_.chat_template = chat.text();
    }
  }

  std::string file_, config_file_;
  vocabulary out_;
};

}  // namespace detail

// Reads tokenizer.json and, if not empty, tokenizer_config.json. Throws Error{malformed} or Error{unsupported} with the
// key and its value; nothing that cke does not understand is ignored. Truncation and padding do not apply.
inline vocabulary parse_hf_tokenizer(std::string_view tokenizer_json, std::string_view tokenizer_config_json = {},
                                     const std::string& file = "tokenizer.json",
                                     const std::string& config_file = "tokenizer_config.json") {
  return detail::hf_tokenizer_reader(file, config_file).read(tokenizer_json, tokenizer_config_json);
}

// Reads a Hugging Face directory's tokenizer; its chat_template.jinja takes precedence. Throws Error{file} too.
inline vocabulary read_hf_tokenizer(const hf_files& files) {
  const mapped_file map(files.path("tokenizer.json"));
  const std::string_view text(reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size());
  vocabulary v = parse_hf_tokenizer(text, files.tokenizer_config, files.path("tokenizer.json"),
                                    files.path("tokenizer_config.json"));
  if (!files.chat_template.empty()) {
    v.chat_template = files.chat_template;
    v.tool_template = files.tool_template;
  }
  return v;
}

}  // namespace cke::io
CKE_COLD_END
