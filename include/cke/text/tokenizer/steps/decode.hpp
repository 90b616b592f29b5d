// SPDX-License-Identifier: MIT
// decode.hpp: runs the decoders of a recipe.
#pragma once

#include "../vocabulary.hpp"
#include "normalize.hpp"

namespace cke::text::detail {

inline void replace_all_in(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::string out;
  std::size_t at = 0;
  for (std::size_t next; (next = text.find(from, at)) != text.npos; at = next + from.size()) {
    out.append(text, at, next - at).append(to);
    check_size(out);
  }
  text = std::move(out.append(text, at));
}

// Removes the spaces that WordPiece puts before English punctuation and contractions.
inline void clean_up(std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> rules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : rules) replace_all_in(text, from, to);
}

class decoder {
 public:
  // Refers to `steps`, which must outlive it.
  explicit decoder(const std::vector<decoding::step>& steps) : steps_(&steps) {}

  // Decodes a whole sequence. Byte tokens become their bytes, even if these form no whole character.
  std::string operator()(std::vector<std::string> tokens) const {
    for (const decoding::step& step : *steps_) std::visit([&](const auto& s) { apply(s, tokens); }, step);
    std::string out;
    for (const std::string& token : tokens) out += token;
    return out;
  }

  // The text that a token adds after others: the same steps, none of which treats it as first or last.
  std::string piece(std::string token) const {
    std::vector<std::string> one{std::move(token)};
    for (const decoding::step& step : *steps_) {
      if (std::holds_alternative<decoding::fuse>(step)) break;  // later steps look at the ends of the text
      std::visit([&](const auto& s) { inside(s, one); }, step);
    }
    return one[0];
  }

  // Whether decoding drops a space at the start; the first token is then decoded differently from later ones.
  bool strips_prefix() const {
    return std::ranges::any_of(*steps_, [](const decoding::step& step) {
      const auto* metaspace = std::get_if<decoding::metaspace>(&step);
      const auto* strip = std::get_if<decoding::strip>(&step);
      return (metaspace && metaspace->prefix) || (strip && strip->character == " " && strip->start > 0) ||
          std::holds_alternative<decoding::wordpiece>(step) || std::holds_alternative<decoding::spaced>(step);
    });
  }

 private:
  using texts = std::vector<std::string>;

  static void apply(decoding::spaced, texts& tokens) {
    for (std::size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, 1, ' ');
  }
  static void inside(decoding::spaced, texts& tokens) { tokens[0].insert(0, 1, ' '); }

  static void apply(decoding::byte_level, texts& tokens) {
    for (std::string& t : tokens) from_byte_alphabet(t);
  }
  static void apply(decoding::byte_fallback, texts& tokens) {
    for (std::string& t : tokens)
      if (const int byte = byte_token_value(t); byte >= 0) t.assign(1, static_cast<char>(byte));
  }
  static void apply(decoding::fuse, texts& tokens) {
    std::string all;
    for (const std::string& t : tokens) all += t;
    tokens.assign(1, all);
  }
  static void apply(const decoding::replace& r, texts& tokens) {
    for (std::string& t : tokens) t = replace_matches(r.pattern, t, r.content);
  }
  static void apply(const decoding::strip& s, texts& tokens) {
    for (std::string& t : tokens) {
      for (u32 i = 0; i < s.start && t.starts_with(s.character); ++i) t.erase(0, s.character.size());
      for (u32 i = 0; i < s.stop && t.ends_with(s.character); ++i) t.resize(t.size() - s.character.size());
    }
  }
  static void apply(const decoding::metaspace& m, texts& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) replace_all_in(tokens[i], m.mark, i == 0 && m.prefix ? "" : " ");
  }
  static void inside(const decoding::metaspace& m, texts& tokens) { replace_all_in(tokens[0], m.mark, " "); }

  static void apply(const decoding::wordpiece& w, texts& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i) join(w, tokens[i], i == 0);
  }
  static void inside(const decoding::wordpiece& w, texts& tokens) { join(w, tokens[0], false); }
  static void join(const decoding::wordpiece& w, std::string& token, bool first) {
    if (!first) {
      if (token.starts_with(w.prefix)) token.erase(0, w.prefix.size());
      else token.insert(0, 1, ' ');
    }
    if (w.cleanup) clean_up(token);
  }

  static void apply(const decoding::end_of_word& e, texts& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all_in(tokens[i], e.suffix, i + 1 == tokens.size() ? "" : " ");
  }
  static void inside(const decoding::end_of_word& e, texts& tokens) { replace_all_in(tokens[0], e.suffix, " "); }

  static void apply(const decoding::ctc& c, texts& tokens) {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (std::string& t : tokens) spell(c, t);
    std::erase(tokens, std::string());
  }
  static void inside(const decoding::ctc& c, texts& tokens) { spell(c, tokens[0]); }
  static void spell(const decoding::ctc& c, std::string& token) {
    replace_all_in(token, c.pad, "");
    if (c.cleanup) clean_up(token), replace_all_in(token, c.word_delimiter, " ");
  }

  // The other steps treat each token alone.
  template <class Step> static void inside(const Step& step, texts& tokens) { apply(step, tokens); }

  const std::vector<decoding::step>* steps_;
};

}  // namespace cke::text::detail
