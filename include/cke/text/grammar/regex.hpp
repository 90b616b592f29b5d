// SPDX-License-Identifier: MIT
// regex.hpp: converts a JSON Schema pattern (ECMA 262) to GBNF for the JSON strings that it matches.
#pragma once

#include <charconv>
#include <optional>

#include "../../core/concat.hpp"
#include "../../core/error.hpp"
#include "gbnf_text.hpp"

CKE_COLD_BEGIN
namespace cke::text {

namespace detail {

class regex_reader {
 public:
  regex_reader(std::string_view pattern, const std::string& file, std::string_view subject)
      : text_(pattern), file_(file), subject_(subject) {}

  // Without ^ anything may precede the match, and without $ anything may follow it.
  std::string read() {
    const bool from_start = take('^');
    std::string whole = alternatives(0);
    if (at_ < text_.size() && !(text_[at_] == '$' && at_ + 1 == text_.size())) refuse();
    const std::string rest = gbnf::json_any_of({{0, 0x10FFFF}}) + "*";
    if (!from_start) whole = rest + ' ' + whole;
    if (at_ == text_.size()) whole += ' ' + rest;
    return whole;
  }

 private:
  std::string alternatives(u32 depth) {
    if (depth > 100) refuse();
    std::vector<std::string> all;
    do all.push_back(items(depth));
    while (take('|'));
    // In ^a|b$ each anchor binds to one alternative.
    if (all.size() > 1 && depth == 0 && (text_.starts_with('^') || text_.substr(at_).starts_with('$'))) refuse();
    return all.size() == 1 ? all[0] : gbnf::either(all);
  }
  std::string items(u32 depth) {
    std::string all;
    while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')' && text_[at_] != '$')
      all += (all.empty() ? "" : " ") + quantified(atom(depth));
    return all.empty() ? "\"\"" : all;
  }
  std::string atom(u32 depth) {
    const std::size_t begin = at_;
    if (take('(')) {
      if (take('?') && !take(':')) refuse(begin);
      const std::string inside = alternatives(depth + 1);
      if (!take(')')) refuse();
      return '(' + inside + ')';
    }
    if (take('[')) return gbnf::json_any_of(char_class());
    if (take('.')) return gbnf::json_any_of(sorted_ranges({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}, true));
    if (const auto set = escaped_class()) return gbnf::json_any_of(*set);
    if (std::string_view("^*+?{}]").find(text_[at_]) != std::string_view::npos) refuse();
    const u32 c = character();
    return gbnf::json_any_of({{c, c}});
  }
  std::string quantified(std::string one) {
    const std::size_t begin = at_;
    if (take('*') || take('+') || take('?')) {
      one += text_[begin];
    } else if (take('{')) {
      const auto number = [&] {
        u32 n{};
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
        if (error != std::errc{}) refuse(begin);
        at_ = static_cast<std::size_t>(end - text_.data());
        return std::to_string(n);
      };
      one += '{' + number();
      if (take(',')) one += ',' + (text_.substr(at_).starts_with('}') ? std::string() : number());
      if (!take('}')) refuse(begin);
      one += '}';
    } else {
      return one;
    }
    take('?');  // lazy quantifiers match the same strings
    return one;
  }

  std::vector<code_range> char_class() {
    const bool complement = take('^');
    std::vector<code_range> all;
    while (!take(']')) {
      if (const auto set = escaped_class()) {
        all.insert(all.end(), set->begin(), set->end());
        continue;
      }
      const u32 first = character();
      u32 last = first;
      if (text_.substr(at_).starts_with('-') && !text_.substr(at_).starts_with("-]")) ++at_, last = character();
      if (last < first) refuse();
      all.push_back({first, last});
    }
    return sorted_ranges(std::move(all), complement);
  }
  std::optional<std::vector<code_range>> escaped_class() {
    if (!text_.substr(at_).starts_with('\\') || at_ + 1 == text_.size()) return {};
    const char c = text_[at_ + 1];
    const auto lower = static_cast<char>(c | 0x20);
    std::vector<code_range> set;
    if (lower == 'd') set = {{'0', '9'}};
    else if (lower == 'w') set = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    else if (lower == 's')
      set = {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
             {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    else return {};
    at_ += 2;
    return sorted_ranges(std::move(set), c != lower);
  }
  u32 character() {
    if (at_ == text_.size()) refuse();
    if (text_[at_] != '\\') {
      const code_point c = code_point_at(text_, at_);
      if (c.value >= stray_byte) refuse();
      at_ += c.size;
      return c.value;
    }
    const std::size_t begin = at_;
    if (++at_ == text_.size()) refuse(begin);
    const char c = text_[at_++];
    constexpr std::string_view letters = "tnrfv", meant = "\t\n\r\f\v";
    if (const std::size_t i = letters.find(c); i != letters.npos) return static_cast<u8>(meant[i]);
    if (c == 'x' || c == 'u') {
      const std::size_t digits = c == 'x' ? 2 : 4;
      u32 code{};
      const char* from = text_.data() + at_;
      if (text_.size() - at_ < digits || std::from_chars(from, from + digits, code, 16).ptr != from + digits)
        refuse(begin);
      if (code >= 0xD800 && code <= 0xDFFF) refuse(begin);
      at_ += digits;
      return code;
    }
    if (static_cast<u8>(c) >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      refuse(begin);
    return static_cast<u8>(c);
  }

  bool take(char c) { return at_ < text_.size() && text_[at_] == c && ++at_; }
  [[noreturn]] void refuse() const { refuse(at_); }
  [[noreturn]] CKE_OUT_OF_LINE void refuse(std::size_t at) const {
    throw Error(errc::unsupported, file_, subject_,
                "a pattern of characters, classes, groups, alternatives and counts, with ^ and $ around the whole",
                at >= text_.size() ? concat({"'", text_, "', which ends too early"})
                                   : concat({"'", text_, "' with '", text_.substr(at, 8), "' in it"}));
  }

  const std::string_view text_;
  const std::string& file_;
  const std::string_view subject_;
  std::size_t at_ = 0;
};

}  // namespace detail

// Returns GBNF for the characters between the quotes of a JSON string. Throws Error{unsupported} naming `file` and
// `subject` for an invalid pattern, lookaround or back references.
inline std::string regex_gbnf(std::string_view pattern, const std::string& file, std::string_view subject) {
  return detail::regex_reader(pattern, file, subject).read();
}

}  // namespace cke::text
CKE_COLD_END
