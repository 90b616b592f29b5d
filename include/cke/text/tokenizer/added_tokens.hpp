// SPDX-License-Identifier: MIT
// added_tokens.hpp: finds a vocabulary's added tokens in a text, as Hugging Face tokenizers does.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../core/function_ref.hpp"
#include "../../core/plain_list.hpp"
#include "../../core/sorted_order.hpp"
#include "vocabulary.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// A set of added tokens and their strings. Matches are leftmost, then longest.
class added_tokens {
 public:
  added_tokens() = default;
  // contents[i] is the string of tokens[i]. An empty string never matches; of equal strings, the lowest id counts.
  added_tokens(std::vector<std::string> contents, const plain_list<added_token>& tokens) {
    for (const u32 i : sorted_order(contents.size(), [&](u32 a, u32 b) {
           const int order = contents[a].compare(contents[b]);
           return order != 0 ? order < 0 : tokens[a].id < tokens[b].id;
         })) {
      if (contents[i].empty() || (!contents_.empty() && contents_.back() == contents[i])) continue;
      begins_[static_cast<u8>(contents[i][0])] = true;
      contents_.push_back(std::move(contents[i])), tokens_.push_back(tokens[i]);
    }
  }

  // What a match becomes: the token, plain text, or ignored as if the token did not exist.
  enum class verdict : u8 { token, text, unknown };

  // Splits the text: on_text(view) for the text between tokens (never empty), on_token(id) for each token that
  // judge(token, begin, end) accepts.
  void split(std::string_view text, function_ref<verdict(const added_token&, std::size_t, std::size_t)> judge,
             function_ref<void(std::string_view)> on_text, function_ref<void(u32)> on_token) const {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t found = none;
      auto v = verdict::unknown;
      for (std::size_t most = text.size(); v == verdict::unknown; most = contents_[found].size() - 1) {
        found = begins_[static_cast<u8>(text[at])] ? longest(text.substr(at, most)) : none;
        if (found == none) break;
        v = judge(tokens_[found], at, at + contents_[found].size());
      }
      if (found == none) {
        ++at;
        continue;
      }
      std::size_t begin = at;
      at += contents_[found].size();
      const added_token& token = tokens_[found];
      if (v != verdict::token) continue;
      if (token.single_word && (word_before(text, begin) || word_after(text, at))) continue;
      std::size_t end = at;
      // A token on the left may have consumed the same white space.
      if (token.lstrip) begin = std::max(done, space_before(text, begin));
      if (token.rstrip) end = detail::skip_while(text, end, is_space);
      if (done < begin) on_text(text.substr(done, begin - done));
      if (begin < end) on_token(token.id);  // else that was white space, too, and nothing is left of it
      done = end;
    }
    if (done < text.size()) on_text(text.substr(done));
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  // Index of the longest string that text starts with, or none: a binary search per byte in the matching strings.
  std::size_t longest(std::string_view text) const {
    std::size_t best = none, low = 0, high = contents_.size();
    for (std::size_t depth = 0; low != high; ++depth) {
      if (contents_[low].size() == depth) best = low++;
      if (depth == text.size()) break;
      const auto wanted = static_cast<u8>(text[depth]);
      // The first of [low, high) whose byte at this depth is at least `least`.
      const auto first = [&](u32 least) {
        std::size_t from = low, to = high;
        while (from < to) {
          const std::size_t middle = from + (to - from) / 2;
          if (static_cast<u8>(contents_[middle][depth]) < least) from = middle + 1;
          else to = middle;
        }
        return from;
      };
      low = first(wanted), high = first(wanted + 1u);
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

  std::vector<std::string> contents_;  // sorted bytewise
  plain_list<added_token> tokens_;     // parallel to contents_
  std::array<bool, 256> begins_{};
};

}  // namespace cke::text
CKE_COLD_END
