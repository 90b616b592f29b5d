// SPDX-License-Identifier: MIT
// stop.hpp: where an answer ends: stop tokens, and stop strings that may span several tokens.
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

// Text goes in piece by piece and comes out as soon as it cannot become part of a stop string. The
// stop string that ends first stops the answer; of several that end at the same byte, the longest.
// It and all that follows it is dropped, and everything before it comes out. How the text was cut
// into pieces has no influence. It works on bytes, after the detokenizer, so cut characters need no
// care.
class stop_matcher {
 public:
  // Throws errc::usage for an empty stop string.
  explicit stop_matcher(std::vector<u32> ids = {}, const std::vector<std::string>& strings = {})
      : ids_(std::move(ids)), patterns_(std::make_unique<pattern[]>(strings.size())), count_(static_cast<u32>(strings.size())) {
    for (u32 i = 0; i < count_; ++i) {
      if (strings[i].empty()) throw Error(errc::usage, "", "stop string", "at least one byte", "none");
      patterns_[i].read(strings[i]);
    }
  }

  // No allocation afterwards while pieces are at most this long.
  void reserve(std::size_t piece) {
    std::size_t held = 0;
    for (u32 i = 0; i < count_; ++i) held = std::max(held, patterns_[i].text.size());
    text_.reserve(held + piece);
  }

  // Whether the token `id` ends the answer; its text is no part of it.
  bool stops_at(u32 id) const { return std::find(ids_.begin(), ids_.end(), id) != ids_.end(); }

  // The text that became certain with `piece`; the view is valid until the next call.
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

  // The same for the last piece of an answer: nothing is held back any more.
  std::string_view flush(std::string_view piece = {}) {
    const std::string_view before = feed(piece);
    return stopped_ ? before : release(0);
  }

  // The index of the stop string that ended the answer.
  std::optional<u32> stopped() const { return stopped_; }

  // Ready for another answer.
  void reset() {
    text_.clear();
    emitted_ = 0;
    stopped_.reset();
    for (u32 i = 0; i < count_; ++i) patterns_[i].state = 0;
  }

 private:
  // Knuth, Morris and Pratt: `state` bytes at the end of the text are the longest beginning of
  // `text`.
  struct pattern {
    std::string text;
    std::vector<u32> border;  // [n]: the longest proper beginning of text[0, n) that also ends it
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
    // True when the text now ends with the whole pattern.
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
  std::unique_ptr<pattern[]> patterns_;  // no vector of a type of its own: that is 80 functions to compile
  u32 count_ = 0;
  std::string text_;  // emitted by the last call, then held back
  std::size_t emitted_ = 0;
  std::optional<u32> stopped_;
};

}  // namespace cke::text
CKE_COLD_END
