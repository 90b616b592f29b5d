// SPDX-License-Identifier: MIT
// chat_encoder.hpp: encodes a rendered conversation; no message can inject a control token.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../core/plain_list.hpp"
#include "../tokenizer/tokenizer.hpp"
#include "../tokenizer/unicode.hpp"
#include "chat.hpp"

namespace cke::text {

// Immutable; shares the tokenizer's vocabulary.
class chat_encoder {
 public:
  // Control tokens are the special tokens and those that occur in `form`: a template's source, or a contract's tokens.
  // In many files <tool_call> is an ordinary added token, but it controls the model all the same.
  chat_encoder(tokenizer tokens, std::string_view form) : tokens_(std::move(tokens)) {
    const vocabulary& v = tokens_.vocabulary();
    std::vector<std::string> contents;
    plain_list<added_token> control;
    for (const added_token& token : v.added) {
      const std::string& text = v.tokens[token.id];
      const bool blank = text.find_first_not_of(" \t\n\r") == text.npos;
      if (!token.special && (blank || form.find(text) == form.npos)) continue;
      contents.push_back(text), control.push_back(token);
      control_ids_.push_back(token.id);
    }
    std::ranges::sort(control_ids_);
    control_ = added_tokens(std::move(contents), control);
  }
  chat_encoder(tokenizer tokens, const chat_contract& contract) : chat_encoder(std::move(tokens), text_of(contract)) {}

  // If all segments are trusted, this encodes their joined text. A control token is recognised only if all of its bytes
  // are trusted; otherwise its text is encoded as plain text.
  std::vector<u32> encode(std::span<const chat_segment> segments) const {
    std::string text;
    std::vector<std::pair<std::size_t, std::size_t>> trusted;  // [begin, end) of neighbouring segments
    for (const chat_segment& s : segments) {
      const std::size_t begin = text.size(), end = begin + s.text.size();
      if (s.trusted && !trusted.empty() && trusted.back().second == begin) trusted.back().second = end;
      else if (s.trusted) trusted.emplace_back(begin, end);
      text += s.text;
    }
    const auto judge = [&](const added_token&, std::size_t begin, std::size_t end) {
      const auto after = std::ranges::upper_bound(trusted, begin, {}, &std::pair<std::size_t, std::size_t>::first);
      const bool inside = after != trusted.begin() && end <= after[-1].second;
      return inside ? added_tokens::verdict::token : added_tokens::verdict::unknown;
    };
    std::vector<u32> ids;
    const auto on_text = [&](std::string_view part) { encode_plain(part, part.data() == text.data(), ids); };
    control_.split(text, judge, on_text, [&](u32 id) { ids.push_back(id); });
    return ids;
  }

 private:
  static std::string text_of(const chat_contract& contract) {
    std::string all;
    for (const std::string_view token : contract.control) (all += token) += ' ';
    return all;
  }

  // Appends text that spells no control token.
  void encode_plain(std::string_view text, bool beginning, std::vector<u32>& ids) const {
    const encode_options plain{.except = control_ids_, .beginning = beginning};
    for (const u32 id : tokens_.encode(text, plain)) append_plain(id, ids, std::string_view::npos);
  }
  // Where the model's own merges make a control token of text, its first character and the rest are encoded apart.
  // Throws Error{unsupported} if that does not end, as with no tokenizer that we know.
  void append_plain(u32 id, std::vector<u32>& ids, std::size_t shorter_than) const {
    const std::string_view piece = tokens_.piece(id);
    const std::size_t first = piece.empty() ? 0 : code_point_at(piece, 0).size;
    if (first == piece.size() || !std::ranges::binary_search(control_ids_, id)) return ids.push_back(id);
    if (piece.size() >= shorter_than)
      throw Error(errc::unsupported, {}, "message", "text that can be encoded without control tokens", piece);
    const encode_options part{.except = control_ids_, .beginning = false, .inside = true};
    for (const std::string_view half : {piece.substr(0, first), piece.substr(first)})
      for (const u32 of : tokens_.encode(half, part)) append_plain(of, ids, piece.size());
  }

  tokenizer tokens_;
  added_tokens control_;
  std::vector<u32> control_ids_;
};

}  // namespace cke::text
