// SPDX-License-Identifier: MIT
// gguf_steps.hpp: tokenizers of GGUF files other than the usual BPE: WordPiece, unigram, BPE of whole words.
#pragma once

#include "../text/tokenizer/steps/charsmap.hpp"
#include "../text/tokenizer/steps/recipe.hpp"
#include "gguf_tokenizer.hpp"

CKE_COLD_BEGIN
namespace cke::io {
namespace detail {

// BERT's WordPiece. GGUF's converter writes "▁word" and "rest" for tokenizer.json's "word" and "##rest".
inline text_recipe gguf_wordpiece(const gguf& file, vocabulary& v) {
  const auto id = [&](const char* key, u32 usual) {
    return file.get_or(key, usual < v.tokens.size() ? usual : no_token);
  };
  v.bos = id("tokenizer.ggml.cls_token_id", v.bos != no_token ? v.bos : 101);
  v.eos = id("tokenizer.ggml.seperator_token_id", 102);  // sic
  v.unknown = id("tokenizer.ggml.unknown_token_id", 100);
  v.add_bos = v.bos != no_token, v.add_eos = v.eos != no_token;
  const bool lowercase = file.get_or("tokenizer.ggml.normalizer.lowercase", true);
  constexpr u32 most_characters = 100;  // BERT's limit, which the file does not store
  return {{normalizing::bert{.clean_text = true, .chinese = true, .accents = lowercase, .lowercase = lowercase}},
          {cutting::at_characters{cutting::char_set::space, cutting::behavior::removed},
           cutting::at_characters{cutting::char_set::punctuation, cutting::behavior::isolated}},
          modelling::wordpiece{"▁", "", most_characters},
          {decoding::replace{{"▁", false, nullptr}, " "}, decoding::fuse{}, decoding::strip{" ", 1, 0}}};
}

// SentencePiece's unigram model and its normalisation.
inline text_recipe gguf_unigram(const gguf& file, vocabulary& v) {
  v.add_bos = file.get_or("tokenizer.ggml.add_bos_token", false) && v.bos != no_token;
  v.add_eos = file.get_or("tokenizer.ggml.add_eos_token", true) && v.eos != no_token;
  const auto scores = file.array<float>("tokenizer.ggml.scores");
  if (scores.size() != v.tokens.size())
    throw Error(errc::malformed, file.file(), "tokenizer.ggml.scores", concat({v.tokens.size()}),
                concat({scores.size()}));
  modelling::unigram model{{scores.begin(), scores.end()}, true};
  for (u32 token = 0; token < v.tokens.size(); ++token) {
    if (!std::isfinite(scores[token]))
      throw Error(errc::malformed, file.file(), "tokenizer.ggml.scores", "finite numbers",
                  std::to_string(scores[token]));
    // The worst score is that of normal tokens only.
    if (v.types[token] != token_type::normal) model.scores[token] = std::numeric_limits<double>::infinity();
  }
  text_recipe recipe{{},
                     {},
                     std::move(model),
                     {decoding::replace{{"▁", false, nullptr}, " "}, decoding::byte_fallback{}, decoding::fuse{}}};
  const char* key = "tokenizer.ggml.precompiled_charsmap";
  if (const gguf_value* map = file.find(key)) {
    if (map->type != gguf_type::array || (map->item != gguf_type::uint8 && map->item != gguf_type::int8))
      throw Error(errc::config_mismatch, file.file(), key, "array of u8", describe(*map));
    const std::string_view bytes(reinterpret_cast<const char*>(map->bytes.data()), map->bytes.size());
    recipe.normalizers.push_back(normalizing::precompiled{std::make_shared<charsmap>(bytes, file.file(), key), {}});
  }
  if (file.get_or("tokenizer.ggml.remove_extra_whitespaces", false))
    recipe.normalizers.push_back(normalizing::merge_spaces{});
  if (file.get_or("tokenizer.ggml.add_space_prefix", true)) {
    recipe.normalizers.push_back(normalizing::prepend{" "});
    recipe.decoders.push_back(decoding::strip{" ", 1, 0});
  }
  recipe.normalizers.push_back(normalizing::replace{{" ", false, nullptr}, "▁"});
  return recipe;
}

// BPE over the characters of words; white space separates them and is dropped.
inline text_recipe gguf_words(const gguf& file, vocabulary& v) {
  v.add_bos = file.get_or("tokenizer.ggml.add_bos_token", false) && v.bos != no_token;
  v.add_eos = file.get_or("tokenizer.ggml.add_eos_token", false) && v.eos != no_token;
  v.merges = gguf_merges(file, "tokenizer.ggml.merges", v.tokens);
  text_recipe recipe{{},
                     {cutting::at_characters{cutting::char_set::space, cutting::behavior::removed}},
                     modelling::bpe{"", "", false},
                     {decoding::fuse{}}};
  if (file.get_or("tokenizer.ggml.normalizer.lowercase", false)) recipe.normalizers.push_back(normalizing::lowercase{});
  return recipe;
}

}  // namespace detail

// The tokenizer of any GGUF file. Throws like read_gguf_tokenizer.
inline vocabulary read_any_gguf_tokenizer(const gguf& file) {
  const auto model = file.get<std::string_view>("tokenizer.ggml.model");
  const auto read = model == "bert" ? detail::gguf_wordpiece
      : model == "t5"               ? detail::gguf_unigram
      : model == "whitespace"       ? detail::gguf_words
                                    : nullptr;
  if (read == nullptr) return read_gguf_tokenizer(file);
  vocabulary v;
  v.model = tokenizer_model::steps;
  detail::read_gguf_tokens(file, v);
  v.recipe = std::make_shared<const text_recipe>(read(file, v));
  validate(v, file.file());
  return v;
}

}  // namespace cke::io
CKE_COLD_END
