// SPDX-License-Identifier: MIT
// recipe.hpp: a tokenizer as the steps that a tokenizer.json lists: plain data.
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

// Finds a regular expression. Any number of threads may use one.
class matcher {
 public:
  virtual ~matcher() = default;
  // found(first, last) for each match, from left to right; a match may be empty.
  virtual void each(std::string_view text, function_ref<void(std::size_t, std::size_t)> found) const = 0;
};

// A text to look for, or a regular expression and what finds it: with_patterns() in io/pattern_splitter.hpp.
struct text_pattern {
  std::string text;
  bool regex = false;
  std::shared_ptr<const matcher> compiled;
};

// What is done to a text before it is cut.
namespace normalizing {

struct form {  // NFC, NFD, NFKC, NFKD
  bool compatible, composed;
};
struct lowercase {};
struct strip_accents {};  // drops marks
struct nmt {};            // drops control characters; odd spaces become spaces
struct byte_level {};
struct bert {
  bool clean_text, chinese, accents, lowercase;  // accents: they are dropped
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
// SentencePiece's rules as a table. `graphemes` is Hugging Face's way to use it: a whole character as a reader sees it
// becomes what the shortest of its beginnings becomes. Without it: the longest match at each place.
struct precompiled {
  std::shared_ptr<const charsmap> map;
  text_pattern graphemes;
};

using step = std::variant<form, lowercase, strip_accents, nmt, byte_level, bert, strip, merge_spaces, prepend, replace, precompiled>;

}  // namespace normalizing

// How a text is cut. A step sees each piece of the one before.
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

struct at_scripts {};  // where the script changes; what stands before the first character of one is dropped

using step = std::variant<at_characters, at_pattern, words, metaspace, byte_level, fixed_length, at_scripts>;

}  // namespace cutting

// How the tokens of a piece are found.
namespace modelling {

struct bpe {
  std::string continuing, end_of_word;  // what the file writes before the tokens that do not begin a word, and behind those that end it
  bool byte_fallback;
};
struct unigram {
  std::vector<double> scores;  // by id
  bool byte_fallback;
};
struct wordpiece {
  std::string first, continuing;  // what the file writes before the tokens that begin a word, and before others
  u32 most_characters;
};
struct word_level {};

using model = std::variant<bpe, unigram, wordpiece, word_level>;

}  // namespace modelling

// How tokens become text.
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

struct ctc {  // of neighbours that are equal one stays
  std::string pad, word_delimiter;
  bool cleanup;
};

using step = std::variant<spaced, byte_level, byte_fallback, fuse, replace, strip, metaspace, wordpiece, end_of_word, ctc>;

}  // namespace decoding

// Beside it a vocabulary has tokens in the file's spelling, merges, added tokens and what is unknown.
struct text_recipe {
  std::vector<normalizing::step> normalizers;
  std::vector<cutting::step> cuts;
  modelling::model model;
  std::vector<decoding::step> decoders;
};

}  // namespace cke::text
CKE_COLD_END
