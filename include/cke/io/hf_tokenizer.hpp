// SPDX-License-Identifier: MIT
// hf_tokenizer.hpp: Hugging Face's tokenizer.json and tokenizer_config.json into a vocabulary.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/error.hpp"
#include "../text/vocabulary.hpp"
#include "gguf_pre.hpp"
#include "hf_bpe_model.hpp"
#include "hf_dir.hpp"
#include "json_node.hpp"

namespace cke {
namespace detail {

class hf_tokenizer_reader {
 public:
  hf_tokenizer_reader(std::string file, std::string config_file)
      : file_(std::move(file)), config_file_(std::move(config_file)) {}

  vocabulary read(std::string_view tokenizer_json, std::string_view config_json) {
    const nlohmann::json parsed = parse(tokenizer_json, file_);
    const json_node root(parsed, file_, "");
    root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
               "post_processor", "decoder", "model"});
    read_pre_tokenizer(root["pre_tokenizer"]);
    read_normalizer(root["normalizer"]);
    read_decoder(root["decoder"]);
    read_post_processor(root["post_processor"]);
    hf_bpe_model model(out_, root["model"], root["added_tokens"]);
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
    } catch (const nlohmann::json::exception& e) {
      throw Error(errc::malformed, file, "JSON", e.what());
    }
  }

  void read_pre_tokenizer(const json_node& node) {
    const std::vector<json_node> steps = node.components("pretokenizers");
    out_.model = tokenizer_model::spm;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const json_node& step = steps[i];
      const json_node type = step["type"];
      const bool first = i == 0, last = i + 1 == steps.size();
      if (type.is("Split") && first && last) {  // by spaces, of which the normalizer leaves none
        step.only({"pattern", "behavior", "invert"});
        step["pattern"].only({"String"});
        step["pattern"]["String"].require(step["pattern"]["String"].is(" "), "\" \"");
        no_words_ = true;
      } else if ((type.is("Split") || type.is("Digits") || type.is("Punctuation")) && !last) {
        out_.patterns.push_back(rule_of(step));
      } else if (type.is("ByteLevel") && last) {
        step.only({"add_prefix_space", "trim_offsets", "use_regex"});
        out_.model = tokenizer_model::bpe;
        if (step["use_regex"].flag(true)) out_.patterns.push_back({std::string(patterns::gpt2)});
        const bool prefix = step["add_prefix_space"].flag(true);
        step["add_prefix_space"].require(first || !prefix, "false");
        if (prefix) out_.prefix = space_prefix::if_missing;
      } else if (type.is("Metaspace") && first && last) {
        read_metaspace(step);
      } else {
        type.unsupported("a pre-tokenizer that cke knows, in a known order");
      }
    }
    if (!steps.empty() && out_.model == tokenizer_model::spm && !metaspace_ && !no_words_)
      steps.back()["type"].unsupported("ByteLevel as the last pre-tokenizer");
    name_patterns();
  }

  // A step before ByteLevel as a regular expression.
  static split_rule rule_of(const json_node& step) {
    if (step["type"].is("Digits")) {
      step.only({"individual_digits"});
      return {std::string(step["individual_digits"].flag(false) ? patterns::digit : patterns::digits)};
    }
    const json_node behavior = step["behavior"];
    if (step["type"].is("Punctuation")) {
      step.only({"behavior"});
      behavior.require(behavior.is("Isolated") || behavior.is("Contiguous"), "Isolated or Contiguous");
      return {behavior.is("Isolated") ? R"([\p{P}!-/:-@\[-`{-~])" : R"([\p{P}!-/:-@\[-`{-~]+)"};
    }
    step.only({"pattern", "behavior", "invert"});
    const bool inverted = step["invert"].flag(false);
    behavior.require(behavior.is("Isolated") || (behavior.is("Removed") && inverted), "Isolated, or Removed with invert");
    const json_node pattern = step["pattern"];
    pattern.only({"Regex", "String"});
    if (pattern["String"].null()) return {pattern["Regex"].text(), behavior.is("Removed")};
    std::string literal;
    for (const char c : pattern["String"].text()) (literal += std::string_view(".^$*+?()[]{}|\\").find(c) < 14 ? "\\" : "") += c;
    return {literal, behavior.is("Removed")};
  }

  // Patterns that are built in need no splitter.
  void name_patterns() {
    static constexpr std::pair<std::string_view, pre_tokenizer> known[] = {
        {patterns::gpt2, pre_tokenizer::gpt2}, {patterns::llama3, pre_tokenizer::llama3}, {patterns::qwen2, pre_tokenizer::qwen2}};
    std::vector<split_rule>& rules = out_.patterns;
    if (rules.empty()) return;
    out_.pre = pre_tokenizer::patterns;
    const bool digits_first = rules.size() == 2 && rules[0] == split_rule{std::string(patterns::digit)};
    for (const auto& [pattern, kind] : known)  // these match everything: dropping the rest is no difference
      if (rules.back().pattern == pattern) {
        if (rules.size() == 1) out_.pre = kind;
        if (digits_first && kind == pre_tokenizer::gpt2) out_.pre = pre_tokenizer::smollm;
      }
    if (out_.pre != pre_tokenizer::patterns) rules.clear();
  }

  void read_metaspace(const json_node& step) {
    step.only({"replacement", "str_rep", "prepend_scheme", "add_prefix_space", "split"});
    step["replacement"].require(step["replacement"].is("▁"), "▁");
    step["split"].require(!step["split"].flag(true), "false");
    const json_node scheme = step["prepend_scheme"];
    if (scheme.is("always") || (scheme.null() && step["add_prefix_space"].flag(true)))
      out_.prefix = space_prefix::if_missing;
    else if (scheme.is("first")) out_.prefix = space_prefix::at_beginning;
    else if (!scheme.null() && !scheme.is("never")) scheme.unsupported("always, first or never");
    metaspace_ = true;
  }

  void read_normalizer(const json_node& node) {
    bool marks_spaces = metaspace_;
    for (const json_node& step : node.components("normalizers")) {
      const json_node type = step["type"];
      const bool spm = out_.model == tokenizer_model::spm && !metaspace_;
      if (type.is("NFC") && !marks_spaces) {
        step.only({});
        out_.nfc = true;
      } else if (type.is("Prepend") && spm) {
        step.only({"prepend"});
        step["prepend"].require(step["prepend"].is("▁"), "▁");
        out_.prefix = space_prefix::always;
      } else if (type.is("Replace") && spm) {
        require_replace(step, " ", "▁");
        marks_spaces = true;
      } else {
        type.unsupported(out_.model == tokenizer_model::bpe
                             ? "NFC"
                             : "NFC, Prepend or Replace, in a known order");
      }
    }
    if (out_.model == tokenizer_model::spm && !marks_spaces)
      node.unsupported("a Replace of spaces by ▁");
  }

  static void require_replace(const json_node& step, std::string_view from, std::string_view to) {
    step.only({"pattern", "content"});
    step["pattern"].only({"String"});
    const json_node pattern = step["pattern"]["String"], content = step["content"];
    pattern.require(pattern.is(from), "\"" + std::string(from) + "\"");
    content.require(content.is(to), "\"" + std::string(to) + "\"");
  }

  void read_decoder(const json_node& node) {
    const bool bpe = out_.model == tokenizer_model::bpe;
    bool spells_spaces = bpe;
    if (node.null()) node.unsupported("a decoder");
    for (const json_node& step : node.components("decoders")) {
      const json_node type = step["type"];
      if (type.is("ByteLevel") && bpe) continue;
      if (bpe) type.unsupported("ByteLevel");
      if (type.is("ByteFallback") || type.is("Fuse")) continue;
      if (type.is("Replace")) {
        require_replace(step, "▁", " ");
        spells_spaces = true;
      } else if (type.is("Strip")) {
        step.only({"content", "start", "stop"});
        step["content"].require(step["content"].is(" "), "\" \"");
        step["start"].require(step["start"].id() == 1, "1");
        step["stop"].require(step["stop"].id() == 0, "0");
        out_.strip_prefix = true;
      } else if (type.is("Metaspace")) {
        out_.strip_prefix = out_.prefix != space_prefix::never;
        spells_spaces = true;
      } else {
        type.unsupported("Replace, ByteFallback, Fuse, Strip or Metaspace");
      }
    }
    if (!spells_spaces) node.unsupported("a Replace of ▁ by spaces");
  }

  void read_post_processor(const json_node& node) {
    for (const json_node& step : node.components("processors")) {
      const json_node type = step["type"];
      if (type.is("ByteLevel")) continue;  // offsets only
      if (!type.is("TemplateProcessing")) type.unsupported("ByteLevel or TemplateProcessing");
      step.only({"single", "pair", "special_tokens"});
      bool after_text = false;
      for (const json_node& item : step["single"].array()) {
        if (!item["Sequence"].null()) {
          item["Sequence"].require(!after_text && item["Sequence"]["id"].is("A"), "the text once");
          after_text = true;
          continue;
        }
        bool& add = after_text ? out_.add_eos : out_.add_bos;
        item.require(!add && !item["SpecialToken"].null(),
                     "at most one token before the text and one after it");
        const json_node token = step["special_tokens"][item["SpecialToken"]["id"].text().c_str()];
        const std::vector<json_node> ids = token["ids"].array();
        token["ids"].require(ids.size() == 1, "one id");
        add = true;
        (after_text ? out_.eos : out_.bos) = ids[0].id();
      }
      step["single"].require(after_text, "a template with the text");
    }
  }

  void read_config(const json_node& config, const hf_bpe_model& model) {
    // As transformers does: either key replaces what the post-processor adds.
    const json_node add_bos = config["add_bos_token"], add_eos = config["add_eos_token"];
    const auto& keys = config.object();
    const bool replaces = keys.contains("add_bos_token") || keys.contains("add_eos_token");
    const auto read = [&](const char* key, u32& id, bool added) {
      const json_node node = config[key];
      if (node.null()) return;
      const u32 named = model.find(node.raw().is_object() ? node["content"] : node);
      if (added && !replaces) node.require(named == id, "the token that the post-processor adds");
      id = named;
    };
    read("bos_token", out_.bos, out_.add_bos);
    read("eos_token", out_.eos, out_.add_eos);
    read("pad_token", out_.pad, false);
    if (replaces) {
      out_.add_bos = add_bos.flag(false) && out_.bos != no_token;
      out_.add_eos = add_eos.flag(false) && out_.eos != no_token;
    }
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
  bool metaspace_ = false, no_words_ = false;
};

}  // namespace detail

// tokenizer.json and, where it is not empty, tokenizer_config.json. Throws Error{malformed} or
// Error{unsupported} with the key and its value: what is not understood is never passed over.
// Truncation and padding do not apply here.
inline vocabulary parse_hf_tokenizer(std::string_view tokenizer_json,
                                     std::string_view tokenizer_config_json = {},
                                     const std::string& file = "tokenizer.json",
                                     const std::string& config_file = "tokenizer_config.json") {
  return detail::hf_tokenizer_reader(file, config_file).read(tokenizer_json, tokenizer_config_json);
}

// The tokenizer of a Hugging Face directory; a chat_template.jinja there wins. Throws also
// Error{file}.
inline vocabulary read_hf_tokenizer(const hf_files& files) {
  const mapped_file map(files.path("tokenizer.json"));
  const std::string_view text(reinterpret_cast<const char*>(map.bytes().data()),
                              map.bytes().size());
  vocabulary v = parse_hf_tokenizer(text, files.tokenizer_config, files.path("tokenizer.json"),
                                    files.path("tokenizer_config.json"));
  if (!files.chat_template.empty()) {
    v.chat_template = files.chat_template;
    v.tool_template = files.tool_template;
  }
  return v;
}

}  // namespace cke
