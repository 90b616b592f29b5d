// SPDX-License-Identifier: MIT
// normalize.hpp: runs the normalisers of a recipe.
#pragma once

#include "../byte_alphabet.hpp"
#include "../pre_tokenizer.hpp"
#include "characters.hpp"
#include "charsmap.hpp"

namespace cke::text::detail {

// Calls found(first, last) for each match, from left to right.
inline void each_match(const text_pattern& pattern, std::string_view text,
                       function_ref<void(std::size_t, std::size_t)> found) {
  if (pattern.regex) return pattern.compiled->each(text, found);
  if (pattern.text.empty()) return;
  for (std::size_t at = 0; (at = text.find(pattern.text, at)) != text.npos; at += pattern.text.size())
    found(at, at + pattern.text.size());
}

// A few steps that each write more than they read would fill the memory.
inline void check_size(std::string_view text) {
  constexpr std::size_t most = std::size_t{1} << 30;
  if (text.size() > most) throw Error(errc::unsupported, {}, "text", "at most 2^30 bytes after each step", "more");
}

inline std::string replace_matches(const text_pattern& pattern, std::string_view text, std::string_view content) {
  std::string out;
  std::size_t done = 0;
  each_match(pattern, text, [&](std::size_t first, std::size_t last) {
    out.append(text, done, first - done).append(content);
    check_size(out);
    done = last;
  });
  return out.append(text, done);
}

inline std::string_view stripped(std::string_view text, bool left, bool right) {
  const std::size_t begin = left ? skip_while(text, 0, is_space) : 0;
  std::size_t end = text.size();
  while (right && end > begin) {
    const code_point c = code_point_before(text, end);
    if (!is_space(class_of(c.value))) break;
    end -= c.size;
  }
  return text.substr(begin, end - begin);
}

// Rebuilds a text by calling append(out, code) for each of its characters.
template <class Append> std::string rewritten(std::string_view text, Append&& append) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](u32 code) { append(out, code); });
  return out;
}

class normalizer {
 public:
  // Refers to `steps`, which must outlive it.
  explicit normalizer(const std::vector<normalizing::step>& steps) : steps_(&steps) {}

  std::string operator()(std::string_view text) const {
    std::string out(text);
    for (const normalizing::step& step : *steps_) {
      out = std::visit([&](const auto& s) { return apply(s, std::move(out)); }, step);
      check_size(out);
    }
    return out;
  }

 private:
  static std::string apply(normalizing::form form, std::string text) {
    return is_ascii(text) ? text : in_form(text, form);
  }
  static std::string apply(normalizing::byte_level, std::string text) { return to_byte_alphabet(text); }
  static std::string apply(normalizing::strip s, std::string text) {
    return std::string(stripped(text, s.left, s.right));
  }
  static std::string apply(const normalizing::prepend& p, std::string text) {
    return text.empty() ? text : p.text + text;
  }
  static std::string apply(const normalizing::replace& r, std::string text) {
    return replace_matches(r.pattern, text, r.content);
  }

  static std::string apply(normalizing::lowercase, std::string text) {
    if (!is_ascii(text)) return rewritten(text, append_lower);
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return text;
  }

  static std::string apply(normalizing::strip_accents, std::string text) {
    if (is_ascii(text)) return text;
    return rewritten(text, [](std::string& out, u32 code) {
      if (class_of(code) != char_class::mark) append_utf8(out, code);
    });
  }

  static std::string apply(normalizing::nmt, std::string text) {
    return rewritten(text, [](std::string& out, u32 c) {
      const bool dropped =
          (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
      const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
          (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
      if (!dropped) append_utf8(out, space ? ' ' : c);
    });
  }

  static std::string apply(normalizing::bert b, std::string text) {
    if (b.clean_text)
      text = rewritten(text, [](std::string& out, u32 c) {
        const bool line = c == '\t' || c == '\n' || c == '\r';
        if (line || is_space(class_of(c))) {
          // White space that is also a control character is dropped, except these.
          if (line || kind_of(c) != char_kind::control) out += ' ';
        } else if (c != 0 && c != 0xFFFD && kind_of(c) != char_kind::control) {
          append_utf8(out, c);
        }
      });
    const bool ascii = is_ascii(text);
    if (b.chinese && !ascii)
      text = rewritten(text, [](std::string& out, u32 c) {
        if (!is_chinese(c)) return append_utf8(out, c);
        append_utf8(out += ' ', c);
        out += ' ';
      });
    if (b.accents && !ascii)
      text = rewritten(in_form(text, {.compatible = false, .composed = false}), [](std::string& out, u32 c) {
        if (kind_of(c) != char_kind::nonspacing) append_utf8(out, c);
      });
    return b.lowercase ? apply(normalizing::lowercase{}, std::move(text)) : text;
  }

  static std::string apply(normalizing::merge_spaces, std::string text) {
    std::string out;
    for (const char c : text)
      if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
    // At the end SentencePiece also drops a mark that the text itself contained.
    for (std::string_view end; out.ends_with(end = " ") || out.ends_with(end = "▁");)
      out.erase(out.size() - end.size());
    return out;
  }

  static std::string apply(const normalizing::precompiled& p, std::string text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const auto plain = [&](std::size_t i) {
        return i >= text.size() || (static_cast<u8>(text[i]) < 0x80 && text[i] != '\r');
      };
      if (!p.graphemes.regex || (plain(at) && plain(at + 1))) {
        const auto hit = p.map->find(std::string_view(text).substr(at, p.graphemes.regex ? 1 : text.npos), true);
        const std::size_t size = hit ? hit->size : code_point_at(text, at).size;
        out += hit ? hit->becomes : std::string_view(text).substr(at, size);
        at += size;
        continue;
      }
      // A grapheme ends between two plain characters.
      std::size_t end = at + 1;
      while (end < text.size() && !(plain(end - 1) && plain(end))) ++end;
      append_graphemes(out, p, std::string_view(text).substr(at, end - at));
      at = end;
    }
    return out;
  }

  static void append_graphemes(std::string& out, const normalizing::precompiled& p, std::string_view text) {
    constexpr std::size_t short_enough = 5;  // in bytes; longer graphemes are mapped character by character
    std::size_t done = 0;
    p.graphemes.compiled->each(text, [&](std::size_t first, std::size_t last) {
      out.append(text, done, first - done);  // invalid bytes
      done = last;
      const std::string_view grapheme = text.substr(first, last - first);
      if (const auto hit = grapheme.size() <= short_enough ? p.map->find(grapheme, false) : std::nullopt)
        return void(out += hit->becomes);
      for (std::size_t at = 0; at < grapheme.size();) {
        const std::string_view one = grapheme.substr(at, code_point_at(grapheme, at).size);
        const auto hit = p.map->find(one, false);
        out += hit ? hit->becomes : one;
        at += one.size();
      }
    });
    out.append(text, done);
  }

  const std::vector<normalizing::step>* steps_;
};

}  // namespace cke::text::detail
