// SPDX-License-Identifier: MIT
// tokenizer.hpp: converts text to token ids and back.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../core/plain_list.hpp"
#include "added_tokens.hpp"
#include "bpe.hpp"
#include "nfc.hpp"
#include "spm.hpp"
#include "vocabulary.hpp"

CKE_COLD_BEGIN
namespace cke::text {

struct encode_options {
  // Control tokens spelled in the text become those tokens; otherwise they stay plain text.
  bool parse_special = false;
  // Adds the begin and end tokens that the vocabulary asks for.
  bool add_special = false;
  // User-defined tokens spelled in the text become those tokens, except these ids, which are sorted.
  std::span<const u32> except{};
  // False: the text continues other tokens, so it gets no space prefix.
  bool beginning = true;
  // True: the text is a part of a word, and gets no prefix even where every text gets one.
  bool inside = false;
};

// Immutable and thread-safe. Copies share the vocabulary.
class tokenizer {
 public:
  // Throws Error{malformed} if validate() fails; `file` is for its message.
  explicit tokenizer(text::vocabulary data, const std::string& file = "tokenizer")
      : tokenizer(std::make_shared<const text::vocabulary>(std::move(data)), file) {}
  CKE_OUT_OF_LINE explicit tokenizer(std::shared_ptr<const text::vocabulary> data, const std::string& file)
      : vocabulary_(std::move(data)) {
    const text::vocabulary& v = *vocabulary_;
    validate(v, file);
    if (v.pre == pre_tokenizer::patterns && !v.cuts)
      throw Error(errc::unsupported, file, "tokenizer patterns", "with_patterns() of cke/io/pattern_splitter.hpp",
                  "none");
    if (v.model == tokenizer_model::steps) {
      if (!v.pipeline)
        throw Error(errc::unsupported, file, "tokenizer steps", "with_patterns() of cke/io/pattern_splitter.hpp",
                    "none");
    } else if (v.model == tokenizer_model::bpe) {
      bpe_ = bpe_model(v);
    } else {
      spm_ = spm_model(v);
      spell_pieces();
    }
    raw_ = added(false), normalized_ = added(true);
    for (u32 id = 0; id < vocab_size(); ++id) longest_piece_ = std::max(longest_piece_, piece(id).size());
  }

  // Text need not be valid UTF-8. Throws Error{usage} if it is longer than 1 GiB.
  std::vector<u32> encode(std::string_view text, encode_options options = {}) const {
    constexpr std::size_t most = std::size_t{1} << 30;
    if (text.size() > most) throw Error(errc::usage, {}, "text", "at most 2^30 bytes", concat({text.size()}));
    const text::vocabulary& v = *vocabulary_;
    std::vector<u32> ids;
    if (options.add_special && v.add_bos) ids.push_back(v.bos);
    if (options.add_special) ids.insert(ids.end(), v.before.begin(), v.before.end());
    merger scratch;
    const auto on_token = [&](u32 id) { ids.push_back(id); };
    const auto judge = [&](const added_token& token, std::size_t, std::size_t) {
      const bool wanted =
          (options.parse_special || !token.special) && !std::ranges::binary_search(options.except, token.id);
      return wanted ? added_tokens::verdict::token : added_tokens::verdict::text;
    };
    const auto on_stretch = [&](std::string_view stretch) {
      const bool beginning = options.beginning && stretch.data() == text.data();
      const std::string normal = normalize(stretch, options.inside);
      const auto on_text = [&](std::string_view part) {
        encode_text(part, {.beginning = beginning && part.data() == normal.data(), .inside = options.inside}, scratch,
                    ids);
      };
      normalized_.split(normal, judge, on_text, on_token);
    };
    raw_.split(text, judge, on_stretch, on_token);
    if (options.add_special) ids.insert(ids.end(), v.after.begin(), v.after.end());
    if (options.add_special && v.add_eos) ids.push_back(v.eos);
    return ids;
  }

  // Decodes a whole sequence; the result may contain invalid UTF-8. Throws Error{token_range}.
  std::string decode(std::span<const u32> ids, bool skip_special = false) const {
    if (vocabulary_->pipeline) return decode_by_steps(ids, skip_special);
    std::string text;
    for (const u32 id : ids) {
      const std::string_view bytes = piece(id);
      if (!skip_special || !is_special(id)) text += bytes;
    }
    if (vocabulary_->strip_prefix && text.starts_with(' ')) text.erase(0, 1);
    return text;
  }

