// SPDX-License-Identifier: MIT
// hf_model.hpp: reads the sections model and added_tokens of a tokenizer.json: tokens, merges, scores.
#pragma once

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "../core/plain_list.hpp"
#include "../text/tokenizer/byte_alphabet.hpp"
#include "../text/tokenizer/index_table.hpp"
#include "../text/tokenizer/steps/recipe.hpp"
#include "../text/tokenizer/vocabulary.hpp"
#include "json_node.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io::detail {

// A score with the bits that `tokenizers` gives it: its JSON reader (serde_json) rounds twice, the digits as an integer
// and their division by a power of ten. If two segmentations are equally good, the last bit decides.
inline double twice_rounded(double score) {
  char text[32];
  const char* const end = std::to_chars(text, text + sizeof text, std::abs(score), std::chars_format::scientific).ptr;
  u64 digits = 0;
  int exponent = 0, shift = 0;
  const char* at = text;
  for (; at != end && *at != 'e'; ++at) {
    if (*at != '.') digits = digits * 10 + static_cast<u64>(*at - '0');
    if (at > text + 1) --shift;
  }
  std::from_chars(at[1] == '+' ? at + 2 : at + 1, end, exponent);
  exponent += shift;
  char power_text[8] = "1e";
  double power = 1;
  const char* const power_end = std::to_chars(power_text + 2, std::end(power_text), std::abs(exponent)).ptr;
  if (std::from_chars(power_text, power_end, power).ec != std::errc()) return score;  // no real score is this small
  const double rounded = exponent < 0 ? static_cast<double>(digits) / power : static_cast<double>(digits) * power;
  return std::signbit(score) ? -rounded : rounded;
}

// Fills the vocabulary. Tokens keep the file's spelling until spell() is called.
class hf_model {
  static u64 hash(std::string_view content) { return std::hash<std::string_view>{}(content); }
  auto same(std::string_view content) const {
    return [this, content](u32 id) { return out_.tokens[id] == content; };
  }
  u32 find(std::string_view content) const { return ids_.find(hash(content), same(content)); }

 public:
  hf_model(vocabulary& out, const json_node& model, const json_node& added)
      : out_(out), entries_(model["vocab"].raw().size() + added.raw().size()), ids_(entries_) {
    const json_node type = model["type"];
    if (type.null() || type.is("BPE")) read_bpe(model);
    else if (type.is("Unigram")) read_unigram(model);
    else if (type.is("WordPiece")) read_wordpiece(model);
    else if (type.is("WordLevel")) read_word_level(model);
    else type.unsupported("BPE, Unigram, WordPiece or WordLevel");
    if (!added.null()) read_added(added);
    if (auto* unigram = std::get_if<modelling::unigram>(&options_))
      // Added tokens have no score.
      unigram->scores.resize(out_.tokens.size(), std::numeric_limits<double>::infinity());
  }

  const modelling::model& options() const { return options_; }

  // The id of a token, by the file's spelling.
  u32 find(const json_node& content) const {
    const u32 id = find(content.text());
    if (id == no_token) content.mismatch("a token of tokenizer.json");
    return id;
  }

  // Converts tokens from the file's spelling to that of the vocabulary's `model`; afterwards find() must not be used.
  void spell() {
    const bool steps = out_.model == tokenizer_model::steps;
    const auto* bpe = std::get_if<modelling::bpe>(&options_);
    const auto* unigram = std::get_if<modelling::unigram>(&options_);
    const bool bytes = (bpe && bpe->byte_fallback) || (unigram && unigram->byte_fallback);
    if (steps)  // a token of the model stays normal, even if it is also an added one
      for (const u32 id : shared_) out_.types[id] = token_type::normal;
    for (std::size_t id = 0; id < out_.tokens.size(); ++id) {
      if (out_.types[id] != token_type::normal) continue;
      std::string& token = out_.tokens[id];
      if (out_.model != tokenizer_model::bpe) {
        if (bytes && byte_token_value(token) >= 0) out_.types[id] = token_type::byte;
      } else if (!from_byte_alphabet(token)) {
        out_.types[id] = token_type::unused;  // encoding never yields it; it still decodes to itself
      }
    }
  }

