// SPDX-License-Identifier: MIT
// pattern_splitter.hpp: splits text by regular expressions of PCRE2, and runs recipes. Users of it link pcre2-8.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../text/tokenizer/steps/pipeline.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

// One compiled regular expression.
class pattern final : public matcher {
 public:
  // Throws Error{unsupported} if the text is not a regular expression that cke supports.
  pattern(std::string_view text, const std::string& file) {
    const std::string spelled = in_pcre(text, file);
    int error = 0;
    PCRE2_SIZE at = 0;
    // Patterns come from a file: they may neither match part of a character (\C) nor call out.
    constexpr std::uint32_t options =
        PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    code_.reset(
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(), options, &error, &at, nullptr));
    if (!code_) throw Error(errc::unsupported, file, "tokenizer pattern", "a regular expression", text);
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // for speed; without it PCRE2 interprets
  }

  // Throws Error{unsupported} if the match exceeds PCRE2's limits on steps or memory.
  void each(std::string_view text, function_ref<void(std::size_t, std::size_t)> found) const override {
    // Shared by all patterns of a thread, since each result is read before the next match starts.
    static thread_local const std::unique_ptr<pcre2_match_data, releaser> match(pcre2_match_data_create(1, nullptr));
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    for (std::size_t at = 0; at <= text.size();) {
      const auto match_by = [&](std::uint32_t how) {
        return pcre2_match(code_.get(), subject, text.size(), at, how, match.get(), nullptr);
      };
      int result = match_by(0);
      if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match_by(PCRE2_NO_JIT);  // the interpreter takes the heap
      if (result == PCRE2_ERROR_NOMATCH) break;
      if (result < 0)
        throw Error(errc::unsupported, {}, "tokenizer pattern", "one that is done in PCRE2's bounds", "another");
      const PCRE2_SIZE* place = pcre2_get_ovector_pointer(match.get());
      const std::size_t first = place[0], last = place[1];
      found(first, last);
      at = last > first ? last : last == text.size() ? last + 1 : last + code_point_at(text, last).size;
    }
  }

 private:
  struct releaser {
    void operator()(pcre2_code* p) const { pcre2_code_free(p); }
    void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  };

  // The name in \p{Han}, if longer than a category's. PCRE2's \p{Han} would include characters that several scripts
  // share.
  static std::string_view script_name(std::string_view at) {
    const bool property = at.size() > 2 && (at[1] == 'p' || at[1] == 'P') && at[2] == '{';
    const std::string_view name = property ? at.substr(3, std::min(at.find('}'), at.size()) - 3) : std::string_view{};
    const bool letters = name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") == name.npos;
    return name.size() > 2 && letters && name != "Any" ? name : std::string_view{};
  }

  // Translates from Oniguruma, the dialect of tokenizers: white space is Unicode's, words have marks and connectors,
  // which versions of PCRE2 see differently, a script is its own characters only, and [a&&[^b]] is a without b. Other
  // nested sets are refused, and so is \\h, which is a hex digit there and a space in PCRE2.
  static std::string in_pcre(std::string_view pattern, const std::string& file) {
    static constexpr std::string_view space = "\\t-\\r\\x{85}\\p{Z}", word = "\\p{L}\\p{M}\\p{N}\\p{Pc}";
    std::string out;
    std::size_t opened = std::string::npos;  // index in `out` where the current character class starts
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      const bool in_class = opened != std::string::npos;
      const std::string_view left = pattern.substr(i);
      if (left.starts_with("\\s")) {
        out += in_class ? std::string(space) : '[' + std::string(space) + ']', ++i;
      } else if (left.starts_with("\\S") && !in_class) {
        out += "[^" + std::string(space) + ']', ++i;
      } else if (left.starts_with("\\w")) {
        out += in_class ? std::string(word) : '[' + std::string(word) + ']', ++i;
      } else if (left.starts_with("\\W") && !in_class) {
        out += "[^" + std::string(word) + ']', ++i;
      } else if ((left.starts_with("\\b") || left.starts_with("\\B")) && !in_class) {  // a word begins or ends, or not
        const std::string in_word = '[' + std::string(word) + ']', other = left[1] == 'b' ? "!" : "=",
                          same = left[1] == 'b' ? "=" : "!";
        out += "(?:(?<=" + in_word + ")(?" + other + in_word + ")|(?<!" + in_word + ")(?" + same + in_word + "))", ++i;
      } else if (left.size() > 1 && left[0] == '\\' && left[1] != 'h' && left[1] != 'H') {
        out += left.substr(0, 2), ++i;
        if (const std::string_view name = script_name(left); !name.empty())
          out += "{sc:" + std::string(name) + '}', i += name.size() + 2;
      } else if (in_class && left.starts_with("&&[^") && left.find("]]") != left.npos) {
        const std::size_t end = left.find("]]");
        out.insert(opened, "(?:(?!" + std::string(1, '[') + std::string(left.substr(4, end - 4)) + "])");
        out += "])", opened = std::string::npos, i += end + 1;
      } else if (left.starts_with("\\h") || left.starts_with("\\H") ||
                 (in_class && (left.starts_with("&&") || (left[0] == '[' && !left.starts_with("[:"))))) {
        throw Error(errc::unsupported, file, "tokenizer pattern", "no sets of sets, and no \\h", pattern);
      } else {
        if (left[0] == '[' && !in_class) opened = out.size();
        else if (left[0] == ']' && in_class && out.size() > opened + 1 &&
                 !(out.size() == opened + 2 && out.back() == '^'))
          opened = std::string::npos;
        out += left[0];
      }
    }
    return out;
  }

  std::unique_ptr<pcre2_code, releaser> code_;
};

