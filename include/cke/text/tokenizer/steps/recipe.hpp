// SPDX-License-Identifier: MIT
// recipe.hpp: a tokenizer as the list of steps in a tokenizer.json: plain data.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../../../core/function_ref.hpp"
#include "../../../core/types.hpp"

CKE_COLD_BEGIN
namespace cke::text {

class charsmap;  // charsmap.hpp

// Matches a regular expression. Thread-safe.
class matcher {
 public:
  virtual ~matcher() = default;
  // Calls found(first, last) for each match, from left to right; a match may be empty.
  virtual void each(std::string_view text, function_ref<void(std::size_t, std::size_t)> found) const = 0;
};

// A literal text, or a regular expression and its matcher, made by with_patterns() in io/pattern_splitter.hpp.
struct text_pattern {
  std::string text;
  bool regex = false;
  std::shared_ptr<const matcher> compiled;
};

// Normalisers, which change a text before it is cut.
namespace normalizing {

struct form {  // NFC, NFD, NFKC, NFKD
  bool compatible, composed;
};
struct lowercase {};
struct strip_accents {};  // drops marks
struct nmt {};            // drops control characters and normalises spaces
struct byte_level {};
struct bert {
  bool clean_text, chinese, accents, lowercase;  // accents: drop them
};
struct strip {  // white space at the ends
  bool left, right;
};
struct merge_spaces {};  // SentencePiece's remove_extra_whitespaces
struct prepend {
  std::string text;
};
struct replace {
  text_pattern pattern;
  std::string content;
};
// SentencePiece's rules as a table. With `graphemes`, as Hugging Face uses it, a whole grapheme is replaced if a prefix
// of it is in the table, the shortest one. Without: the longest match at each position.
struct precompiled {
  std::shared_ptr<const charsmap> map;
  text_pattern graphemes;
};

using step = std::variant<form, lowercase, strip_accents, nmt, byte_level, bert, strip, merge_spaces, prepend, replace,
                          precompiled>;

}  // namespace normalizing

// Cuts, which split a text. Each step splits the pieces of the one before.
namespace cutting {

enum class behavior : u8 { removed, isolated, merged_with_previous, merged_with_next, contiguous };
enum class char_set : u8 { space, punctuation, number };
enum class prefix : u8 { never, always, first };

struct at_characters {
  char_set set;
  behavior how;
};
struct at_pattern {
  text_pattern pattern;
  behavior how;
  bool invert;
};
struct words {};  // \w+|[^\w\s]+
struct metaspace {
  std::string mark;
  prefix scheme;
  bool split;
};
struct byte_level {
  bool prefix_space, gpt2_words;
};
struct fixed_length {
  u32 characters;
};

struct at_scripts {};  // where the script changes; drops the text before the first character that has one

using step = std::variant<at_characters, at_pattern, words, metaspace, byte_level, fixed_length, at_scripts>;

}  // namespace cutting

// Models, which find the tokens of a piece.
namespace modelling {

struct bpe {
  std::string continuing, end_of_word;  // the file's prefix of tokens inside a word, and suffix of those that end one
  bool byte_fallback;
};
struct unigram {
  std::vector<double> scores;  // by id
  bool byte_fallback;
};
struct wordpiece {
  std::string first, continuing;  // the file's prefixes of tokens that start a word, and of others
  u32 most_characters;
};
struct word_level {};

using model = std::variant<bpe, unigram, wordpiece, word_level>;

}  // namespace modelling

// Decoders, which turn tokens into text.
namespace decoding {

struct spaced {};  // no decoder: spaces between tokens
struct byte_level {};
struct byte_fallback {};
struct fuse {};
struct replace {
  text_pattern pattern;
  std::string content;
};
struct strip {
  std::string character;
  u32 start, stop;
};
struct metaspace {
  std::string mark;
  bool prefix;
};
struct wordpiece {
  std::string prefix;
  bool cleanup;
};
struct end_of_word {
  std::string suffix;
};

struct ctc {  // collapses equal neighbours
  std::string pad, word_delimiter;
  bool cleanup;
};

using step =
    std::variant<spaced, byte_level, byte_fallback, fuse, replace, strip, metaspace, wordpiece, end_of_word, ctc>;

}  // namespace decoding

// The vocabulary has the rest: tokens in the file's spelling, merges, added tokens and the unknown token.
struct text_recipe {
  std::vector<normalizing::step> normalizers;
  std::vector<cutting::step> cuts;
  modelling::model model;
  std::vector<decoding::step> decoders;
};

}  // namespace cke::text
CKE_COLD_END
