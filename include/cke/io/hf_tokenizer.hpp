// SPDX-License-Identifier: MIT
// hf_tokenizer.hpp: a tokenizer.json of Hugging Face (with tokenizer_config.json) into a vocabulary.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../core/error.hpp"
#include "../text/byte_alphabet.hpp"
#include "../text/vocabulary.hpp"
#include "hf_dir.hpp"

namespace cke {
namespace detail {

// A JSON value that knows its file and its place there ("model.unk_token"), for messages.
class json_node {
 public:
  using json = nlohmann::json;

  json_node(const json& value, std::string file, std::string path)
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

  // The member, or null where there is none.
  json_node operator[](const char* key) const {
    static const json absent;
    const auto at = value_->is_object() ? value_->find(key) : value_->end();
    return {value_->is_object() && at != value_->end() ? *at : absent, file_, path_.empty() ? key : path_ + "." + key};
  }
  const json& raw() const { return *value_; }
  bool null() const { return value_->is_null(); }
  bool is(std::string_view text) const { return value_->is_string() && value_->get_ref<const std::string&>() == text; }

  const std::string& text() const {
    if (!value_->is_string()) mismatch("a string");
    return value_->get_ref<const std::string&>();
  }
  bool flag(bool otherwise) const {
    if (null()) return otherwise;
    if (!value_->is_boolean()) mismatch("true or false");
    return value_->get<bool>();
  }
  u32 id() const {
    if (!value_->is_number_unsigned() || value_->get<u64>() >= no_token) mismatch("a token id");
    return value_->get<u32>();
  }
  const json::object_t& object() const {
    if (!value_->is_object()) mismatch("an object");
    return value_->get_ref<const json::object_t&>();
  }
  std::vector<json_node> array() const {
    if (!value_->is_array()) mismatch("an array");
    std::vector<json_node> items;
    for (const json& item : *value_) items.emplace_back(item, file_, path_ + "[" + std::to_string(items.size()) + "]");
    return items;
  }
  // A component is null, one {"type": ...}, or a Sequence of them under `key`.
  std::vector<json_node> components(const char* key) const {
    if (null()) return {};
    if (!(*this)["type"].is("Sequence")) return {*this};
    only({key});
    return (*this)[key].array();
  }

  // What cke does not know could change the result, so it is never passed over.
  void only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : object())
      if (key != "type" && std::ranges::find(keys, key) == keys.end())
        json_node(value, file_, path_.empty() ? key : path_ + "." + key).unsupported("no such key");
  }
  void require(bool supported, const std::string& expected) const {
    if (!supported) unsupported(expected);
  }
  [[noreturn]] void unsupported(const std::string& expected) const {
    throw Error(errc::unsupported, file_, path_, expected, shown());
  }
  [[noreturn]] void mismatch(const std::string& expected) const { mismatch(expected, shown()); }
  [[noreturn]] void mismatch(const std::string& expected, const std::string& found) const {
    throw Error(errc::malformed, file_, path_, expected, found);
  }

 private:
  // Never a nested dump: the file may nest deeper than the stack.
  std::string shown() const {
    if (value_->is_string()) return value_->get<std::string>();
    if (value_->is_object() && value_->contains("type") && (*value_)["type"].is_string()) return (*value_)["type"];
    return value_->is_structured() ? value_->type_name() : value_->dump();
  }

  const json* value_;
  std::string file_, path_;
};

// Lets a std::string key be looked up by a view.
struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

class hf_tokenizer_reader {
 public:
  hf_tokenizer_reader(std::string file, std::string config_file)
      : file_(std::move(file)), config_file_(std::move(config_file)) {}

