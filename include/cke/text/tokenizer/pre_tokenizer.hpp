// SPDX-License-Identifier: MIT
// pre_tokenizer.hpp: splits text into pieces, across whose borders byte-level BPE never merges.
#pragma once

#include "../../core/function_ref.hpp"
#include "unicode.hpp"

CKE_COMPILED_ONCE
namespace cke::text {

// The names are those of GGUF files. Each stands for the regular expression(s) of the model that introduced it:
//   gpt2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   smollm  every \p{N} alone, then gpt2 between them
//   llama3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
//           | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//   qwen2   llama3 with \p{N} in place of \p{N}{1,3}
//   patterns  regular expressions from a file, through a splitter
enum class pre_tokenizer : u8 { none, gpt2, smollm, llama3, qwen2, patterns };

// Splits text by rules from a file. Thread-safe.
class splitter {
 public:
  virtual ~splitter() = default;
  // Calls sink(piece) for each piece in order. Text need not be valid UTF-8.
  virtual void split(std::string_view text, function_ref<void(std::string_view)> sink) const = 0;
};

namespace detail {

// The length of 's 't 're 've 'm 'll 'd at `at`, or 0.
constexpr std::size_t match_contraction(std::string_view text, std::size_t at, bool any_case) {
  if (text[at] != '\'') return 0;
  const auto letter = [&](std::size_t i) {
    const char c = at + i < text.size() ? text[at + i] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char a = letter(1), b = letter(2);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if ((b == 'e' && (a == 'r' || a == 'v')) || (a == 'l' && b == 'l')) return 3;
  // The long s folds to s.
  return any_case && text.substr(at + 1, 2) == "\u017F" ? 3 : 0;
}

template <class In>
constexpr std::size_t skip_while(std::string_view text, std::size_t at, In&& in) {
  while (at < text.size()) {
    const code_point c = code_point_at(text, at);
    if (!in(class_of(c.value))) break;
    at += c.size;
  }
  return at;
}

constexpr std::size_t skip_newlines(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == '\n' || text[at] == '\r')) ++at;
  return at;
}

constexpr bool is_symbol(char_class c) { return !is_space(c) && !is_letter(c) && !is_number(c); }

// The end of the piece that starts with the white space at `at`, which no earlier alternative matches.
constexpr std::size_t match_space(std::string_view text, std::size_t at, bool lines) {
  std::size_t end = at, last = at, after_newline = at;
  while (end < text.size()) {
    const code_point c = code_point_at(text, end);
    if (!is_space(class_of(c.value))) break;
    last = end;
    end += c.size;
    if (c.value == '\n' || c.value == '\r') after_newline = end;
  }
  if (lines && after_newline != at) return after_newline;  // \s*[\r\n]+
  if (end < text.size() && last != at) return last;        // \s+(?!\S): leaves one for the next word
  return end;                                              // \s+
}

// The end of the piece that starts at `at`.
constexpr std::size_t match_gpt2(std::string_view text, std::size_t at) {
  if (const std::size_t n = match_contraction(text, at, false)) return at + n;
  std::size_t first = at + (text[at] == ' ' ? 1 : 0);
  if (first == text.size()) return first;
  const char_class c = class_of(code_point_at(text, first).value);
  if (is_letter(c)) return skip_while(text, first, is_letter);
  if (is_number(c)) return skip_while(text, first, is_number);
  if (is_symbol(c)) return skip_while(text, first, is_symbol);
  return match_space(text, at, false);
}

constexpr std::size_t match_llama3(std::string_view text, std::size_t at, u32 max_digits) {
  if (const std::size_t n = match_contraction(text, at, true)) return at + n;
  const code_point head = code_point_at(text, at);
  const char_class head_class = class_of(head.value);
  const std::size_t second = at + head.size;
  if (is_letter(head_class)) return skip_while(text, second, is_letter);
  if (is_number(head_class)) {
    return skip_while(text, second,
                      [left = max_digits - 1](char_class c) mutable { return is_number(c) && left-- > 0; });
  }
  const bool newline = head.value == '\n' || head.value == '\r';
  const char_class next = second < text.size() ? class_of(code_point_at(text, second).value) : char_class::space;
  if (!newline && is_letter(next)) return skip_while(text, second, is_letter);
  if (is_symbol(head_class) || (head.value == ' ' && is_symbol(next)))
    return skip_newlines(text, skip_while(text, second, is_symbol));
  return match_space(text, at, true);
}

inline void cut(std::string_view text, std::size_t (*match)(std::string_view, std::size_t),
                function_ref<void(std::string_view)> sink) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = match(text, at);
    sink(text.substr(at, end - at));
    at = end;
  }
}

}  // namespace detail

// Calls sink(piece) for each piece in order; together they make up the text. Linear in its length.
inline void pre_tokenize(pre_tokenizer kind, std::string_view text, function_ref<void(std::string_view)> sink) {
  using namespace detail;
  switch (kind) {
    case pre_tokenizer::none:
    case pre_tokenizer::patterns:  // split by a splitter instead
      if (!text.empty()) sink(text);
      return;
    case pre_tokenizer::gpt2: return cut(text, match_gpt2, sink);
    case pre_tokenizer::llama3:
      return cut(text, [](std::string_view t, std::size_t at) { return match_llama3(t, at, 3); }, sink);
    case pre_tokenizer::qwen2:
      return cut(text, [](std::string_view t, std::size_t at) { return match_llama3(t, at, 1); }, sink);
    case pre_tokenizer::smollm: {
      const auto number_or_rest = [](std::string_view t, std::size_t at) {
        const code_point c = code_point_at(t, at);
        if (is_number(class_of(c.value))) return at + c.size;
        return skip_while(t, at, [](char_class k) { return !is_number(k); });
      };
      return cut(text, number_or_rest, [&](std::string_view part) { cut(part, match_gpt2, sink); });
    }
  }
}

}  // namespace cke::text
