// SPDX-License-Identifier: MIT
// hf_built_in.hpp: detects the recipes that the tokenizer's built-in models implement, which run faster.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "../text/tokenizer/steps/recipe.hpp"
#include "../text/tokenizer/vocabulary.hpp"
#include "gguf_pre.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io::detail {

inline bool is_text(const text_pattern& pattern, std::string_view text) {
  return !pattern.regex && pattern.text == text;
}
inline bool is_nfc(const normalizing::step& step) {
  const auto* form = std::get_if<normalizing::form>(&step);
  return form && form->composed && !form->compatible;
}

// Converts a cut before ByteLevel to regular expressions; returns false if that is not possible.
inline bool split_rules(const cutting::step& step, std::vector<split_rule>& rules) {
  using enum cutting::behavior;
  if (const auto* at = std::get_if<cutting::at_pattern>(&step)) {
    if (at->how != isolated && !(at->how == removed && at->invert)) return false;
    std::string literal;
    for (const char c : at->pattern.text)
      (literal += std::string_view(".^$*+?()[]{}|\\").find(c) < 14 ? "\\" : "") += c;
    rules.push_back({at->pattern.regex ? at->pattern.text : literal, at->how == removed});
    return true;
  }
  const auto* at = std::get_if<cutting::at_characters>(&step);
  if (!at || (at->how != isolated && at->how != contiguous) || at->set == cutting::char_set::space) return false;
  const bool alone = at->how == isolated;
  if (at->set == cutting::char_set::number) rules.push_back({std::string(alone ? patterns::digit : patterns::digits)});
  else rules.push_back({alone ? R"([\p{P}!-/:-@\[-`{-~])" : R"([\p{P}!-/:-@\[-`{-~]+)"});
  return true;
}

// Byte-level BPE: at most NFC, cuts at patterns, then ByteLevel; its decoder is ByteLevel.
inline bool is_byte_level(const text_recipe& recipe, vocabulary& v) {
  const auto* bpe = std::get_if<modelling::bpe>(&recipe.model);
  const auto* last = recipe.cuts.empty() ? nullptr : std::get_if<cutting::byte_level>(&recipe.cuts.back());
  const bool decodes = std::ranges::all_of(
      recipe.decoders, [](const auto& s) { return std::holds_alternative<decoding::byte_level>(s); });
  if (!bpe || bpe->byte_fallback || !bpe->continuing.empty() || !bpe->end_of_word.empty() || !last || !decodes)
    return false;
  if (!std::ranges::all_of(recipe.normalizers, is_nfc) || (last->prefix_space && recipe.cuts.size() > 1)) return false;
  std::vector<split_rule> rules;
  for (std::size_t i = 0; i + 1 < recipe.cuts.size(); ++i)
    if (!split_rules(recipe.cuts[i], rules)) return false;
  if (last->gpt2_words) rules.push_back({std::string(patterns::gpt2)});

  v.model = tokenizer_model::bpe;
  v.nfc = !recipe.normalizers.empty();
  if (last->prefix_space) v.prefix = space_prefix::if_missing;
  if (rules.empty()) return true;
  static constexpr std::pair<std::string_view, pre_tokenizer> known[] = {{patterns::gpt2, pre_tokenizer::gpt2},
                                                                         {patterns::llama3, pre_tokenizer::llama3},
                                                                         {patterns::qwen2, pre_tokenizer::qwen2}};
  v.pre = pre_tokenizer::patterns;
  const bool digits_first = rules.size() == 2 && rules[0] == split_rule{std::string(patterns::digit)};
  for (const auto& [pattern, kind] : known)  // these match everything, so drops_rest makes no difference
    if (rules.back().pattern == pattern) {
      if (rules.size() == 1) v.pre = kind;
      if (digits_first && kind == pre_tokenizer::gpt2) v.pre = pre_tokenizer::smollm;
    }
  if (v.pre == pre_tokenizer::patterns) v.patterns = std::move(rules);
  return true;
}

// SentencePiece-style BPE: a normaliser or a Metaspace turns spaces into "▁", and pieces are not cut.
inline bool is_sentencepiece(const text_recipe& recipe, vocabulary& v) {
  const auto* bpe = std::get_if<modelling::bpe>(&recipe.model);
  if (!bpe || !bpe->continuing.empty() || !bpe->end_of_word.empty() || v.ignore_merges || v.merges.empty() ||
      recipe.cuts.size() > 1)  // an spm without merges goes by scores
    return false;
  // Without an unknown token, the neighbours of an unknown character would become adjacent and could merge.
  if (v.unknown == no_token && !bpe->byte_fallback) return false;
  const cutting::step* cut = recipe.cuts.empty() ? nullptr : &recipe.cuts[0];
  const auto* metaspace = cut ? std::get_if<cutting::metaspace>(cut) : nullptr;
  const auto* at_space = cut ? std::get_if<cutting::at_pattern>(cut) : nullptr;
  if (cut && !(metaspace && metaspace->mark == "▁" && !metaspace->split) &&
      !(at_space && is_text(at_space->pattern, " ")))
    return false;
  space_prefix prefix = space_prefix::never;
  bool nfc = false, marks_spaces = false;
  if (metaspace && metaspace->scheme == cutting::prefix::always) prefix = space_prefix::if_missing;
  if (metaspace && metaspace->scheme == cutting::prefix::first) prefix = space_prefix::at_beginning;
  for (const normalizing::step& step : recipe.normalizers) {
    const auto* prepend = std::get_if<normalizing::prepend>(&step);
    const auto* replace = std::get_if<normalizing::replace>(&step);
    if (is_nfc(step) && !marks_spaces) nfc = true;
    else if (prepend && !metaspace && prepend->text == "▁") prefix = space_prefix::always;
    else if (replace && is_text(replace->pattern, " ") && replace->content == "▁") marks_spaces = true;
    else return false;
  }
  // Exactly one of the two must mark spaces, and mark all of them.
  if (marks_spaces == (metaspace != nullptr) || (metaspace && nfc)) return false;

  // Replace or Metaspace, ByteFallback, Fuse, Strip: in this order, some of them optional.
  bool spells_spaces = false, fused = false, strips = false;
  for (const decoding::step& step : recipe.decoders) {
    const auto* replace = std::get_if<decoding::replace>(&step);
    const auto* strip = std::get_if<decoding::strip>(&step);
    if (replace && is_text(replace->pattern, "▁") && replace->content == " ") spells_spaces = true;
    else if (std::holds_alternative<decoding::fuse>(step)) fused = true;
    else if (strip && fused && strip->character == " " && strip->start == 1 && strip->stop == 0) strips = true;
    else if (!std::holds_alternative<decoding::byte_fallback>(step)) return false;
  }
  if (!spells_spaces) return false;
  v.model = tokenizer_model::spm;
  v.prefix = prefix, v.nfc = nfc, v.strip_prefix = strips;
  return true;
}

}  // namespace cke::io::detail
CKE_COLD_END
