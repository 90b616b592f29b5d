// SPDX-License-Identifier: MIT
// models.hpp: how a recipe's model tokenises a piece: BPE, unigram, WordPiece, or whole words.
#pragma once

#include "../bpe.hpp"
#include "prefix_tree.hpp"
#include "recipe.hpp"

namespace cke::text::detail {

// The ids of byte tokens. A text is spelled in them only if each of its bytes has one.
class byte_tokens {
 public:
  explicit byte_tokens(const vocabulary& v) {
    ids_.fill(no_token);
    for (u32 id = 0; id < v.tokens.size(); ++id)
      if (v.types[id] == token_type::byte) ids_[static_cast<u32>(byte_token_value(v.tokens[id]))] = id;
  }
  bool has(std::string_view text) const {
    return std::ranges::all_of(text, [&](char byte) { return (*this)[byte] != no_token; });
  }
  u32 operator[](char byte) const { return ids_[static_cast<u8>(byte)]; }

 private:
  std::array<u32, 256> ids_{};
};

// Scratch memory for encoding; reuse it for many pieces.
struct model_scratch {
  struct path {  // the best path to an offset in the piece: its last token, and where that starts
    double score;
    u32 token, begin;
  };
  merger merges;
  std::vector<path> paths;
  std::string spelled;
};

// BPE of characters; continuing ones may have a prefix in the vocabulary, the last one a suffix: "##l", "o</w>".
class character_bpe {
 public:
  character_bpe(const vocabulary& v, const modelling::bpe& options)
      : vocabulary_(&v), options_(&options), merges_(v), tokens_(v), bytes_(v) {}

  void encode(std::string_view piece, model_scratch& scratch, std::vector<u32>& out) const {
    const vocabulary& v = *vocabulary_;
    if (v.ignore_merges)
      if (const u32 id = tokens_.find(piece); id != no_token) return out.push_back(id);
    merger& symbols = scratch.merges;
    symbols.clear();
    u32 unknown_from = 0, unknown_to = 0;  // bytes of unknown characters that become one token
    const auto end_unknown = [&] {
      if (unknown_to > unknown_from) symbols.append(unknown_to - unknown_from, v.unknown);
      unknown_from = unknown_to;
    };
    for (u32 at = 0; at < piece.size();) {
      const u32 size = code_point_at(piece, at).size, end = at + size;
      std::string& character = scratch.spelled.assign(at > 0 ? options_->continuing : "").append(piece, at, size);
      if (end == piece.size()) character += options_->end_of_word;
      if (const u32 id = tokens_.find(character); id != no_token) {
        end_unknown();
        symbols.append(size, id);
      } else if (options_->byte_fallback && bytes_.has(character)) {
        for (const char byte : character) symbols.append(1, bytes_[byte]);
      } else if (v.unknown != no_token) {
        if (unknown_to == unknown_from) unknown_from = at;
        else if (!v.fuse_unknown) end_unknown(), unknown_from = at;
        unknown_to = end;
      }
      at = end;
    }
    end_unknown();
    symbols.run([&](const merger::symbol& a, const merger::symbol& b) { return merges_.find(a.id, b.id); });
    symbols.each([&](const merger::symbol& s) { out.push_back(s.id); });
  }

 private:
  const vocabulary* vocabulary_;
  const modelling::bpe* options_;
  merge_table merges_;
  prefix_tree tokens_;
  byte_tokens bytes_;
};

// Unigram: the tokens whose scores have the greatest sum; of equal sums the first one found, as in `tokenizers`.
class unigram_model {
 public:
  unigram_model(const vocabulary& v, const modelling::unigram& options)
      : vocabulary_(&v), options_(&options), tree_(v), bytes_(v) {
    constexpr double penalty = 10;  // below the worst token
    worst_ = std::numeric_limits<double>::infinity();
    for (const double score : options.scores) worst_ = std::min(worst_, score);
    worst_ -= penalty;
  }

