// SPDX-License-Identifier: MIT
// gbnf.hpp: parses GBNF, llama.cpp's notation for grammars.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "rules.hpp"
#include "utf8_ranges.hpp"

CKE_COLD_BEGIN
namespace cke::text {

namespace detail {

class gbnf_reader {
 public:
  gbnf_reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  grammar read() {
    for (skip(true); at_ < text_.size(); skip(true)) definition();
    const auto root = ids_.find("root");
    if (root == ids_.end()) throw Error(errc::malformed, file_, {}, "a rule named root", "none");
    for (const auto& [name, id] : ids_)
      if (!defined_[id]) throw Error(errc::malformed, file_, concat({"rule '", name, "'"}), "a definition", "none");
    out_.root = root->second;
    drop_dead_ends(out_, file_);
    refuse_left_recursion(out_, file_);
    return std::move(out_);
  }

 private:
  using sequence = std::vector<grammar_symbol>;
  static constexpr u32 max_depth = 256, many = ~u32{0};

  // ---- rules ----------------------------------------------------------------------------------------
  void definition() {
    const std::string name(word());
    if (name.empty()) fail("the name of a rule");
    const u32 id = rule_named(name);
    if (defined_[id]) fail("a rule that is not defined yet", concat({"'", name, "' again"}));
    skip(false);
    if (!text_.substr(at_).starts_with("::=")) fail("::=");
    at_ += 3;
    inside_ = name;
    skip(true);
    for (const sequence& s : alternatives(0)) add_production(id, s);
    defined_[id] = true;
    if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') fail("the end of the rule");
  }
  u32 rule_named(const std::string& name) {
    const auto [entry, fresh] = ids_.try_emplace(name, static_cast<u32>(out_.names.size()));
    if (fresh) add_rule(name, false);
    return entry->second;
  }
  u32 add_rule(const std::string& name, bool defined) {
    out_.names.push_back(name), out_.productions.emplace_back(), defined_.push_back(defined);
    return static_cast<u32>(out_.names.size() - 1);
  }
  void add_production(u32 rule, const sequence& s) {
    if (out_.symbols.size() + s.size() + 1 > grammar::max_symbols) fail_for_size();
    out_.productions[rule].push_back(static_cast<u32>(out_.symbols.size()));
    out_.symbols.insert(out_.symbols.end(), s.begin(), s.end());
    out_.symbols.emplace_back();
  }
  // Adds an unnamed rule, as a single symbol.
  grammar_symbol made(const std::vector<sequence>& productions) {
    const u32 rule = add_rule(inside_, true);
    for (const sequence& s : productions) add_production(rule, s);
    return {grammar_symbol::rule, 0, 0, rule};
  }
  grammar_symbol as_one(const sequence& s) { return s.size() == 1 ? s[0] : made({s}); }

  // ---- right-hand sides -----------------------------------------------------------------------------
  std::vector<sequence> alternatives(u32 depth) {
    if (depth > max_depth) fail(concat({"at most ", max_depth, " groups in each other"}), "more");
    std::vector<sequence> all;
    do {
      skip(true);
      all.push_back(items(depth));
    } while (take_bar(depth));
    return all;
  }
  // A rule continues on the next line if that starts with a bar.
  bool take_bar(u32 depth) {
    const std::size_t back = at_;
    skip(true);
    if (take('|')) return true;
    if (depth == 0) at_ = back;
    return false;
  }
  sequence items(u32 depth) {
    sequence all;
    for (;;) {
      skip(depth > 0);
      std::optional<sequence> one = item(depth);
      if (!one) return all;
      for (skip(depth > 0); at_ < text_.size(); skip(depth > 0))
        if (const auto times = repetition(depth)) one = repeated(*one, *times);
        else break;
      // All of them will be in a production; what is open in groups around this one is counted too.
      if ((read_ += one->size()) > grammar::max_symbols) fail_for_size();
      all.insert(all.end(), one->begin(), one->end());
    }
  }
  std::optional<sequence> item(u32 depth) {
    if (take('"')) return literal();
    if (take('[')) return sequence{char_class()};
    if (take('.')) return sequence{any_of({{0, 0x10FFFF}})};
    if (take('(')) {
      const grammar_symbol group = made(alternatives(depth + 1));
      skip(true);
      if (!take(')')) fail("')'");
      return sequence{group};
    }
    if (const std::string_view name = word(); !name.empty())
      return sequence{{grammar_symbol::rule, 0, 0, rule_named(std::string(name))}};
    return {};
  }