  // The bytes of a token; not always whole characters. Throws Error{token_range}.
  std::string_view piece(u32 id) const {
    check(id);
    if (vocabulary_->pipeline) return vocabulary_->pipeline->pieces()[id];
    return is_spm() ? pieces_[id] : vocabulary_->tokens[id];
  }
  bool is_special(u32 id) const {
    check(id);
    const token_type type = vocabulary_->types[id];
    return type == token_type::control || type == token_type::unknown;
  }
  // The id of a special token's text, or of a piece's bytes.
  std::optional<u32> find(std::string_view text) const {
    for (u32 id = 0; id < vocab_size(); ++id)
      if (piece(id) == text) return id;
    return {};
  }

  // One more than the highest id. A model's embedding may have more rows, as padding.
  u32 vocab_size() const { return static_cast<u32>(vocabulary_->tokens.size()); }
  std::size_t longest_piece() const { return longest_piece_; }  // in bytes
  const text::vocabulary& vocabulary() const { return *vocabulary_; }

 private:
  bool is_spm() const { return vocabulary_->model == tokenizer_model::spm; }
  // The added tokens that are searched in raw text, or in normalised text.
  added_tokens added(bool normalized) const {
    std::vector<std::string> contents;
    plain_list<added_token> tokens;
    for (const added_token& token : vocabulary_->added) {
      if (token.normalized != normalized) continue;
      const std::string& content = vocabulary_->tokens[token.id];
      contents.push_back(normalized ? normalize(content) : content), tokens.push_back(token);
    }
    return {std::move(contents), tokens};
  }

  void check(u32 id) const {
    if (id >= vocab_size()) refuse(id);
  }
  [[noreturn]] CKE_OUT_OF_LINE void refuse(u32 id) const {
    throw Error(errc::token_range, {}, "token id", concat({"less than ", vocab_size()}), concat({id}));
  }

  std::string decode_by_steps(std::span<const u32> ids, bool skip_special) const {
    std::vector<u32> kept;
    for (const u32 id : ids)
      if (!is_special(id) || !skip_special) kept.push_back(id);
    return vocabulary_->pipeline->decode(kept);
  }

  CKE_OUT_OF_LINE static std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    for (std::size_t at = 0;;) {
      const std::size_t hit = text.find(from, at);
      out += text.substr(at, hit - at);
      if (hit == std::string_view::npos) return out;
      out += to;
      at = hit + from.size();
    }
  }

  void spell_pieces() {
    const text::vocabulary& v = *vocabulary_;
    for (std::size_t id = 0; id < v.tokens.size(); ++id) {
      if (v.types[id] == token_type::byte) pieces_.emplace_back(1, static_cast<char>(byte_token_value(v.tokens[id])));
      else pieces_.push_back(replace_all(v.tokens[id], spm_space, " "));
    }
  }

  // SentencePiece marks spaces before normalised added tokens are searched, Hugging Face's Metaspace afterwards.
  bool marks_spaces_first() const {
    const space_prefix p = vocabulary_->prefix;
    return is_spm() && (p == space_prefix::always || p == space_prefix::never);
  }

  CKE_OUT_OF_LINE std::string normalize(std::string_view text, bool inside = false) const {
    if (vocabulary_->pipeline) return vocabulary_->pipeline->normalize(text);
    std::string normal = vocabulary_->nfc ? nfc(text) : std::string(text);
    if (!marks_spaces_first()) return normal;
    if (vocabulary_->prefix == space_prefix::always && !inside && !normal.empty()) normal.insert(0, 1, ' ');
    return replace_all(normal, " ", spm_space);
  }

  void encode_text(std::string_view text, encode_options where, merger& scratch, std::vector<u32>& ids) const {
    if (vocabulary_->pipeline) return vocabulary_->pipeline->encode(text, where.beginning, ids);
    const space_prefix p = vocabulary_->prefix;
    const bool wanted =
        !where.inside && (p == space_prefix::if_missing || (p == space_prefix::at_beginning && where.beginning));
    std::string marked;
    if (is_spm() && !marks_spaces_first()) {
      marked = replace_all(text, " ", spm_space);
      if (wanted && !marked.starts_with(spm_space)) marked.insert(0, spm_space);
      text = marked;
    } else if (!is_spm() && wanted && !text.starts_with(' ')) {
      marked.append(1, ' ').append(text);  // avoids " " + text: gcc 12 bug 105651
      text = marked;
    }
    if (is_spm()) return spm_.encode(text, scratch, ids);
    const auto on_word = [&](std::string_view word) { bpe_.encode(word, scratch, ids); };
    if (vocabulary_->cuts) vocabulary_->cuts->split(text, on_word);
    else pre_tokenize(vocabulary_->pre, text, on_word);
  }

  std::shared_ptr<const text::vocabulary> vocabulary_;
  bpe_model bpe_;  // used if it is the vocabulary's model, as
  spm_model spm_;
  std::vector<std::string> pieces_;  // spm: by id, with spaces and bytes decoded
  added_tokens raw_, normalized_;
  std::size_t longest_piece_ = 0;
};

}  // namespace cke::text
CKE_COLD_END
