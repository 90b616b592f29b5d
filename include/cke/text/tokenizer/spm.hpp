// SPDX-License-Identifier: MIT
// spm.hpp: SentencePiece-style BPE (Llama): merges characters, and encodes unknown ones as bytes.
#pragma once

#include <algorithm>
#include <array>

#include "../../core/plain_list.hpp"
#include "../../core/sorted_order.hpp"
#include "bpe.hpp"

namespace cke::text {

inline constexpr std::string_view spm_space = "\u2581";  // "▁"

class spm_model {
 public:
  spm_model() = default;
  CKE_OUT_OF_LINE explicit spm_model(const vocabulary& v) : vocabulary_(&v), merges_(v), tokens_(v) {
    bytes_.fill(no_token);
    for (u32 id = 0; id < v.tokens.size(); ++id)
      if (v.types[id] == token_type::byte) bytes_[static_cast<u32>(byte_token_value(v.tokens[id]))] = id;
    if (v.merges.empty()) rank_scores();
    spaces_lead_ =
        std::none_of(v.tokens.begin(), v.tokens.end(), [](std::string_view t) { return find_word_end(t) < t.size(); });
  }

  // Appends the ids of `text`, whose spaces are spelled "▁".
  void encode(std::string_view text, merger& merger, std::vector<u32>& out) const {
    // If no token has a "▁" after another character, merges never cross into the next word.
    while (!text.empty()) {
      const std::size_t end = spaces_lead_ ? find_word_end(text) : text.size();
      encode_word(text.substr(0, end), merger, out);
      text.remove_prefix(end);
    }
  }

 private:
  // The first "▁" that follows another character, or the end.
  static std::size_t find_word_end(std::string_view text) {
    std::size_t at = 0;
    while (text.substr(at).starts_with(spm_space)) at += spm_space.size();
    return std::min(text.find(spm_space, at), text.size());
  }

  // Equal scores get equal ranks, of which the leftmost merge is applied first.
  void rank_scores() {
    const plain_list<float>& scores = vocabulary_->scores;
    const plain_list<u32> order = sorted_order(scores.size(), [&](u32 a, u32 b) { return scores[a] > scores[b]; });
    ranks_.resize(order.size());
    for (u32 i = 0; i < order.size(); ++i)
      ranks_[order[i]] = i > 0 && scores[order[i]] == scores[order[i - 1]] ? ranks_[order[i - 1]] : i;
  }

  bool has_bytes(std::string_view text) const {
    return std::all_of(text.begin(), text.end(), [&](char c) { return bytes_[static_cast<u8>(c)] != no_token; });
  }

  void encode_word(std::string_view word, merger& merger, std::vector<u32>& out) const {
    merger.clear();
    for (u32 at = 0; at < word.size();) {
      const u32 size = code_point_at(word, at).size;
      merger.append(size, tokens_.find(word.substr(at, size)));
      at += size;
    }
    merger.run([&](const merger::symbol& a, const merger::symbol& b) -> join {
      if (!vocabulary_->merges.empty()) return merges_.find(a.id, b.id);
      const u32 id = tokens_.find(word.substr(a.begin, a.size + b.size));
      if (id == no_token) return {};
      return {ranks_[id], id};
    });

    bool after_unknown = false;
    merger.each([&](const merger::symbol& s) {
      const std::string_view spelled = word.substr(s.begin, s.size);
      const bool by_bytes = s.id == no_token && has_bytes(spelled), unknown = s.id == no_token && !by_bytes;
      if (s.id != no_token) {
        out.push_back(s.id);
      } else if (by_bytes) {
        for (const char c : spelled) out.push_back(bytes_[static_cast<u8>(c)]);
      } else if (vocabulary_->unknown != no_token && !(after_unknown && vocabulary_->fuse_unknown)) {
        out.push_back(vocabulary_->unknown);
      }
      after_unknown = unknown;
    });
  }

  const vocabulary* vocabulary_ = nullptr;
  merge_table merges_;
  token_table tokens_;
  std::array<u32, 256> bytes_{};
  bool spaces_lead_ = false;
  plain_list<u32> ranks_;  // by id, derived from the scores
};

}  // namespace cke::text