  // ---- repetitions ----------------------------------------------------------------------------------
  struct bounds {
    u32 least, most;
  };
  std::optional<bounds> repetition(u32 depth) {
    if (take('*')) return bounds{0, many};
    if (take('+')) return bounds{1, many};
    if (take('?')) return bounds{0, 1};
    if (!take('{')) return {};
    const auto number = [&] {
      const u32 n = count();
      skip(depth > 0);
      return n;
    };
    skip(depth > 0);
    const u32 least = number();
    u32 most = least;
    if (take(',')) {
      skip(depth > 0);
      most = text_.substr(at_).starts_with('}') ? many : number();
    }
    if (!take('}')) fail("'}'");
    if (most < least) fail(concat({"at least ", least, " repetitions"}), concat({"at most ", most}));
    return bounds{least, most};
  }
  u32 count() {
    u64 n = 0;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      n = n * 10 + static_cast<u64>(text_[at_] - '0');
      if (n > grammar::max_symbols) fail(concat({"a number up to ", u64{grammar::max_symbols}}), "more");
    }
    if (at_ == begin) fail("a number");
    return static_cast<u32>(n);
  }
  sequence repeated(const sequence& of, bounds times) {
    if (of.empty() || times.most == 0) return {};
    if (of.size() == 1 && times.least == 1 && times.most == 1) return of;
    const grammar_symbol one = as_one(of);
    sequence all(times.least, one);
    if (times.most == many) {  // more ::= one more |
      const u32 more = add_rule(inside_, true);
      const grammar_symbol again{grammar_symbol::rule, 0, 0, more};
      add_production(more, {one, again}), add_production(more, {});
      all.push_back(again);
      return all;
    }
    std::optional<grammar_symbol> rest;  // rest, at most this often: rest ::= one rest |
    for (u32 i = times.least; i < times.most; ++i) rest = rest ? made({{one, *rest}, {}}) : made({{one}, {}});
    if (rest) all.push_back(*rest);
    return all;
  }

  // ---- characters -----------------------------------------------------------------------------------
  sequence literal() {
    sequence all;
    while (!take('"')) {
      std::string bytes;
      append_utf8(bytes, character());
      for (const char c : bytes) all.push_back({grammar_symbol::bytes, static_cast<u8>(c), static_cast<u8>(c)});
    }
    return all;
  }
  grammar_symbol char_class() {
    const bool complement = take('^');
    std::vector<code_range> ranges;
    while (!take(']')) {
      const u32 first = character();
      u32 last = first;
      if (text_.substr(at_).starts_with('-') && !text_.substr(at_).starts_with("-]")) ++at_, last = character();
      if (last < first) fail("a range from low to high", "one from high to low");
      ranges.push_back({first, last});
    }
    return any_of(sorted_ranges(std::move(ranges), complement));
  }
  grammar_symbol any_of(const std::vector<code_range>& ranges) {
    std::vector<sequence> spelled;
    for (const auto& bytes : utf8_ranges(ranges)) {
      sequence& s = spelled.emplace_back();
      for (const auto [first, last] : bytes) s.push_back({grammar_symbol::bytes, first, last});
    }
    return spelled.size() == 1 ? as_one(spelled[0]) : made(spelled);
  }
  u32 character() {
    const std::string_view rest = text_.substr(at_);
    if (rest.empty() || rest[0] == '\n') fail("the end of the quoted characters");
    if (rest[0] == '\\') return escaped();
    const code_point c = code_point_at(rest, 0);
    if (c.value >= stray_byte) fail("UTF-8");
    at_ += c.size;
    return c.value;
  }
  u32 escaped() {
    constexpr std::string_view plain = "\"\\[]^-", letters = "tnr", meant = "\t\n\r";
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    const u32 digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      const std::size_t letter = letters.find(c);
      if (c == '\0' || (letter == letters.npos && plain.find(c) == plain.npos))
        fail("one of \\\" \\\\ \\[ \\] \\^ \\- \\t \\n \\r \\xNN \\uNNNN \\UNNNNNNNN");
      at_ += 2;
      return static_cast<u8>(letter == letters.npos ? c : meant[letter]);
    }
    u32 code = 0;
    for (u32 i = 0; i < digits; ++i) {
      const char d = at_ + 2 + i < text_.size() ? text_[at_ + 2 + i] : '\0';
      const int value = d >= '0' && d <= '9' ? d - '0'
          : d >= 'a' && d <= 'f'             ? d - 'a' + 10
          : d >= 'A' && d <= 'F'             ? d - 'A' + 10
                                             : -1;
      if (value < 0) fail(concat({digits, " hexadecimal digits"}));
      code = code << 4 | static_cast<u32>(value);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) fail("a character of Unicode", "a number that is none");
    at_ += 2 + digits;
    return code;
  }

  // ---- the text -------------------------------------------------------------------------------------
  bool take(char c) { return at_ < text_.size() && text_[at_] == c && ++at_; }
  // Skips white space and comments; line ends only where a rule may continue on the next line.
  void skip(bool lines) {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) return;
      const char c = text_[at_];
      if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r'))) return;
    }
  }
  std::string_view word() {
    const auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    if (at_ - begin > 128) fail("a name of at most 128 characters", "a longer one");
    return text_.substr(begin, at_ - begin);
  }
  [[noreturn]] CKE_OUT_OF_LINE void fail(std::string_view expected, std::string_view found = {}) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n');
    const std::string_view here = text_.substr(std::min(at_, text_.size()), 12);
    throw Error(errc::malformed, file_, concat({"line ", i64{line}}), expected,
                !found.empty()     ? std::string(found)
                    : here.empty() ? "the end"
                                   : concat({"'", here.substr(0, here.find('\n')), "'"}));
  }

  [[noreturn]] void fail_for_size() const {
    fail(concat({"at most ", u64{grammar::max_symbols}, " symbols, repetitions written out"}), "more");
  }

  const std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, read_ = 0;  // read_: symbols of right-hand sides so far
  grammar out_;
  std::map<std::string, u32, std::less<>> ids_;
  std::vector<bool> defined_;  // by rule
  std::string inside_;
};

}  // namespace detail

// The rule `root` derives the whole text. Throws Error{malformed} naming `file` and line, {unsupported} for left
// recursion.
inline grammar parse_gbnf(std::string_view text, const std::string& file) {
  return detail::gbnf_reader(text, file).read();
}

}  // namespace cke::text
CKE_COLD_END
