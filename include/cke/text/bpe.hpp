// SPDX-License-Identifier: MIT
// bpe.hpp: byte-pair encoding: the merge loop of both tokenizer models, and the byte-level one.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "../core/function_ref.hpp"
#include "index_table.hpp"
#include "vocabulary.hpp"

namespace cke {

// What two neighbours would become; the lowest rank goes first, of equal ranks the leftmost.
struct join {
  u32 rank, id;
};

// A word as a linked list of symbols, and a heap of the joins that are possible in it: O(n log n)
// for a word of n symbols. One merger serves many words, to keep its memory.
class merger {
 public:
  struct symbol {
    u32 begin, size;  // bytes of the word; size 0: this symbol went into the one before it
    u32 id;           // no_token: the vocabulary does not have it
    u32 previous, next;
  };

  void clear() { symbols_.clear(); }
  void append(u32 begin, u32 size, u32 id) {
    const auto i = static_cast<u32>(symbols_.size());
    symbols_.push_back({begin, size, id, i - 1, i + 1});
  }

  // joins(left, right) -> optional<join>, for two neighbouring symbols.
  CKE_OUT_OF_LINE void run(function_ref<std::optional<join>(const symbol&, const symbol&)> joins) {
    heap_.clear();
    const auto later = [](const candidate& a, const candidate& b) { return a.order > b.order; };
    const auto offer = [&](u32 left, u32 right) {
      const symbol &a = symbols_[left], &b = symbols_[right];
      const std::optional<join> j = joins(a, b);
      if (j) heap_.push_back({u64{j->rank} << 32 | left, a.size + b.size, j->id});
      return j.has_value();
    };
    for (u32 i = 1; i < symbols_.size(); ++i) offer(i - 1, i);
    std::make_heap(heap_.begin(), heap_.end(), later);

    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const candidate best = heap_.back();
      heap_.pop_back();
      const auto left = static_cast<u32>(best.order);
      symbol& a = symbols_[left];
      // An earlier join may have changed or taken a symbol of this pair; then its size no longer
      // fits.
      if (a.size == 0 || a.next >= symbols_.size() || a.size + symbols_[a.next].size != best.size)
        continue;
      symbol& b = symbols_[a.next];
      a = {a.begin, best.size, best.id, a.previous, b.next};
      b.size = 0;
      if (a.next < symbols_.size()) symbols_[a.next].previous = left;
      if (a.previous < symbols_.size() && offer(a.previous, left))
        std::push_heap(heap_.begin(), heap_.end(), later);
      if (a.next < symbols_.size() && offer(left, a.next))
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }

  // sink(symbol) for what is left, in order.
  template <class Sink> void each(Sink&& sink) const {
    for (const symbol& s : symbols_)
      if (s.size != 0) sink(s);
  }

 private:
  struct candidate {
    u64 order;  // rank << 32 | left symbol
    u32 size;   // of both, in bytes
    u32 id;
  };
  std::vector<symbol> symbols_;
  std::vector<candidate> heap_;
};

// (left, right) -> rank and result. A merge that makes a control token is left out: text never
// becomes one. Like the other tables here it refers to the vocabulary, which must outlive it.
class merge_table {
  static u64 hash(u32 left, u32 right) { return u64{left} << 32 | right; }
  auto same(u32 left, u32 right) const {
    return [this, left, right](u32 i) {
      const merge& m = (*merges_)[i];
      return m.left == left && m.right == right;
    };
  }

 public:
  merge_table() = default;
  CKE_OUT_OF_LINE explicit merge_table(const vocabulary& v)
      : merges_(&v.merges), table_(v.merges.size()) {
    for (u32 rank = 0; rank < v.merges.size(); ++rank) {
      const merge& m = v.merges[rank];
      const token_type type = v.types[m.result];
      if (type == token_type::normal || type == token_type::user_defined)
        table_.insert(hash(m.left, m.right), rank, same(m.left, m.right));
    }
  }
  std::optional<join> find(u32 left, u32 right) const {
    const u32 rank = table_.find(hash(left, right), same(left, right));
    if (rank == index_table::none) return {};
    return join{rank, (*merges_)[rank].result};
  }

 private:
  const std::vector<merge>* merges_ = nullptr;
  index_table table_;
};

// The tokens that text may become (normal and user-defined ones) by their bytes.
class token_table {
  static u64 hash(std::string_view bytes) { return std::hash<std::string_view>{}(bytes); }
  auto same(std::string_view bytes) const {
    return [this, bytes](u32 id) { return (*tokens_)[id] == bytes; };
  }

 public:
  token_table() = default;
  CKE_OUT_OF_LINE explicit token_table(const vocabulary& v)
      : tokens_(&v.tokens), table_(v.tokens.size()) {
    // Of two tokens with the same bytes the model's own wins, then the lower id.
    for (const token_type type : {token_type::user_defined, token_type::normal})
      for (auto id = static_cast<u32>(v.tokens.size()); id-- > 0;)
        if (v.types[id] == type) table_.insert(hash(v.tokens[id]), id, same(v.tokens[id]));
  }
  // The id, or no_token.
  CKE_OUT_OF_LINE u32 find(std::string_view bytes) const {
    return table_.find(hash(bytes), same(bytes));
  }

 private:
  const std::vector<std::string>* tokens_ = nullptr;
  index_table table_;
};

// Byte-level BPE over one piece of text.
class bpe_model {
 public:
  bpe_model() = default;
  CKE_OUT_OF_LINE explicit bpe_model(const vocabulary& v) : vocabulary_(&v), merges_(v), tokens_(v) {
    for (u32 byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      bytes_[byte] = tokens_.find({&c, 1});
    }
  }

  // Appends the ids of `word`. A byte without a token becomes the unknown token; without one,
  // nothing.
  void encode(std::string_view word, merger& merger, std::vector<u32>& out) const {
    if (vocabulary_->ignore_merges) {
      if (const u32 id = tokens_.find(word); id != no_token) return out.push_back(id);
    }
    merger.clear();
    bool after_unknown = false;
    for (u32 i = 0; i < word.size(); ++i) {
      const u32 id = bytes_[static_cast<u8>(word[i])];
      const bool known = id != no_token;
      const bool fused = !known && after_unknown && vocabulary_->fuse_unknown;
      if (known || (vocabulary_->unknown != no_token && !fused))
        merger.append(i, 1, known ? id : vocabulary_->unknown);
      after_unknown = !known;
    }
    merger.run(
        [&](const merger::symbol& a, const merger::symbol& b) { return merges_.find(a.id, b.id); });
    merger.each([&](const merger::symbol& s) { out.push_back(s.id); });
  }

 private:
  const vocabulary* vocabulary_ = nullptr;
  merge_table merges_;
  token_table tokens_;
  std::array<u32, 256> bytes_{};
};

}  // namespace cke
