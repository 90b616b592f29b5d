// SPDX-License-Identifier: MIT
// hf_steps.hpp: converts normalizer, pre_tokenizer and decoder of a tokenizer.json into the steps of a recipe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../text/tokenizer/steps/charsmap.hpp"
#include "../text/tokenizer/steps/recipe.hpp"
#include "../text/tokenizer/unicode.hpp"
#include "json_node.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io::detail {

// A section is null, one step, or a Sequence of such sections.
inline std::vector<json_node> hf_steps(const json_node& node, const char* key, u32 most_nested = 8) {
  std::vector<json_node> steps;
  for (const json_node& step : node.components(key)) {
    const bool nested = step["type"].is("Sequence");
    step.require(!nested || most_nested > 0, "no Sequence so deep");
    if (!nested) steps.push_back(step);
    else
      for (const json_node& inner : hf_steps(step, key, most_nested - 1)) steps.push_back(inner);
  }
  node.require(steps.size() <= 256, "at most 256 steps");  // each is a level of a stack where texts are cut
  return steps;
}

inline text_pattern hf_pattern(const json_node& node) {
  node.only({"Regex", "String"});
  const bool regex = node["String"].null();
  return {regex ? node["Regex"].text() : node["String"].text(), regex, nullptr};
}

inline std::string from_base64(const json_node& node) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  u32 bits = 0, count = 0;
  std::string_view text = node.text();
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == digits.npos) node.mismatch("base64", std::string(1, c));
    bits = bits << 6 | static_cast<u32>(digit);
    count += 6;
    if (count >= 8) out += static_cast<char>(bits >> (count -= 8));
  }
  return out;
}

