// SPDX-License-Identifier: MIT
// thought_splitter.hpp: splits a streamed answer into the thought at its start and the rest.
#pragma once

#include <string>
#include <string_view>

#include "../../core/types.hpp"

namespace cke::text {

struct thought_marks {
  std::string_view open = "<think>", close = "</think>";
};

// Text arrives in pieces, whose boundaries do not matter. White space around the thought, which a template would add
// again, is dropped; everything else is returned on one side or the other.
class thought_splitter {
 public:
  // The text that can be assigned for certain.
  struct part {
    std::string thought, answer;
  };

  // `inside`: the prompt ends within an open thought.
  explicit thought_splitter(thought_marks marks = {}, bool inside = false)
      : marks_(marks), at_(inside ? thinking : before) {}

  part feed(std::string_view piece) {
    held_ += piece;
    return advance(false);
  }
  part finish() { return advance(true); }
  bool in_thought() const { return at_ == thinking; }

 private:
  enum place : u8 { before, thinking, after, answering };
  static constexpr std::string_view blank = " \t\r\n";

  // The number of bytes at the end of `text` that may be the start of `mark`.
  static std::size_t partial(std::string_view text, std::string_view mark) {
    for (std::size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n)
      if (mark.starts_with(text.substr(text.size() - n))) return n;
    return 0;
  }

  part advance(bool last) {
    part out;
    if (at_ == before) begin(last);
    if (at_ == thinking) think(out.thought, last);
    if (at_ == after) {
      held_.erase(0, std::min(held_.find_first_not_of(blank), held_.size()));
      if (!held_.empty()) at_ = answering;
    }
    if (at_ == answering) out.answer = std::move(held_), held_.clear();
    return out;
  }
  // An answer that does not start with the mark has no thought.
  void begin(bool last) {
    const std::size_t first = std::min(held_.find_first_not_of(blank), held_.size());
    const std::string_view text = std::string_view(held_).substr(first);
    if (text.starts_with(marks_.open)) {
      held_.erase(0, first + marks_.open.size());
      at_ = thinking;
    } else if (last || !marks_.open.starts_with(text)) {
      at_ = answering;
    }
  }
  void think(std::string& thought, bool last) {
    if (!begun_) {
      held_.erase(0, std::min(held_.find_first_not_of(blank), held_.size()));
      begun_ = !held_.empty();
    }
    const std::size_t end = held_.find(marks_.close);
    const bool closed = end != held_.npos;
    std::size_t sure = closed ? end : held_.size() - (last ? 0 : partial(held_, marks_.close));
    std::size_t rest = closed ? end + marks_.close.size() : sure;
    // White space may yet prove to precede the close mark.
    const std::size_t solid = held_.find_last_not_of(blank, sure == 0 ? 0 : sure - 1);
    const std::size_t kept = sure == 0 || solid == held_.npos ? 0 : solid + 1;
    thought = held_.substr(0, kept);
    held_.erase(0, closed || last ? rest : kept);
    if (closed) at_ = after;
  }

  thought_marks marks_;
  place at_;
  bool begun_ = false;
  std::string held_;
};

}  // namespace cke::text
