// SPDX-License-Identifier: MIT
// bpe.hpp: byte-pair encoding: the merge loop of both tokenizer models, and the byte-level model.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "../../core/function_ref.hpp"
#include "../../core/plain_list.hpp"
#include "index_table.hpp"
#include "vocabulary.hpp"

namespace cke::text {

// A merge of two neighbours; the lowest rank is applied first, of equal ranks the leftmost.
struct join {
  u32 rank = no_token, id = no_token;
  explicit operator bool() const { return id != no_token; }
};

// The symbols of a word, and a heap of the possible merges: O(n log n) for n symbols, in about 24 bytes per byte of the
// word. Reuse one merger for many words, to keep its memory.
class merger {
 public:
  struct symbol {
    u32 begin, size;  // in bytes of the appended text
    u32 id;           // no_token: not in the vocabulary
  };

  void clear() { cells_.clear(); }
  void append(u32 size, u32 id) {
    const std::size_t begin = cells_.size();
    cells_.resize(begin + size, {no_token, 0, no_token});
    cells_[begin].id = id, cells_[begin].size = cells_.back().size = size;
  }

  // joins(left, right) returns what two neighbours become; a join of no_token leaves them alone.
  CKE_OUT_OF_LINE void run(function_ref<join(const symbol&, const symbol&)> joins) {
    const auto end = static_cast<u32>(cells_.size());
    heap_.clear();
    heap_.reserve(end);
    const auto later = [](const candidate& a, const candidate& b) {
      return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
    };
    const auto offer = [&](u32 left, u32 right) {
      const join j = joins(at(left), at(right));
      cells_[left].joined = j.id;
      if (j) heap_.push_back({j.rank, left, j.id});
      return static_cast<bool>(j);
    };
    for (u32 left = 0, right; left < end && (right = left + cells_[left].size) < end; left = right) offer(left, right);
    std::make_heap(heap_.begin(), heap_.end(), later);

    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const candidate best = heap_.back();
      heap_.pop_back();
      // An earlier merge may have changed or consumed a symbol of this pair; its current merge then differs, or is
      // none.
      const u32 left = best.left;
      if (cells_[left].joined != best.id) continue;
      const u32 right = left + cells_[left].size, next = right + cells_[right].size;
      cells_[left] = {best.id, next - left, no_token}, cells_[right].joined = no_token;
      cells_[next - 1].size = next - left;
      if (left > 0 && offer(left - cells_[left - 1].size, left)) std::push_heap(heap_.begin(), heap_.end(), later);
      if (next < end && offer(left, next)) std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }

  // Calls sink(symbol) for the remaining symbols, in order.
  template <class Sink> void each(Sink&& sink) const {
    for (u32 begin = 0; begin < cells_.size(); begin += cells_[begin].size) sink(at(begin));
  }

 private:
  // One byte. The first and the last byte of a symbol hold its size, so that its neighbours can be found; the first
  // also holds its id, and its merge with the next symbol.
  struct cell {
    u32 id, size, joined;
  };
  struct candidate {
    u32 rank, left, id;
  };
  symbol at(u32 begin) const { return {begin, cells_[begin].size, cells_[begin].id}; }

  plain_list<cell> cells_;
  plain_list<candidate> heap_;
};

// (left, right) -> rank and result. Merges that make a control token are omitted: encoding never yields one. Like the
// other tables here it refers to the vocabulary, which must outlive it.
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
  CKE_OUT_OF_LINE explicit merge_table(const vocabulary& v) : merges_(&v.merges), table_(v.merges.size()) {
    for (u32 rank = 0; rank < v.merges.size(); ++rank) {
      const merge& m = v.merges[rank];
      const token_type type = v.types[m.result];
      if (type == token_type::normal || type == token_type::user_defined)
        table_.insert(hash(m.left, m.right), rank, same(m.left, m.right));
    }
  }
  join find(u32 left, u32 right) const {
    const u32 rank = table_.find(hash(left, right), same(left, right));
    if (rank == index_table::none) return {};
    return {rank, (*merges_)[rank].result};
  }

 private:
  const plain_list<merge>* merges_ = nullptr;
  index_table table_;
};

// The tokens that encoding may yield (normal and user-defined ones), by their bytes.
class token_table {
  static u64 hash(std::string_view bytes) { return std::hash<std::string_view>{}(bytes); }
  auto same(std::string_view bytes) const {
    return [this, bytes](u32 id) { return (*tokens_)[id] == bytes; };
  }

 public:
  token_table() = default;
  CKE_OUT_OF_LINE explicit token_table(const vocabulary& v) : tokens_(&v.tokens), table_(v.tokens.size()) {
    // Of two tokens with the same bytes, the model's own wins over an added one, then the lower id.
    for (const token_type type : {token_type::user_defined, token_type::normal})
      for (auto id = static_cast<u32>(v.tokens.size()); id-- > 0;)
        if (v.types[id] == type) table_.insert(hash(v.tokens[id]), id, same(v.tokens[id]));
  }
  // Returns the id, or no_token.
  CKE_OUT_OF_LINE u32 find(std::string_view bytes) const { return table_.find(hash(bytes), same(bytes)); }

 private:
  const std::vector<std::string>* tokens_ = nullptr;
  index_table table_;
};

// Byte-level BPE of one piece of text.
class bpe_model {
 public:
  bpe_model() = default;
  CKE_OUT_OF_LINE explicit bpe_model(const vocabulary& v) : vocabulary_(&v), merges_(v), tokens_(v) {
    for (u32 byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      bytes_[byte] = tokens_.find({&c, 1});
    }
  }

  // Appends the ids of `word`. A byte without a token becomes the unknown token, or nothing if there is none.
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
      if (known || (vocabulary_->unknown != no_token && !fused)) merger.append(1, known ? id : vocabulary_->unknown);
      after_unknown = !known;
    }
    merger.run([&](const merger::symbol& a, const merger::symbol& b) { return merges_.find(a.id, b.id); });
    merger.each([&](const merger::symbol& s) { out.push_back(s.id); });
  }

 private:
  const vocabulary* vocabulary_ = nullptr;
  merge_table merges_;
  token_table tokens_;
  std::array<u32, 256> bytes_{};
};

}  // namespace cke::text
