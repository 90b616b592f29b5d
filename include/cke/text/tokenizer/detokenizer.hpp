// SPDX-License-Identifier: MIT
// detokenizer.hpp: decodes a stream of token ids into a stream of valid UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "tokenizer.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// Turns bytes that arrive in parts into valid UTF-8. Incomplete characters are held back, invalid ones become U+FFFD.
class utf8_stream {
 public:
  // After this, parts of up to this length cause no allocation.
  void reserve(std::size_t part) {
    held_.reserve(part + 4);
    out_.reserve(3 * (part + 4));
  }
  // Returns the completed text; valid until the next call.
  std::string_view push(std::string_view part) { return advance(part, false); }
  std::string_view finish() { return advance({}, true); }

 private:
  std::string_view advance(std::string_view part, bool last) {
    held_ += part;
    out_.clear();
    std::string_view rest = held_;
    while (!rest.empty()) {
      const utf8_step step = utf8_next(rest);
      if (step.state == utf8_state::truncated && !last) break;
      out_ += step.state == utf8_state::valid ? rest.substr(0, step.size) : std::string_view("\uFFFD");
      rest.remove_prefix(step.size);
    }
    held_.erase(0, held_.size() - rest.size());
    return out_;
  }
  std::string held_, out_;
};

struct detokenizer_options {
  bool skip_special = true;
  bool beginning = true;  // the ids start a text: drop the space that encoding added there
};

// Does not allocate after construction. Refers to the tokenizer, which must outlive it.
class detokenizer {
 public:
  detokenizer() = default;  // unusable until assigned to
  explicit detokenizer(const tokenizer& tokens, detokenizer_options options = {})
      : tokens_(&tokens),
        skip_special_(options.skip_special),
        strip_(options.beginning && tokens.vocabulary().strip_prefix) {
    text_.reserve(tokens.longest_piece());
  }

  // Returns the text that this token completes, often none; valid until the next call. An id past the vocabulary, as
  // from a padded embedding, is ignored.
  std::string_view push(u32 id) {
    std::string_view piece;
    if (id < tokens_->vocab_size() && !(skip_special_ && tokens_->is_special(id))) piece = tokens_->piece(id);
    if (strip_ && !piece.empty()) {
      if (piece.starts_with(' ')) piece.remove_prefix(1);
      strip_ = false;
    }
    return text_.push(piece);
  }
  // Returns what is still held back, as U+FFFD.
  std::string_view finish() { return text_.finish(); }

 private:
  const tokenizer* tokens_ = nullptr;
  bool skip_special_ = false, strip_ = false;
  utf8_stream text_;
};

}  // namespace cke::text
CKE_COLD_END