  void encode(std::string_view piece, model_scratch& scratch, std::vector<u32>& out) const {
    constexpr double unreached = -std::numeric_limits<double>::infinity();
    std::vector<model_scratch::path>& paths = scratch.paths;
    paths.assign(piece.size() + 1, {unreached, no_token, 0});
    paths[0].score = 0;
    for (u32 at = 0; at < piece.size();) {
      const double before = paths[at].score;
      const u32 size = code_point_at(piece, at).size;
      const auto offer = [&](u32 end, u32 token, double score) {
        if (before + score > paths[end].score) paths[end] = {before + score, token, at};
      };
      bool known = false;  // whether some token is this character alone
      u32 node = prefix_tree::root;
      for (u32 end = at; end < piece.size();) {
        node = tree_.step(node, piece[end++]);
        if (node == prefix_tree::none) break;
        const u32 token = tree_.token(node);
        if (token == no_token) continue;
        offer(end, token, options_->scores[token]);
        known = known || end == at + size;
      }
      if (!known) offer(at + size, no_token, worst_);
      at += size;
    }

    const auto from = static_cast<std::ptrdiff_t>(out.size());
    for (auto end = static_cast<u32>(piece.size()); end > 0;) {  // from right to left
      const u32 token = paths[end].token;
      u32 begin = paths[end].begin;
      while (token == no_token && begin > 0 && paths[begin].token == no_token)
        begin = paths[begin].begin;  // they merge
      if (token != no_token) {
        out.push_back(token);
      } else if (options_->byte_fallback && bytes_.has(piece.substr(begin, end - begin))) {
        for (u32 i = end; i > begin; --i) out.push_back(bytes_[piece[i - 1]]);
      } else if (vocabulary_->unknown != no_token) {
        out.push_back(vocabulary_->unknown);
      }
      end = begin;
    }
    std::reverse(out.begin() + from, out.end());
  }

 private:
  const vocabulary* vocabulary_;
  const modelling::unigram* options_;
  prefix_tree tree_;
  byte_tokens bytes_;
  double worst_;
};

// WordPiece: the longest token that the piece starts with, then the longest continuing tokens; else it is unknown.
class wordpiece_model {
 public:
  wordpiece_model(const vocabulary& v, const modelling::wordpiece& options)
      : vocabulary_(&v),
        most_(options.most_characters),
        tree_(v),
        first_(tree_.walk(prefix_tree::root, options.first)),
        continuing_(tree_.walk(prefix_tree::root, options.continuing)) {}

  void encode(std::string_view piece, model_scratch&, std::vector<u32>& out) const {
    const std::size_t from = out.size();
    if (!has_more_than(piece, most_)) {
      std::size_t at = 0;
      while (at < piece.size()) {
        u32 best = no_token;
        std::size_t end = at, best_end = at;
        for (u32 node = at == 0 ? first_ : continuing_; node != prefix_tree::none && end < piece.size();) {
          node = tree_.step(node, piece[end++]);
          if (node != prefix_tree::none && tree_.token(node) != no_token) best = tree_.token(node), best_end = end;
        }
        if (best == no_token) break;
        out.push_back(best);
        at = best_end;
      }
      if (at == piece.size()) return;
    }
    out.resize(from);
    if (vocabulary_->unknown != no_token) out.push_back(vocabulary_->unknown);
  }

 private:
  static bool has_more_than(std::string_view piece, u32 most) {
    std::size_t at = 0;
    for (u32 i = 0; i < most && at < piece.size(); ++i) at += code_point_at(piece, at).size;
    return at < piece.size();
  }

  const vocabulary* vocabulary_;
  u32 most_;
  prefix_tree tree_;
  u32 first_, continuing_;
};

class word_level_model {
 public:
  word_level_model(const vocabulary& v, modelling::word_level) : vocabulary_(&v), tokens_(v) {}

  void encode(std::string_view piece, model_scratch&, std::vector<u32>& out) const {
    const u32 id = tokens_.find(piece);
    if (id != no_token || vocabulary_->unknown != no_token) out.push_back(id != no_token ? id : vocabulary_->unknown);
  }

 private:
  const vocabulary* vocabulary_;
  prefix_tree tokens_;
};

using any_recipe_model = std::variant<character_bpe, unigram_model, wordpiece_model, word_level_model>;

// Refers to the vocabulary, whose recipe this model is from.
inline any_recipe_model make_model(const vocabulary& v, const modelling::model& model) {
  return std::visit(
      [&]<class M>(const M& options) -> any_recipe_model {
        if constexpr (std::is_same_v<M, modelling::bpe>) return character_bpe(v, options);
        else if constexpr (std::is_same_v<M, modelling::unigram>) return unigram_model(v, options);
        else if constexpr (std::is_same_v<M, modelling::wordpiece>) return wordpiece_model(v, options);
        else return word_level_model(v, options);
      },
      model);
}

}  // namespace cke::text::detail
