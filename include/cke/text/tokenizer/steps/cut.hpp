// SPDX-License-Identifier: MIT
// cut.hpp: runs the cuts of a recipe.
#pragma once

#include "normalize.hpp"

namespace cke::text::detail {

// A match, or the text between two matches.
struct segment {
  std::size_t first, last;
  bool match;
};

// Joins segments as `how` says and calls sink(text) for each piece, which may be empty.
inline void emit(std::string_view text, std::vector<segment>& segments, cutting::behavior how,
                 function_ref<void(std::string_view)> sink) {
  using enum cutting::behavior;
  const auto joins = [&](const segment& a, const segment& b) {
    switch (how) {
      case merged_with_previous: return b.match && !a.match;
      case merged_with_next: return a.match && !b.match;
      case contiguous: return a.match == b.match;
      default: return false;
    }
  };
  for (std::size_t i = 0; i < segments.size();) {
    const std::size_t first = segments[i].first, begin = i;
    for (++i; i < segments.size() && joins(segments[i - 1], segments[i]);) ++i;
    if (how != removed || !segments[begin].match) sink(text.substr(first, segments[i - 1].last - first));
  }
}

class cutter {
 public:
  using on_piece = function_ref<void(std::string_view)>;

  // Refers to `steps`, which must outlive it.
  explicit cutter(const std::vector<cutting::step>& steps) : steps_(&steps) {}

  // Calls sink(piece) for each piece in order; none is empty. `beginning`: the text is not a continuation.
  void operator()(std::string_view text, bool beginning, on_piece sink) const { cut(0, text, beginning, sink); }

 private:
  void cut(std::size_t level, std::string_view text, bool beginning, on_piece sink) const {
    if (text.empty()) return;
    check_size(text);
    if (level == steps_->size()) return sink(text);
    const auto next = [&](std::string_view piece) {
      cut(level + 1, piece, beginning && piece.data() == text.data(), sink);
    };
    std::visit([&](const auto& s) { apply(s, text, beginning, next); }, (*steps_)[level]);
  }

  static void apply(const cutting::at_characters& a, std::string_view text, bool, on_piece next) {
    using enum cutting::behavior;
    if (a.how != removed && a.how != isolated) {
      std::vector<segment> segments;
      cut_at(a.set, text,
             [&](std::size_t first, std::size_t last, bool match) { segments.push_back({first, last, match}); });
      return emit(text, segments, a.how, next);
    }
    cut_at(a.set, text, [&](std::size_t first, std::size_t last, bool match) {
      if (!match || a.how == isolated) next(text.substr(first, last - first));
    });
  }

  // Calls use(first, last, match) for each character of the set, and for the text between them.
  template <class Use> static void cut_at(cutting::char_set set, std::string_view text, Use&& use) {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
      const code_point c = code_point_at(text, at);
      if (in_set(set, c.value)) {
        if (done < at) use(done, at, false);
        done = at + c.size;
        use(at, done, true);
      }
      at += c.size;
    }
    if (done < text.size()) use(done, text.size(), false);
  }

  static void apply(const cutting::at_pattern& a, std::string_view text, bool, on_piece next) {
    std::vector<segment> segments;
    std::size_t done = 0;
    const auto put = [&](std::size_t first, std::size_t last, bool match) {
      segments.push_back({first, last, match != a.invert});
    };
    each_match(a.pattern, text, [&](std::size_t first, std::size_t last) {
      if (done < first) put(done, first, false);
      put(first, last, true);
      done = last;
    });
    if (done < text.size()) put(done, text.size(), false);
    emit(text, segments, a.how, next);
  }

  static void apply(cutting::words, std::string_view text, bool, on_piece next) {
    const auto kind = [](char_class c) { return is_space(c) ? 0 : is_word(c) ? 1 : 2; };
    for (std::size_t at = 0; at < text.size();) {
      const int first = kind(class_of(code_point_at(text, at).value));
      const std::size_t end = skip_while(text, at, [&](char_class c) { return kind(c) == first; });
      if (first != 0) next(text.substr(at, end - at));
      at = end;
    }
  }

  static void apply(const cutting::metaspace& m, std::string_view text, bool beginning, on_piece next) {
    std::string marked;
    marked.reserve(text.size() + m.mark.size() + 8);
    const bool wanted = m.scheme == cutting::prefix::always || (m.scheme == cutting::prefix::first && beginning);
    if (wanted && text[0] != ' ' && !text.starts_with(m.mark)) marked += m.mark;
    for (const char c : text) c == ' ' ? marked += m.mark : marked += c;
    if (!m.split) return next(marked);
    // Each mark starts a piece, which extends to the next mark.
    const std::string_view all = marked;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t after = all.substr(at).starts_with(m.mark) ? at + m.mark.size() : at;
      const std::size_t end = std::min(all.find(m.mark, after), all.size());
      next(all.substr(at, end - at));
      at = end;
    }
  }

  static void apply(cutting::byte_level b, std::string_view text, bool, on_piece next) {
    std::string spaced;
    if (b.prefix_space && !text.starts_with(' ')) text = spaced.append(1, ' ').append(text);
    pre_tokenize(b.gpt2_words ? pre_tokenizer::gpt2 : pre_tokenizer::none, text,
                 [&](std::string_view word) { next(to_byte_alphabet(word)); });
  }

  static void apply(cutting::fixed_length f, std::string_view text, bool, on_piece next) {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      for (u32 i = 0; i < f.characters && end < text.size(); ++i) end += code_point_at(text, end).size;
      next(text.substr(at, end - at));
      at = end;
    }
  }

  static void apply(cutting::at_scripts, std::string_view text, bool, on_piece next) {
    std::size_t begin = text.size();
    u32 last = 0;
    for (std::size_t at = 0; at < text.size();) {
      const code_point c = code_point_at(text, at);
      if (const u32 script = script_of(c.value); script != 0 && script != last) {
        if (last != 0) next(text.substr(begin, at - begin));
        begin = at, last = script;
      }
      at += c.size;
    }
    if (begin < text.size()) next(text.substr(begin));
  }

  const std::vector<cutting::step>* steps_;
};

}  // namespace cke::text::detail