 private:
  void read_bpe(const json_node& node) {
    node.only({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
               "ignore_merges", "vocab", "merges"});
    const json_node prefix = node["continuing_subword_prefix"], suffix = node["end_of_word_suffix"];
    const nlohmann::json& dropout = node["dropout"].raw();
    const bool drops = !dropout.is_null() && (!dropout.is_number() || dropout.get<double>() != 0);
    node["dropout"].require(!drops, "null");
    out_.fuse_unknown = node["fuse_unk"].flag(false);
    out_.ignore_merges = node["ignore_merges"].flag(false);
    const auto text = [](const json_node& n) { return n.null() ? "" : n.text(); };
    options_ = modelling::bpe{text(prefix), text(suffix), node["byte_fallback"].flag(false)};
    read_vocab(node["vocab"]);
    if (!node["unk_token"].null()) out_.unknown = find(node["unk_token"]);
    read_merges(node["merges"], text(prefix).size());
  }

  void read_wordpiece(const json_node& node) {
    node.only({"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    options_ =
        modelling::wordpiece{"", node["continuing_subword_prefix"].text(), node["max_input_chars_per_word"].id()};
    read_vocab(node["vocab"]);
    out_.unknown = find(node["unk_token"]);
  }

  void read_word_level(const json_node& node) {
    node.only({"unk_token", "vocab"});
    options_ = modelling::word_level{};
    read_vocab(node["vocab"]);
    out_.unknown = find(node["unk_token"]);
  }

  // [["token", score], ...]
  void read_unigram(const json_node& node) {
    node.only({"unk_id", "vocab", "byte_fallback"});
    const json_node vocab = node["vocab"];
    if (!vocab.raw().is_array()) vocab.mismatch("an array");
    modelling::unigram unigram{{}, node["byte_fallback"].flag(false)};
    u32 id = 0;
    for (const nlohmann::json& row : vocab.raw()) {
      if (!row.is_array() || row.size() != 2 || !row[0].is_string() || !row[1].is_number() ||
          !std::isfinite(row[1].get<double>()))
        vocab[id].mismatch("a token and its score");
      out_.tokens.push_back(row[0].get_ref<const std::string&>());
      unigram.scores.push_back(twice_rounded(row[1].get<double>()));
      ++id;
    }
    out_.types.resize(out_.tokens.size(), token_type::normal);
    // Of equal tokens, the last counts.
    for (id = 0; id < out_.tokens.size(); ++id) ids_.insert(hash(out_.tokens[id]), id, same(out_.tokens[id]));
    if (!node["unk_id"].null()) out_.unknown = node["unk_id"].id();
    options_ = std::move(unigram);
  }

  void read_vocab(const json_node& vocab) {
    out_.tokens.reserve(entries_);
    out_.types.reserve(entries_);
    for (const auto& [content, id] : vocab.object()) {
      const bool fits = id.is_number_unsigned() && id.get<u64>() < no_token;
      put(content, fits ? id.get<u32>() : vocab[content.c_str()].id(), vocab);
    }
  }

  // "left right", or ["left", "right"] since tokenizers 0.20. The result has the prefix of the left part only.
  void read_merges(const json_node& node, std::size_t prefix) {
    const nlohmann::json& merges = node.raw();
    if (!merges.is_array()) node.mismatch("an array");
    out_.merges.reserve(merges.size());
    std::string both;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const auto [left, right] = split_merge(merges[i]);
      const u32 a = find(left), b = find(right),
                joined = find(both.assign(left).append(right.substr(std::min(prefix, right.size()))));
      if (left.empty() || right.empty() || a == no_token || b == no_token || joined == no_token)
        node[i].mismatch("two tokens whose joined text is a token");
      out_.merges.push_back({a, b, joined});
    }
  }

  // Two empty texts if the item is not a pair.
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
      if (known != no_token && !special) shared_.push_back(id);
      out_.types[id] = special ? token_type::control : token_type::user_defined;
      out_.added.push_back({.id = id,
                            .special = special,
                            .lstrip = item["lstrip"].flag(false),
                            .rstrip = item["rstrip"].flag(false),
                            .single_word = item["single_word"].flag(false),
                            .normalized = item["normalized"].flag(!special)});
    }
  }

  // Ids may have gaps (unused tokens), but a small file must not cause a huge table.
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
    ids_.insert(hash(content), id, same(content));
  }

  vocabulary& out_;
  std::size_t entries_;
  index_table ids_;  // keyed by the file's spelling
  modelling::model options_;
  std::vector<u32> shared_;  // added tokens that the model also has
};

}  // namespace cke::io::detail
CKE_COLD_END
