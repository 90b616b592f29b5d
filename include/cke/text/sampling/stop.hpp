// SPDX-License-Identifier: MIT
// stop.hpp: ends an answer at stop tokens and stop strings, which may span several tokens.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../core/error.hpp"
#include "../../core/types.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// Text arrives in pieces, whose boundaries do not matter, and is released once it cannot become part of a stop string.
// The stop string that ends first stops the answer; of several that end at the same byte, the longest. The stop string
// and everything after it is dropped. It works on bytes, after the detokenizer, so split characters need no care.
class stop_matcher {
 public:
  // Throws errc::usage for an empty stop string.
  explicit stop_matcher(std::vector<u32> ids = {}, const std::vector<std::string>& strings = {})
      : ids_(std::move(ids)),
        patterns_(std::make_unique<pattern[]>(strings.size())),
        count_(static_cast<u32>(strings.size())) {
    for (u32 i = 0; i < count_; ++i) {
      if (strings[i].empty()) throw Error(errc::usage, "", "stop string", "at least one byte", "none");
      patterns_[i].read(strings[i]);
    }
  }

  // After this, pieces of up to this length cause no allocation.
  void reserve(std::size_t piece) {
    std::size_t held = 0;
    for (u32 i = 0; i < count_; ++i) held = std::max(held, patterns_[i].text.size());
    text_.reserve(held + piece);
  }

  // Whether the token `id` ends the answer; its text is then dropped.
  bool stops_at(u32 id) const { return std::find(ids_.begin(), ids_.end(), id) != ids_.end(); }

  // Returns the text that `piece` releases; the view is valid until the next call.
  std::string_view feed(std::string_view piece) {
    text_.erase(0, emitted_);
    emitted_ = 0;
    if (stopped_) return {};
    for (const char byte : piece) {
      text_ += byte;
      std::size_t matched = 0;
      for (u32 i = 0; i < count_; ++i) {
        if (patterns_[i].step(byte) && patterns_[i].text.size() > matched) {
          matched = patterns_[i].text.size();
          stopped_ = i;
        }
      }
      if (matched > 0) {
        text_.resize(text_.size() - matched);
        return release(0);
      }
    }
    std::size_t held = 0;
    for (u32 i = 0; i < count_; ++i) held = std::max<std::size_t>(held, patterns_[i].state);
    return release(held);
  }

  // The same for the last piece of an answer; releases everything held back.
  std::string_view flush(std::string_view piece = {}) {
    const std::string_view before = feed(piece);
    return stopped_ ? before : release(0);
  }

  // Index of the stop string that ended the answer.
  std::optional<u32> stopped() const { return stopped_; }

  // Prepares for another answer.
  void reset() {
    text_.clear();
    emitted_ = 0;
    stopped_.reset();
    for (u32 i = 0; i < count_; ++i) patterns_[i].state = 0;
  }

 private:
  // A Knuth-Morris-Pratt automaton: the last `state` bytes fed are the longest suffix that is a prefix of `text`.
  struct pattern {
    std::string text;
    std::vector<u32> border;  // [n]: length of the longest proper border of text[0, n)
    u32 state = 0;

    void read(std::string_view s) {
      text = s;
      border.assign(s.size() + 1, 0);
      for (std::size_t n = 1; n < text.size(); ++n) {
        advance(text[n]);
        border[n + 1] = state;
      }
      state = 0;
    }
    void advance(char byte) {
      while (state > 0 && text[state] != byte) state = border[state];
      if (text[state] == byte) ++state;
    }
    // Whether the text now ends with the whole pattern.
    bool step(char byte) {
      advance(byte);
      return state == text.size();
    }
  };

  std::string_view release(std::size_t held) {
    emitted_ = text_.size() - held;
    return std::string_view(text_).substr(0, emitted_);
  }

  std::vector<u32> ids_;
  std::unique_ptr<pattern[]> patterns_;  // an array, because each std::vector<T> is 80 functions to compile
  u32 count_ = 0;
  std::string text_;  // what the last call released, then what is held back
  std::size_t emitted_ = 0;
  std::optional<u32> stopped_;
};

}  // namespace cke::text
CKE_COLD_END
