// SPDX-License-Identifier: MIT
// hf_bpe_model.hpp: the tokens and merges of a tokenizer.json: its sections model and added_tokens.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "../text/byte_alphabet.hpp"
#include "../text/index_table.hpp"
#include "../text/vocabulary.hpp"
#include "json_node.hpp"

namespace cke::detail {

// Fills the vocabulary, whose `model` is known already. Tokens keep the file's spelling until
// spell().
class hf_bpe_model {
  static u64 hash(std::string_view content) { return std::hash<std::string_view>{}(content); }
  auto same(std::string_view content) const {
    return [this, content](u32 id) { return out_.tokens[id] == content; };
  }
  u32 find(std::string_view content) const { return ids_.find(hash(content), same(content)); }

 public:
  hf_bpe_model(vocabulary& out, const json_node& model, const json_node& added)
      : out_(out), entries_(count(model, added)), ids_(entries_) {
    read_model(model);
    read_merges(model["merges"]);
    if (!added.null()) read_added(added);
  }

  // The id of a token by the file's spelling.
  u32 find(const json_node& content) const {
    const u32 id = find(content.text());
    if (id == no_token) content.mismatch("a token of tokenizer.json");
    return id;
  }

  // From the file's spelling to the vocabulary's; nothing is found any more.
  void spell() {
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

 private:
  static std::size_t count(const json_node& model, const json_node& added) {
    model["type"].require(model["type"].null() || model["type"].is("BPE"), "BPE");
    return model["vocab"].object().size() + added.raw().size();
  }

  void read_model(const json_node& node) {
    node.only({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
               "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
      node[affix].require(node[affix].null() || node[affix].is(""), "null");
    const nlohmann::json& dropout = node["dropout"].raw();
    const bool drops = !dropout.is_null() && (!dropout.is_number() || dropout.get<double>() != 0);
    node["dropout"].require(!drops, "null");
    const bool bpe = out_.model == tokenizer_model::bpe;
    out_.fuse_unknown = node["fuse_unk"].flag(false);
    out_.ignore_merges = node["ignore_merges"].flag(false);
    node["ignore_merges"].require(!out_.ignore_merges || bpe, "false");
    byte_fallback_ = node["byte_fallback"].flag(false);
    node["byte_fallback"].require(!byte_fallback_ || !bpe, "false");

    const json_node vocab = node["vocab"];
    out_.tokens.reserve(entries_);
    out_.types.reserve(entries_);
    for (const auto& [content, id] : vocab.object()) {
      const bool fits = id.is_number_unsigned() && id.get<u64>() < no_token;
      put(content, fits ? id.get<u32>() : vocab[content.c_str()].id(), vocab);
    }
    if (!node["unk_token"].null()) out_.unknown = find(node["unk_token"]);
  }

  // "left right", or since tokenizers 0.20 ["left", "right"].
  void read_merges(const json_node& node) {
    const nlohmann::json& merges = node.raw();
    if (!merges.is_array()) node.mismatch("an array");
    out_.merges.reserve(merges.size());
    std::string both;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const auto [left, right] = split_merge(merges[i]);
      const u32 a = find(left), b = find(right), joined = find(both.assign(left).append(right));
      if (left.empty() || right.empty() || a == no_token || b == no_token || joined == no_token)
        node[i].mismatch("two tokens whose joined text is a token");
      out_.merges.push_back({a, b, joined});
    }
  }

  // Two empty texts where it is not a pair.
  static std::pair<std::string_view, std::string_view> split_merge(const nlohmann::json& item) {
    if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string())
      return {item[0].get_ref<const std::string&>(), item[1].get_ref<const std::string&>()};
    if (!item.is_string()) return {};
    const std::string_view pair = item.get_ref<const std::string&>();
    const std::size_t space = pair.find(' ');
    if (space == pair.npos || pair.find(' ', space + 1) != pair.npos) return {};
    return {pair.substr(0, space), pair.substr(space + 1)};
  }

  void read_added(const json_node& node) {
    for (const json_node& item : node.array()) {
      item.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
      const std::string& content = item["content"].text();
      const u32 id = item["id"].id(), known = find(content);
      if (known == no_token) put(content, id, item["id"]);
      else if (known != id) item["id"].mismatch(std::to_string(known) + ", as in model.vocab");
      const bool special = item["special"].flag(false);
      out_.types[id] = special ? token_type::control : token_type::user_defined;
      out_.added.push_back({.id = id,
                            .special = special,
                            .lstrip = item["lstrip"].flag(false),
                            .rstrip = item["rstrip"].flag(false),
                            .single_word = item["single_word"].flag(false),
                            .normalized = item["normalized"].flag(!special)});
    }
  }

  // Ids may leave gaps (they are unused tokens), but a small file must not ask for a huge table.
  void put(const std::string& content, u32 id, const json_node& where) {
    constexpr std::size_t most_unused = 1 << 20;
    if (id >= entries_ + most_unused)
      where.mismatch("ids near the number of tokens, " + std::to_string(entries_),
                     std::to_string(id));
    if (id >= out_.tokens.size()) {
      out_.tokens.resize(std::size_t{id} + 1);
      out_.types.resize(std::size_t{id} + 1, token_type::unused);
    }
    if (out_.types[id] != token_type::unused)
      where.mismatch("each id once", std::to_string(id) + " twice");
    out_.tokens[id] = content;
    out_.types[id] = token_type::normal;
    ids_.insert(hash(content), id, same(content));
  }

  vocabulary& out_;
  std::size_t entries_;
  index_table ids_;  // by the file's spelling
  bool byte_fallback_ = false;
};

}  // namespace cke::detail