inline normalizing::step hf_normalizer(const json_node& step, const std::string& file) {
  const json_node type = step["type"];
  if (type.is("Replace")) {
    step.only({"pattern", "content"});
    return normalizing::replace{hf_pattern(step["pattern"]), step["content"].text()};
  }
  if (type.is("Prepend")) return step.only({"prepend"}), normalizing::prepend{step["prepend"].text()};
  if (type.is("Strip")) {
    step.only({"strip_left", "strip_right"});
    return normalizing::strip{step["strip_left"].flag(false), step["strip_right"].flag(false)};
  }
  if (type.is("BertNormalizer")) {
    step.only({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
    const bool lowercase = step["lowercase"].flag(true);
    return normalizing::bert{step["clean_text"].flag(true), step["handle_chinese_chars"].flag(true),
                             step["strip_accents"].flag(lowercase), lowercase};
  }
  if (type.is("Precompiled")) {
    step.only({"precompiled_charsmap"});
    const json_node map = step["precompiled_charsmap"];
    return normalizing::precompiled{
        std::make_shared<charsmap>(map.null() ? std::string() : from_base64(map), file, "precompiled_charsmap"),
        {"\\X", true, nullptr}};
  }
  step.only({});
  if (type.is("NFC")) return normalizing::form{.compatible = false, .composed = true};
  if (type.is("NFD")) return normalizing::form{.compatible = false, .composed = false};
  if (type.is("NFKC")) return normalizing::form{.compatible = true, .composed = true};
  if (type.is("NFKD")) return normalizing::form{.compatible = true, .composed = false};
  if (type.is("Lowercase")) return normalizing::lowercase{};
  if (type.is("StripAccents")) return normalizing::strip_accents{};
  if (type.is("Nmt")) return normalizing::nmt{};
  if (type.is("ByteLevel")) return normalizing::byte_level{};
  type.unsupported("a normalizer that cke knows");
}

inline cutting::behavior hf_behavior(const json_node& node, bool optional = false) {
  using enum cutting::behavior;
  if (node.is("Isolated") || (optional && node.null())) return isolated;
  if (node.is("Removed")) return removed;
  if (node.is("MergedWithPrevious")) return merged_with_previous;
  if (node.is("MergedWithNext")) return merged_with_next;
  if (node.is("Contiguous")) return contiguous;
  node.unsupported("Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous");
}

// Where a Metaspace puts its mark; older files use `add_prefix_space`.
inline cutting::prefix hf_prefix(const json_node& step) {
  const json_node scheme = step["prepend_scheme"];
  const bool wanted = step["add_prefix_space"].flag(true);
  if (scheme.is("never") || !wanted)
    return scheme.require(scheme.null() || scheme.is("never"), "never"), cutting::prefix::never;
  if (scheme.is("first")) return cutting::prefix::first;
  scheme.require(scheme.null() || scheme.is("always"), "always, first or never");
  return cutting::prefix::always;
}

inline std::string hf_character(const json_node& node) {
  const std::string& text = node.text();
  if (text.empty() || code_point_at(text, 0).size != text.size()) node.mismatch("one character");
  return text;
}

inline void hf_cut(const json_node& step, std::vector<cutting::step>& out) {
  using enum cutting::char_set;
  using enum cutting::behavior;
  const json_node type = step["type"];
  if (type.is("ByteLevel")) {
    step.only({"add_prefix_space", "trim_offsets", "use_regex"});
    out.push_back(cutting::byte_level{step["add_prefix_space"].flag(true), step["use_regex"].flag(true)});
  } else if (type.is("Metaspace")) {
    step.only({"replacement", "str_rep", "prepend_scheme", "add_prefix_space", "split"});
    out.push_back(cutting::metaspace{hf_character(step["replacement"]), hf_prefix(step), step["split"].flag(true)});
  } else if (type.is("Split")) {
    step.only({"pattern", "behavior", "invert"});
    out.push_back(
        cutting::at_pattern{hf_pattern(step["pattern"]), hf_behavior(step["behavior"]), step["invert"].flag(false)});
  } else if (type.is("CharDelimiterSplit")) {
    step.only({"delimiter"});
    out.push_back(cutting::at_pattern{{hf_character(step["delimiter"]), false, nullptr}, removed, false});
  } else if (type.is("Digits")) {
    step.only({"individual_digits"});
    out.push_back(cutting::at_characters{number, step["individual_digits"].flag(false) ? isolated : contiguous});
  } else if (type.is("Punctuation")) {
    step.only({"behavior"});
    out.push_back(cutting::at_characters{punctuation, hf_behavior(step["behavior"], true)});
  } else if (type.is("FixedLength")) {
    step.only({"length"});
    out.push_back(cutting::fixed_length{step["length"].null() ? 5 : step["length"].id()});
    step["length"].require(std::get<cutting::fixed_length>(out.back()).characters > 0, "at least 1");
  } else {
    step.only({});
    if (type.is("BertPreTokenizer") || type.is("WhitespaceSplit"))
      out.push_back(cutting::at_characters{space, removed});
    if (type.is("BertPreTokenizer")) out.push_back(cutting::at_characters{punctuation, isolated});
    else if (type.is("Whitespace")) out.push_back(cutting::words{});
    else if (type.is("UnicodeScripts")) out.push_back(cutting::at_scripts{});
    else if (!type.is("WhitespaceSplit")) type.unsupported("a pre-tokenizer that cke knows");
  }
}

inline decoding::step hf_decoder(const json_node& step) {
  const json_node type = step["type"];
  if (type.is("ByteLevel")) return decoding::byte_level{};
  if (type.is("Replace")) {
    step.only({"pattern", "content"});
    return decoding::replace{hf_pattern(step["pattern"]), step["content"].text()};
  }
  if (type.is("Strip")) {
    step.only({"content", "start", "stop"});
    return decoding::strip{hf_character(step["content"]), step["start"].id(), step["stop"].id()};
  }
  if (type.is("Metaspace")) {
    step.only({"replacement", "str_rep", "prepend_scheme", "add_prefix_space", "split"});
    return decoding::metaspace{hf_character(step["replacement"]), hf_prefix(step) != cutting::prefix::never};
  }
  if (type.is("WordPiece")) {
    step.only({"prefix", "cleanup"});
    return decoding::wordpiece{step["prefix"].text(), step["cleanup"].flag(true)};
  }
  if (type.is("CTC")) {
    step.only({"pad_token", "word_delimiter_token", "cleanup"});
    step["word_delimiter_token"].require(!step["word_delimiter_token"].is(""), "a text that is not empty");
    return decoding::ctc{step["pad_token"].text(), step["word_delimiter_token"].text(), step["cleanup"].flag(true)};
  }
  if (type.is("BPEDecoder")) return step.only({"suffix"}), decoding::end_of_word{step["suffix"].text()};
  step.only({});
  if (type.is("ByteFallback")) return decoding::byte_fallback{};
  if (type.is("Fuse")) return decoding::fuse{};
  type.unsupported("a decoder that cke knows");
}

// All steps except the model.
inline text_recipe hf_recipe(const json_node& root, const std::string& file) {
  text_recipe recipe;
  for (const json_node& step : hf_steps(root["normalizer"], "normalizers"))
    recipe.normalizers.push_back(hf_normalizer(step, file));
  for (const json_node& step : hf_steps(root["pre_tokenizer"], "pretokenizers")) hf_cut(step, recipe.cuts);
  for (const json_node& step : hf_steps(root["decoder"], "decoders")) recipe.decoders.push_back(hf_decoder(step));
  if (recipe.decoders.empty()) recipe.decoders.push_back(decoding::spaced{});
  return recipe;
}

}  // namespace cke::io::detail
CKE_COLD_END