class pattern_splitter final : public splitter {
 public:
  pattern_splitter(std::span<const split_rule> rules, const std::string& file) {
    for (const split_rule& rule : rules) rules_.push_back({pattern(rule.pattern, file), rule.drops_rest});
  }

  void split(std::string_view text, function_ref<void(std::string_view)> sink) const override { cut(0, text, sink); }

 private:
  struct compiled {
    pattern match;
    bool drops_rest;
  };

  void cut(std::size_t level, std::string_view text, function_ref<void(std::string_view)> sink) const {
    if (text.empty()) return;
    if (level == rules_.size()) return sink(text);
    const auto piece = [&](std::size_t first, std::size_t last) {
      if (last > first) cut(level + 1, text.substr(first, last - first), sink);
    };
    const auto rest = [&](std::size_t first, std::size_t last) {
      if (!rules_[level].drops_rest) piece(first, last);
    };
    std::size_t done = 0;
    rules_[level].match.each(text, [&](std::size_t first, std::size_t last) {
      rest(done, first);
      piece(first, last);
      done = last;
    });
    rest(done, text.size());
  }

  std::vector<compiled> rules_;
};

// Attaches the splitter or the pipeline that the vocabulary's patterns or recipe need, if any.
inline vocabulary with_patterns(vocabulary v, const std::string& file) {
  if (v.pre == pre_tokenizer::patterns) v.cuts = std::make_shared<pattern_splitter>(v.patterns, file);
  if (!v.recipe) return v;
  auto recipe = std::make_shared<text_recipe>(*v.recipe);
  const auto compile = [&](text_pattern& p) {
    if (p.regex) p.compiled = std::make_shared<pattern>(p.text, file);
  };
  for (auto& step : recipe->normalizers) {
    if (auto* s = std::get_if<normalizing::replace>(&step)) compile(s->pattern);
    if (auto* s = std::get_if<normalizing::precompiled>(&step)) compile(s->graphemes);
  }
  for (auto& step : recipe->cuts)
    if (auto* s = std::get_if<cutting::at_pattern>(&step)) compile(s->pattern);
  for (auto& step : recipe->decoders)
    if (auto* s = std::get_if<decoding::replace>(&step)) compile(s->pattern);
  const auto pipeline = std::make_shared<recipe_pipeline>(v, recipe, file);
  v.strip_prefix = pipeline->strips_prefix();
  v.pipeline = pipeline;
  return v;
}

}  // namespace cke::io
CKE_COLD_END