  vocabulary read(std::string_view tokenizer_json, std::string_view config_json) {
    const nlohmann::json parsed = parse(tokenizer_json, file_);
    const json_node root(parsed, file_, "");
    root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
               "decoder", "model"});
    read_pre_tokenizer(root["pre_tokenizer"]);
    read_normalizer(root["normalizer"]);
    read_decoder(root["decoder"]);
    read_model(root["model"]);
    read_added_tokens(root["added_tokens"]);
    spell_tokens();
    read_post_processor(root["post_processor"]);
    if (!config_json.empty()) {
      const nlohmann::json config = parse(config_json, config_file_);
      read_config(json_node(config, config_file_, ""));
    }
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
      if (type.is("Split") && first && !last) {
        step.only({"pattern", "behavior", "invert"});
        step["behavior"].require(step["behavior"].is("Isolated"), "Isolated");
        step["invert"].require(!step["invert"].flag(false), "false");
        step["pattern"].only({"Regex"});
        out_.pre = known_pattern(step["pattern"]["Regex"]);
      } else if (type.is("Digits") && first && !last) {
        step.only({"individual_digits"});
        step["individual_digits"].require(step["individual_digits"].flag(false), "true");
        out_.pre = pre_tokenizer::smollm;
      } else if (type.is("ByteLevel") && last) {
        step.only({"add_prefix_space", "trim_offsets", "use_regex"});
        out_.model = tokenizer_model::bpe;
        // After Digits the gpt2 pattern must follow, after a pattern nothing more; alone, both are known.
        const bool use_regex = step["use_regex"].flag(true);
        if (first) out_.pre = use_regex ? pre_tokenizer::gpt2 : pre_tokenizer::none;
        step["use_regex"].require(first || use_regex == (out_.pre == pre_tokenizer::smollm), use_regex ? "false" : "true");
        const bool prefix = step["add_prefix_space"].flag(true);
        step["add_prefix_space"].require(first || !prefix, "false");
        if (prefix) out_.prefix = space_prefix::if_missing;
      } else if (type.is("Metaspace") && first && last) {
        read_metaspace(step);
      } else {
        type.unsupported("a pre-tokenizer that cke knows, in a known order");
      }
    }
    if (!steps.empty() && out_.model == tokenizer_model::spm && !metaspace_)
      steps.back()["type"].unsupported("ByteLevel as the last pre-tokenizer");
  }

  static pre_tokenizer known_pattern(const json_node& node) {
    static constexpr std::pair<std::string_view, pre_tokenizer> patterns[] = {
        {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", pre_tokenizer::gpt2},
        {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
         pre_tokenizer::llama3},
        {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
         pre_tokenizer::qwen2},
    };
    for (const auto& [pattern, kind] : patterns)
      if (node.text() == pattern) return kind;
    node.unsupported("the pattern of gpt2, llama3 or qwen2");
  }

  void read_metaspace(const json_node& step) {
    step.only({"replacement", "str_rep", "prepend_scheme", "add_prefix_space", "split"});
    step["replacement"].require(step["replacement"].is("▁"), "▁");
    step["split"].require(!step["split"].flag(true), "false");
    const json_node scheme = step["prepend_scheme"];
    if (scheme.is("always") || (scheme.null() && step["add_prefix_space"].flag(true)))
      out_.prefix = space_prefix::if_missing;
    else if (scheme.is("first"))
      out_.prefix = space_prefix::at_beginning;
    else if (!scheme.null() && !scheme.is("never"))
      scheme.unsupported("always, first or never");
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
        type.unsupported(out_.model == tokenizer_model::bpe ? "NFC" : "NFC, Prepend or Replace, in a known order");
      }
    }
    if (out_.model == tokenizer_model::spm && !marks_spaces) node.unsupported("a Replace of spaces by ▁");
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
    if (node.null()) node.unsupported("a decoder");
    for (const json_node& step : node.components("decoders")) {
      const json_node type = step["type"];
      if (type.is("ByteLevel") && bpe) continue;
      if (bpe) type.unsupported("ByteLevel");
      if (type.is("ByteFallback") || type.is("Fuse")) continue;
      if (type.is("Replace")) {
        require_replace(step, "▁", " ");
      } else if (type.is("Strip")) {
        step.only({"content", "start", "stop"});
        step["content"].require(step["content"].is(" "), "\" \"");
        step["start"].require(step["start"].id() == 1, "1");
        step["stop"].require(step["stop"].id() == 0, "0");
        out_.strip_prefix = true;
      } else if (type.is("Metaspace")) {
        out_.strip_prefix = out_.prefix != space_prefix::never;
      } else {
        type.unsupported("Replace, ByteFallback, Fuse, Strip or Metaspace");
      }
    }
  }

  void read_model(const json_node& node) {
    node.only({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
               "ignore_merges", "vocab", "merges"});
    node["type"].require(node["type"].null() || node["type"].is("BPE"), "BPE");
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
      node[affix].require(node[affix].null() || node[affix].is(""), "null");
    const nlohmann::json& dropout = node["dropout"].raw();
    node["dropout"].require(dropout.is_null() || (dropout.is_number() && dropout.get<double>() == 0), "null");
    out_.fuse_unknown = node["fuse_unk"].flag(false);
    out_.ignore_merges = node["ignore_merges"].flag(false);
    node["ignore_merges"].require(!out_.ignore_merges || out_.model == tokenizer_model::bpe, "false");
    byte_fallback_ = node["byte_fallback"].flag(false);
    node["byte_fallback"].require(!byte_fallback_ || out_.model == tokenizer_model::spm, "false");

    const json_node vocab = node["vocab"];
    reserve(vocab.object().size());
    for (const auto& [content, id] : vocab.object()) {
      const bool fits = id.is_number_unsigned() && id.get<u64>() < no_token;
      put(content, fits ? id.get<u32>() : vocab[content.c_str()].id(), vocab);
    }
    if (!node["unk_token"].null()) out_.unknown = find(node["unk_token"]);
    read_merges(node["merges"]);
  }

  // "left right", or since tokenizers 0.20 ["left", "right"].
  void read_merges(const json_node& node) {
    const nlohmann::json& merges = node.raw();
    if (!merges.is_array()) node.mismatch("an array");
    out_.merges.reserve(merges.size());
    std::string both;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const nlohmann::json& item = merges[i];
      const auto fail = [&](const char* expected) {
        json_node(item, file_, "model.merges[" + std::to_string(i) + "]").mismatch(expected);
      };
      std::string_view left, right;
      if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
        left = item[0].get_ref<const std::string&>(), right = item[1].get_ref<const std::string&>();
      } else if (item.is_string()) {
        const std::string_view pair = item.get_ref<const std::string&>();
        const std::size_t space = pair.find(' ');
        if (space == pair.npos || pair.find(' ', space + 1) != pair.npos) fail("two tokens");
        left = pair.substr(0, space), right = pair.substr(space + 1);
      } else {
        fail("two tokens");
      }
      const auto a = ids_.find(left), b = ids_.find(right), joined = ids_.find(both.assign(left).append(right));
      if (a == ids_.end() || b == ids_.end() || joined == ids_.end()) fail("tokens of model.vocab, joined too");
      out_.merges.push_back({a->second, b->second, joined->second});
    }
  }

  void read_added_tokens(const json_node& node) {
    if (node.null()) return;
    for (const json_node& item : node.array()) {
      item.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
      const std::string& content = item["content"].text();
      const auto known = ids_.find(content);
      const u32 id = item["id"].id();
      if (known == ids_.end()) {
        reserve(1);
        put(content, id, item["id"]);
      } else if (known->second != id) {
        item["id"].mismatch(std::to_string(known->second) + ", as in model.vocab");
      }
      const bool special = item["special"].flag(false);
      out_.types[id] = special ? token_type::control : token_type::user_defined;
      out_.added.push_back({id, special, item["lstrip"].flag(false), item["rstrip"].flag(false),
                            item["single_word"].flag(false), item["normalized"].flag(!special)});
    }
  }

  // Ids may leave gaps (they are unused tokens), but a small file must not ask for a huge table.
  void reserve(std::size_t more) {
    entries_ += more;
    ids_.reserve(entries_);
    out_.tokens.reserve(entries_);
    out_.types.reserve(entries_);
  }
  void put(const std::string& content, u32 id, const json_node& where) {
    constexpr std::size_t most_unused = 1 << 20;
    if (id >= entries_ + most_unused)
      where.mismatch("ids near the number of tokens, " + std::to_string(entries_), std::to_string(id));
    if (id >= out_.tokens.size()) {
      out_.tokens.resize(std::size_t{id} + 1);
      out_.types.resize(std::size_t{id} + 1, token_type::unused);
    }
    if (out_.types[id] != token_type::unused) where.mismatch("each id once", std::to_string(id) + " twice");
    out_.tokens[id] = content;
    out_.types[id] = token_type::normal;
    ids_.emplace(content, id);
  }
  u32 find(const json_node& content) const {
    const auto at = ids_.find(content.text());
    if (at == ids_.end()) content.mismatch("a token of " + file_);
    return at->second;
  }

  // From the file's spelling to the vocabulary's.
  void spell_tokens() {
    for (std::size_t id = 0; id < out_.tokens.size(); ++id) {
      if (out_.types[id] != token_type::normal) continue;
      std::string& token = out_.tokens[id];
      if (out_.model == tokenizer_model::spm) {
        if (byte_fallback_ && byte_token_value(token) >= 0) out_.types[id] = token_type::byte;
      } else if (auto bytes = from_byte_alphabet(token)) {
        token = std::move(*bytes);
      } else {
        out_.types[id] = token_type::unused;  // no text becomes it; it still decodes to itself
      }
    }
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
        item.require(!add && !item["SpecialToken"].null(), "at most one token before the text and one after it");
        const json_node token = step["special_tokens"][item["SpecialToken"]["id"].text().c_str()];
        const std::vector<json_node> ids = token["ids"].array();
        token["ids"].require(ids.size() == 1, "one id");
        add = true;
        (after_text ? out_.eos : out_.bos) = ids[0].id();
      }
      step["single"].require(after_text, "a template with the text");
    }
  }

  void read_config(const json_node& config) {
    const auto named = [&](const char* key, u32& id) {
      const json_node node = config[key];
      if (!node.null()) id = find(node.raw().is_object() ? node["content"] : node);
    };
    named("bos_token", out_.bos);
    named("eos_token", out_.eos);
    named("pad_token", out_.pad);
    // As transformers does: either key replaces what the post-processor adds.
    const json_node add_bos = config["add_bos_token"], add_eos = config["add_eos_token"];
    if (config.object().contains("add_bos_token") || config.object().contains("add_eos_token")) {
      out_.add_bos = add_bos.flag(false) && out_.bos != no_token;
      out_.add_eos = add_eos.flag(false) && out_.eos != no_token;
    }
    const json_node chat = config["chat_template"];
    if (chat.raw().is_array()) {
      for (const json_node& item : chat.array())
        if (item["name"].is("default")) out_.chat_template = item["template"].text();
    } else if (!chat.null()) {
      out_.chat_template = chat.text();
    }
  }

  std::string file_, config_file_;
  vocabulary out_;
  std::unordered_map<std::string, u32, text_hash, std::equal_to<>> ids_;  // by the file's spelling
  std::size_t entries_ = 0;
  bool metaspace_ = false, byte_fallback_ = false;
};

}  // namespace detail

// tokenizer.json and, where it is not empty, tokenizer_config.json. Throws Error{malformed} or Error{unsupported} with
// the key and its value: what is not understood is never passed over. Truncation and padding do not apply here.
inline vocabulary parse_hf_tokenizer(std::string_view tokenizer_json, std::string_view tokenizer_config_json = {},
                                     const std::string& file = "tokenizer.json",
                                     const std::string& config_file = "tokenizer_config.json") {
  return detail::hf_tokenizer_reader(file, config_file).read(tokenizer_json, tokenizer_config_json);
}

// The tokenizer of a Hugging Face directory; a chat_template.jinja there wins. Throws also Error{file}.
inline vocabulary read_hf_tokenizer(const hf_files& files) {
  const mapped_file map(files.path("tokenizer.json"));
  const std::string_view text(reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size());
  vocabulary v = parse_hf_tokenizer(text, files.tokenizer_config, files.path("tokenizer.json"),
                                    files.path("tokenizer_config.json"));
  if (!files.chat_template.empty()) v.chat_template = files.chat_template;
  return v;
}

}  // namespace cke
