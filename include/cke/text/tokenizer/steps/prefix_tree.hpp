// SPDX-License-Identifier: MIT
// prefix_tree.hpp: a trie of the bytes of a model's normal tokens.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "../../../core/plain_list.hpp"
#include "../../../core/sorted_order.hpp"
#include "../vocabulary.hpp"

namespace cke::text {

class prefix_tree {
 public:
  static constexpr u32 none = ~u32{0}, root = 0;

  // Of equal tokens, the last counts.
  CKE_OUT_OF_LINE explicit prefix_tree(const vocabulary& v) {
    struct span {
      u32 begin, end, depth;  // the range of `ids` below a node
    };
    plain_list<u32> ids = sorted_order(v.tokens.size(), [&](u32 a, u32 b) {
      const int order = v.tokens[a].compare(v.tokens[b]);
      return order != 0 ? order < 0 : a < b;
    });
    ids.cut(std::remove_if(ids.begin(), ids.end(),
                           [&](u32 id) { return v.types[id] != token_type::normal || v.tokens[id].empty(); }));
    std::vector<span> below{{0, static_cast<u32>(ids.size()), 0}};
    nodes_.emplace_back();
    labels_.push_back(0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {  // breadth first, so that siblings are adjacent
      auto [begin, end, depth] = below[i];
      for (; begin < end && v.tokens[ids[begin]].size() == depth; ++begin) nodes_[i].token = ids[begin];
      nodes_[i].first = static_cast<u32>(nodes_.size());
      for (u32 next = begin; begin < end; begin = next) {
        const char label = v.tokens[ids[begin]][depth];
        while (next < end && v.tokens[ids[next]][depth] == label) ++next;
        below.push_back({begin, next, depth + 1});
        labels_.push_back(static_cast<u8>(label));
        nodes_.emplace_back();
      }
      nodes_[i].children = static_cast<u32>(nodes_.size()) - nodes_[i].first;
    }
  }

  // The child for a byte, or none.
  u32 step(u32 node, char byte) const {
    const entry& n = nodes_[node];
    const void* at = n.children == 0 ? nullptr : std::memchr(labels_.data() + n.first, byte, n.children);
    return at == nullptr ? none : static_cast<u32>(static_cast<const u8*>(at) - labels_.data());
  }
  // The descendant for a text, or none.
  u32 walk(u32 node, std::string_view text) const {
    for (std::size_t i = 0; i < text.size() && node != none; ++i) node = step(node, text[i]);
    return node;
  }
  // The token that ends at a node, or no_token.
  u32 token(u32 node) const { return nodes_[node].token; }
  // The token with these bytes, or no_token.
  u32 find(std::string_view text) const {
    const u32 node = walk(root, text);
    return node == none ? no_token : token(node);
  }

 private:
  struct entry {
    u32 first = 0, children = 0, token = no_token;
  };
  std::vector<entry> nodes_;
  std::vector<u8> labels_;  // the byte that leads to each node
};

}  // namespace cke::text
