// SPDX-License-Identifier: MIT
// token_trie.hpp: a trie of the bytes of all tokens, so that common prefixes are read once.
#pragma once

#include "../tokenizer/tokenizer.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// Immutable. Contains the tokens that can be text: no control tokens, except `shown`.
class token_trie {
 public:
  // In depth-first order: a node's children follow it, up to `end`.
  struct node {
    u32 end;
    u32 depth;   // bytes above it
    u32 tokens;  // index of its first token in ids(); they end at the next node's
    u8 byte;
  };

  explicit token_trie(const tokenizer& tokens, std::span<const u32> shown = {}) : vocab_size_(tokens.vocab_size()) {
    std::vector<std::pair<std::string_view, u32>> sorted;
    for (u32 id = 0; id < vocab_size_; ++id) {
      const token_type type = tokens.vocabulary().types[id];
      const bool text = type != token_type::control && type != token_type::unknown && type != token_type::unused;
      if ((text || std::ranges::find(shown, id) != shown.end()) && !tokens.piece(id).empty())
        sorted.emplace_back(tokens.piece(id), id);
    }
    std::ranges::sort(sorted);
    std::vector<u32> open;  // the path to the previous token
    std::string_view before;
    const auto close_to = [&](std::size_t depth) {
      for (; open.size() > depth; open.pop_back()) nodes_[open.back()].end = static_cast<u32>(nodes_.size());
    };
    for (const auto& [bytes, id] : sorted) {
      const auto common = static_cast<std::size_t>(std::ranges::mismatch(before, bytes).in2 - bytes.begin());
      close_to(common);
      for (std::size_t d = common; d < bytes.size(); ++d) {
        open.push_back(static_cast<u32>(nodes_.size()));
        nodes_.push_back({0, static_cast<u32>(d), static_cast<u32>(ids_.size()), static_cast<u8>(bytes[d])});
      }
      ids_.push_back(id), before = bytes;
      depth_ = std::max(depth_, bytes.size());
    }
    close_to(0);
    nodes_.push_back({0, 0, static_cast<u32>(ids_.size()), 0});
  }

  // Without the sentinel, which only ends the last node's tokens.
  std::span<const node> nodes() const { return std::span(nodes_).first(nodes_.size() - 1); }
  std::span<const u32> tokens_of(const node& n) const {
    return std::span(ids_).subspan(n.tokens, (&n)[1].tokens - n.tokens);
  }
  // The node with this byte among the siblings in [first, end); null if there is none. A node's children start right
  // after it, the root's children at 0.
  const node* find(std::size_t first, std::size_t end, u8 byte) const {
    for (std::size_t i = first; i < end && nodes_[i].byte <= byte; i = nodes_[i].end)
      if (nodes_[i].byte == byte) return &nodes_[i];
    return nullptr;
  }
  std::size_t depth() const { return depth_; }
  u32 vocab_size() const { return vocab_size_; }

 private:
  u32 vocab_size_;
  std::vector<node> nodes_;
  std::vector<u32> ids_;
  std::size_t depth_ = 0;
};

}  // namespace cke::text
CKE_COLD_END
