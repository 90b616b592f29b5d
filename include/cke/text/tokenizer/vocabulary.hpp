// SPDX-License-Identifier: MIT
// vocabulary.hpp: everything that a file says about a tokenizer, as plain data, and its validation.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../core/concat.hpp"
#include "../../core/error.hpp"
#include "../../core/plain_list.hpp"
#include "pre_tokenizer.hpp"

CKE_COLD_BEGIN
namespace cke::text {

inline constexpr u32 no_token = ~u32{0};

enum class tokenizer_model : u8 {
  bpe,    // byte-level BPE (GPT-2): pieces of bytes
  spm,    // SentencePiece-style BPE (Llama): pieces of characters, "▁" for the space, bytes as a fallback
  steps,  // any other, by a recipe (steps/recipe.hpp): unigram, WordPiece, other normalisers
};

// The numbers are GGUF's.
enum class token_type : u8 { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// Whether a text gets a space prefix, so that its first word is encoded like any other word.
enum class space_prefix : u8 {
  never,
  always,        // before each stretch of text between added tokens (SentencePiece)
  if_missing,    // the same, unless a space is there already (Metaspace "always", ByteLevel)
  at_beginning,  // like if_missing, but only where the text itself begins (Metaspace "first")
};

// Two tokens that merge into one; a merge's index is its rank.
struct merge {
  u32 left, right, result;
  bool operator==(const merge&) const = default;
};

// A token that is searched in the text before the model runs.
struct added_token {
  u32 id;
  bool special = false;      // a control token: only recognised if the caller asks for it
  bool lstrip = false;       // consumes the white space on its left
  bool rstrip = false;       // consumes the white space on its right
  bool single_word = false;  // not inside a word
  bool normalized = false;   // searched after normalisation
  bool operator==(const added_token&) const = default;
};

// A regular expression that cuts each piece of the rules before it. The matches become pieces, and so does the text
// between them, unless that is dropped.
struct split_rule {
  std::string pattern;
  bool drops_rest = false;
  bool operator==(const split_rule&) const = default;
};

struct text_recipe;

// Encodes and decodes by a vocabulary's recipe. Thread-safe.
class text_pipeline {
 public:
  virtual ~text_pipeline() = default;
  virtual std::string normalize(std::string_view text) const = 0;
  // Appends the ids of a part of the normalised text. `beginning`: the text starts with it.
  virtual void encode(std::string_view text, bool beginning, std::vector<u32>& ids) const = 0;
  virtual std::string decode(std::span<const u32> ids) const = 0;
  // By id: the bytes that a token adds after others.
  virtual std::span<const std::string> pieces() const = 0;
};

struct vocabulary {
  tokenizer_model model = tokenizer_model::bpe;
  pre_tokenizer pre = pre_tokenizer::none;
  std::vector<split_rule> patterns;               // if `pre` is patterns: applied one after the other
  std::shared_ptr<const splitter> cuts;           // made from them by with_patterns() in io/pattern_splitter.hpp
  std::shared_ptr<const text_recipe> recipe;      // if `model` is steps
  std::shared_ptr<const text_pipeline> pipeline;  // made from it by with_patterns()
  space_prefix prefix = space_prefix::never;
  bool strip_prefix = false;  // decoding drops one space at the start
  bool nfc = false;           // normalise text to form C
  bool add_bos = false;       // if the caller asks for special tokens
  bool add_eos = false;
  bool ignore_merges = false;  // a piece that is a token becomes that token, whatever the merges say
  bool fuse_unknown = false;   // adjacent unknown characters become one unknown token
  u32 bos = no_token, eos = no_token, unknown = no_token, pad = no_token;

  std::vector<u32> before, after;  // tokens around a text, if not just bos and eos

  // By id. bpe: raw bytes, not GPT-2's printable spelling. spm: UTF-8 with "▁" for the space, "<0x0A>" for a byte.
  // steps: as in the file. Added tokens: the text by which they are found.
  std::vector<std::string> tokens;
  plain_list<token_type> types;  // by id
  plain_list<float> scores;      // by id; an spm without merges ranks by these
  plain_list<merge> merges;      // best first
  plain_list<added_token> added;
  std::string chat_template;  // Jinja source, or empty
  std::string tool_template;  // for conversations with tools; empty: use chat_template
};

// The byte in SentencePiece's spelling "<0x0A>", or -1 for any other text.
constexpr int byte_token_value(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
  const int high = digit(text[3]), low = digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// Throws Error{malformed} naming `file` unless all ids, sizes and merges are consistent.
inline void validate(const vocabulary& v, const std::string& file) {
  const auto fail = [&](std::string_view subject, std::string_view expected, std::string_view found) {
    throw Error(errc::malformed, file, subject, expected, found);
  };
  const std::size_t size = v.tokens.size();
  if (size >= no_token) fail("tokens", "fewer than 2^32 - 1", concat({size}));
  if (v.types.size() != size) fail("token types", concat({size}), concat({v.types.size()}));
  const bool scored = v.model == tokenizer_model::spm && v.merges.empty();
  if (v.scores.size() != size && (scored || !v.scores.empty()))
    fail("token scores", concat({size}), concat({v.scores.size()}));
  for (std::size_t i = 0; i < v.scores.size(); ++i)
    if (!std::isfinite(v.scores[i]))
      fail(concat({"score of token ", i}), "a finite number", std::to_string(v.scores[i]));
  for (std::size_t i = 0; i < size; ++i)
    if (v.types[i] == token_type::byte && byte_token_value(v.tokens[i]) < 0)
      fail(concat({"byte token ", i}), "the form <0x0A>", v.tokens[i]);

  const auto check_id = [&](u32 id, const char* what, bool optional) {
    if (id >= size && !(optional && id == no_token))
      fail(what, concat({"an id below ", size}), id == no_token ? "none" : concat({id}));
  };
  check_id(v.bos, "begin-of-text token", !v.add_bos);
  check_id(v.eos, "end-of-text token", !v.add_eos);
  check_id(v.unknown, "unknown token", true);
  check_id(v.pad, "padding token", true);
  constexpr std::size_t longest = 1024;  // each place of a text may be compared with as much of one
  for (const added_token& a : v.added) {
    check_id(a.id, "added token", false);
    if (const std::size_t bytes = v.tokens[a.id].size(); bytes > longest)
      fail(concat({"added token ", a.id}), concat({"at most ", u64{longest}, " bytes"}), concat({u64{bytes}}));
  }
  for (const u32 id : v.before) check_id(id, "token before the text", false);
  for (const u32 id : v.after) check_id(id, "token after the text", false);

  for (std::size_t i = 0; i < v.merges.size(); ++i) {
    const auto [left, right, result] = v.merges[i];
    if (left < size && right < size && result < size) {
      const std::string_view l = v.tokens[left], r = v.tokens[right], joined = v.tokens[result];
      // In `steps`, merging may drop a prefix of r.
      const bool whole = joined.size() == l.size() + r.size() || v.model == tokenizer_model::steps;
      if (whole && joined.starts_with(l) && r.ends_with(joined.substr(l.size()))) continue;
    }
    fail(concat({"merge ", i}), "two tokens and the token of their joined text",
         concat({left, " + ", right, " = ", result}));
  }
}

}  // namespace cke::text
CKE_COLD_END
