// SPDX-License-Identifier: MIT
// added_tokens.hpp: finds a vocabulary's added tokens in a text, as Hugging Face tokenizers does.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/function_ref.hpp"
#include "../core/sorted_order.hpp"
#include "vocabulary.hpp"

CKE_COLD_BEGIN
namespace cke {

// A set of added tokens with the strings to look for. Leftmost first, the longest where several
// begin.
class added_tokens {
 public:
  struct entry {
    std::string content;
    added_token token;
  };

  // An empty string is never found; of equal strings the lowest id counts.
  explicit added_tokens(std::vector<entry> entries = {}) {
    for (const u32 i : sorted_order(entries.size(), [&](u32 a, u32 b) {
           const int order = entries[a].content.compare(entries[b].content);
           return order != 0 ? order < 0 : entries[a].token.id < entries[b].token.id;
         })) {
      entry& e = entries[i];
      if (e.content.empty()) continue;
      if (!entries_.empty() && entries_.back().content == e.content) continue;
      begins_[static_cast<u8>(e.content[0])] = true;
      entries_.push_back(std::move(e));
    }
  }

  // What becomes of a token's text: the token; text; or it is as if there were no such token.
  enum class verdict : u8 { token, text, unknown };

  // Cuts the text up: on_text(view) for what is between tokens (never empty), on_token(id) for each
  // token that judge(token, begin, end) lets through.
  void split(std::string_view text,
             function_ref<verdict(const added_token&, std::size_t, std::size_t)> judge,
             function_ref<void(std::string_view)> on_text,
             function_ref<void(u32)> on_token) const {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
      const entry* found = nullptr;
      auto v = verdict::unknown;
      for (std::size_t most = text.size(); v == verdict::unknown; most = found->content.size() - 1) {
        found = begins_[static_cast<u8>(text[at])] ? longest(text.substr(at, most)) : nullptr;
        if (found == nullptr) break;
        v = judge(found->token, at, at + found->content.size());
      }
      if (found == nullptr) {
        ++at;
        continue;
      }
      std::size_t begin = at;
      at += found->content.size();
      const added_token& token = found->token;
      if (v != verdict::token) continue;
      if (token.single_word && (word_before(text, begin) || word_after(text, at))) continue;
      std::size_t end = at;
      // A token on the left may have taken the same white space already.
      if (token.lstrip) begin = std::max(done, space_before(text, begin));
      if (token.rstrip) end = detail::skip_while(text, end, is_space);
      if (done < begin) on_text(text.substr(done, begin - done));
      on_token(token.id);
      done = end;
    }
    if (done < text.size()) on_text(text.substr(done));
  }

 private:
  // The longest entry that text starts with, or null: a binary search for each byte, in the entries
  // that fit so far.
  const entry* longest(std::string_view text) const {
    const entry* best = nullptr;
    auto low = entries_.begin(), high = entries_.end();
    for (std::size_t depth = 0; low != high; ++depth) {
      if (low->content.size() == depth) best = &*low++;
      if (depth == text.size()) break;
      const auto wanted = static_cast<u8>(text[depth]);
      const auto byte = [depth](const entry& e) { return static_cast<u8>(e.content[depth]); };
      low = std::partition_point(low, high, [&](const entry& e) { return byte(e) < wanted; });
      high = std::partition_point(low, high, [&](const entry& e) { return byte(e) == wanted; });
    }
    return best;
  }

  static bool word_before(std::string_view text, std::size_t at) {
    return at > 0 && is_word(class_of(code_point_before(text, at).value));
  }
  static bool word_after(std::string_view text, std::size_t at) {
    return at < text.size() && is_word(class_of(code_point_at(text, at).value));
  }
  static std::size_t space_before(std::string_view text, std::size_t at) {
    while (at > 0) {
      const code_point c = code_point_before(text, at);
      if (!is_space(class_of(c.value))) break;
      at -= c.size;
    }
    return at;
  }

  std::vector<entry> entries_;  // sorted by content, as bytes
  std::array<bool, 256> begins_{};
};

}  // namespace cke
CKE_COLD_END
