// SPDX-License-Identifier: MIT
// gguf_tokenizer_writer.hpp: writes a vocabulary as the metadata of a GGUF file, for gguf_tokenizer.hpp to read.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "../core/plain_list.hpp"
#include "../text/tokenizer/byte_alphabet.hpp"
#include "gguf_tokenizer.hpp"
#include "gguf_writer.hpp"

CKE_COLD_BEGIN
namespace cke::io {
namespace detail {

// GGUF's SentencePiece joins by scores; a list of merges becomes scores by position. Merges that make the same token
// must be adjacent, otherwise no scores are equivalent.
inline plain_list<float> scores_of(const vocabulary& v, const std::string& file) {
  if (v.merges.empty()) return v.scores;
  plain_list<float> scores(v.tokens.size(), -static_cast<float>(v.merges.size()));
  std::vector<bool> seen(v.tokens.size());
  for (std::size_t i = 0; i < v.merges.size(); ++i) {
    const u32 made = v.merges[i].result;
    if (seen[made] && v.merges[i - 1].result != made)
      throw Error(errc::unsupported, file, "tokenizer merges", "an order that scores of tokens can give",
                  v.tokens[made]);
    if (!seen[made]) scores[made] = -static_cast<float>(i);
    seen[made] = true;
  }
  return scores;
}

// The file's spelling. Ids without a token get the names that llama.cpp uses.
inline std::vector<std::string> spelled_tokens(const vocabulary& v, u32 count) {
  std::vector<std::string> tokens(v.tokens);
  const bool bpe = v.model == tokenizer_model::bpe;
  for (u32 id = 0; id < tokens.size(); ++id) {
    if (bpe && v.types[id] == token_type::normal) tokens[id] = to_byte_alphabet(tokens[id]);
    else if (tokens[id].empty()) tokens[id] = concat({"[PAD", id, "]"});
  }
  while (tokens.size() < count) tokens.push_back(concat({"[PAD", static_cast<u64>(tokens.size()), "]"}));
  return tokens;
}

}  // namespace detail

// `count`: rows of the embedding, at least the number of tokens. `file` is for messages. Throws Error{unsupported} for
// rules that GGUF has no name for.
inline void write_gguf_tokenizer(gguf_writer& to, const vocabulary& v, std::span<const u32> stop_ids, u32 count,
                                 const std::string& file) {
  // GGUF has one id for the end of a text. Where the tokenizer adds another token than eos, that one is written as eos,
  // and eos as the token that ends a turn.
  const bool ends = v.after.size() == 1 && !v.add_eos;
  if (v.model == tokenizer_model::steps || !v.before.empty() || (!v.after.empty() && !ends))
    throw Error(errc::unsupported, file, "tokenizer", "BPE, and at most one token on each side of a text", "others");
  const bool bpe = v.model == tokenizer_model::bpe;
  to.add("tokenizer.ggml.model", bpe ? "gpt2" : "llama");
  if (bpe) to.add("tokenizer.ggml.pre", detail::gguf_pre_of(v, file));
  const std::vector<std::string> tokens = detail::spelled_tokens(v, count);
  to.add_array("tokenizer.ggml.tokens", std::span(tokens));
  std::vector<i32> types(tokens.size(), static_cast<i32>(token_type::unused));
  std::ranges::transform(v.types, types.begin(), [](token_type t) { return static_cast<i32>(t); });
  to.add_array("tokenizer.ggml.token_type", std::span<const i32>(types));
  if (bpe) {
    std::vector<std::string> merges;
    merges.reserve(v.merges.size());
    for (const merge& m : v.merges) merges.push_back(concat({tokens[m.left], " ", tokens[m.right]}));
    to.add_array("tokenizer.ggml.merges", std::span<const std::string>(merges));
  } else {
    plain_list<float> scores = detail::scores_of(v, file);
    scores.resize(tokens.size());
    to.add_array("tokenizer.ggml.scores", std::span<const float>(scores));
  }
  const auto id = [&](std::string_view key, u32 value) {
    if (value != no_token) to.add(key, value);
  };
  const u32 own = v.eos != no_token || stop_ids.empty() ? v.eos : stop_ids[0], eos = ends ? v.after[0] : own;
  const auto other = std::ranges::find_if(stop_ids, [&](u32 stop) { return stop != eos; });
  id("tokenizer.ggml.bos_token_id", v.bos);
  id("tokenizer.ggml.eos_token_id", eos);
  id("tokenizer.ggml.eot_token_id", ends ? own : other == stop_ids.end() ? no_token : *other);
  id("tokenizer.ggml.unknown_token_id", v.unknown);
  id("tokenizer.ggml.padding_token_id", v.pad);
  to.add("tokenizer.ggml.add_bos_token", v.add_bos);
  to.add("tokenizer.ggml.add_eos_token", v.add_eos || ends);
  to.add("tokenizer.ggml.add_space_prefix", v.prefix != space_prefix::never);
  if (!v.chat_template.empty()) to.add("tokenizer.chat_template", v.chat_template);
  if (!v.tool_template.empty()) to.add("tokenizer.chat_template.tool_use", v.tool_template);
}

}  // namespace cke::io
CKE_COLD_END
