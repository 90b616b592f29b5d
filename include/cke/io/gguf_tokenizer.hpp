// SPDX-License-Identifier: MIT
// gguf_tokenizer.hpp: reads the tokenizer in a GGUF file's metadata into a vocabulary.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../core/plain_list.hpp"
#include "../text/tokenizer/byte_alphabet.hpp"
#include "../text/tokenizer/index_table.hpp"
#include "../text/tokenizer/vocabulary.hpp"
#include "gguf.hpp"
#include "gguf_pre.hpp"

CKE_COLD_BEGIN
namespace cke::io {
namespace detail {

// Merges are "left right" in the file's spelling, in which no token contains a space.
inline plain_list<merge> gguf_merges(const gguf& file, const char* key, const std::vector<std::string>& tokens) {
  const auto hash = std::hash<std::string_view>{};
  const auto same = [&](std::string_view text) { return [&tokens, text](u32 id) { return tokens[id] == text; }; };
  index_table ids(tokens.size());
  // Of equal tokens, the lowest id counts.
  for (auto id = static_cast<u32>(tokens.size()); id-- > 0;) ids.insert(hash(tokens[id]), id, same(tokens[id]));
  const auto find = [&](std::string_view text) { return ids.find(hash(text), same(text)); };

  plain_list<merge> merges;
  std::string joined;
  file.each<std::string_view>(key, [&](std::string_view pair) {
    const std::size_t space = std::min(pair.find(' '), pair.size());
    const std::string_view left = pair.substr(0, space);
    const std::string_view right = pair.substr(std::min(space + 1, pair.size()));
    const merge m{find(left), find(right), find(joined.assign(left).append(right))};
    if (std::max({m.left, m.right, m.result}) == index_table::none)
      throw Error(errc::malformed, file.file(), key, "two tokens whose joined text is a token", pair);
    merges.push_back(m);
  });
  return merges;
}

// What all tokenizers have: tokens with their types, special ids, templates.
inline void read_gguf_tokens(const gguf& file, vocabulary& v) {
  file.each<std::string_view>("tokenizer.ggml.tokens", [&](std::string_view text) { v.tokens.emplace_back(text); });
  if (const char* key = "tokenizer.ggml.token_type"; file.find(key)) {
    const auto malformed = [&](std::string_view expected, text_part found) {
      throw Error(errc::malformed, file.file(), key, expected, concat({found}));
    };
    file.each<i32>(key, [&](i32 type) {
      if (type < 1 || type > 6) malformed("1 to 6", type);
      const auto id = static_cast<u32>(v.types.size());
      v.types.push_back(static_cast<token_type>(type));
      const bool control = v.types[id] == token_type::control;
      if (control || v.types[id] == token_type::user_defined) v.added.push_back({.id = id, .special = control});
    });
    if (v.types.size() != v.tokens.size()) malformed(concat({v.tokens.size(), " of them"}), v.types.size());
  } else {
    v.types.resize(v.tokens.size(), token_type::normal);
  }

  v.bos = file.get_or("tokenizer.ggml.bos_token_id", no_token);
  v.eos = file.get_or("tokenizer.ggml.eos_token_id", no_token);
  v.pad = file.get_or("tokenizer.ggml.padding_token_id", no_token);
  v.unknown = file.get_or("tokenizer.ggml.unknown_token_id", no_token);
  v.chat_template = file.get_or<std::string_view>("tokenizer.chat_template", {});
  v.tool_template = file.get_or<std::string_view>("tokenizer.chat_template.tool_use", {});
}

}  // namespace detail

// Reads the keys tokenizer.ggml.* and tokenizer.chat_template of BPE models (for others: gguf_steps.hpp). Throws
// Error{malformed}, Error{unsupported} or, if a key is missing or of another type, Error{config_mismatch}; each names
// the key.
inline vocabulary read_gguf_tokenizer(const gguf& file) {
  vocabulary v;
  const auto model = file.get<std::string_view>("tokenizer.ggml.model");
  const auto pre = file.get_or<std::string_view>("tokenizer.ggml.pre", {});
  // Tokens are made of characters, as in SentencePiece, but merges join them.
  const bool merged = model == "gemma4" ||
      (model == "gpt2" && (pre == "gemma4" || pre == "sarvam-moe" || pre == "granite-embed-multi-311m"));
  const bool bpe = model == "gpt2" && !merged;
  if (bpe) {
    const auto rules = detail::gguf_pre_named(file.get<std::string_view>("tokenizer.ggml.pre"), file.file());
    v.pre = rules.kind;
    for (const std::string_view pattern : rules.patterns) v.patterns.push_back({std::string(pattern)});
    v.nfc = rules.nfc;
    v.ignore_merges = rules.ignore_merges;
    v.add_bos = rules.add_bos;
  } else if (model == "llama" || merged) {
    v.model = tokenizer_model::spm;
    v.fuse_unknown = true;
    v.add_bos = true;
    if (!merged) file.each<float>("tokenizer.ggml.scores", [&](float score) { v.scores.push_back(score); });
  } else {
    throw Error(errc::unsupported, file.file(), "tokenizer.ggml.model", "gpt2, llama or gemma4", model);
  }

  detail::read_gguf_tokens(file, v);
  v.add_bos = file.get_or("tokenizer.ggml.add_bos_token", v.add_bos) && v.bos != no_token;
  v.add_eos = file.get_or("tokenizer.ggml.add_eos_token", false) && v.eos != no_token;
  if (file.get_or("tokenizer.ggml.add_space_prefix", !bpe && !merged)) {
    v.prefix = bpe ? space_prefix::if_missing : space_prefix::always;
    v.strip_prefix = !bpe;
  }
  if (bpe || merged) v.merges = detail::gguf_merges(file, "tokenizer.ggml.merges", v.tokens);
  if (bpe) {
    for (std::size_t id = 0; id < v.tokens.size(); ++id) {
      if (v.types[id] == token_type::normal && !from_byte_alphabet(v.tokens[id]))
        v.types[id] = token_type::unused;  // encoding never yields it; it still decodes to itself
    }
  }
  validate(v, file.file());
  return v;
}

}  // namespace cke::io
CKE_COLD_END
