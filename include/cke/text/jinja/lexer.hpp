// SPDX-License-Identifier: MIT
// lexer.hpp: splits a template's source into tokens, with jinja2's trim_blocks and lstrip_blocks.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "token.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

class lexer {
 public:
  explicit lexer(std::string_view source) {
    // Normalises line ends to \n and drops one at the very end.
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] != '\r') source_ += source[i];
      else if (i + 1 == source.size() || source[i + 1] != '\n') source_ += '\n';
    }
    if (source_.ends_with('\n')) source_.pop_back();
  }

  // Throws fault.
  std::vector<token> read() {
    while (at_ < source_.size()) read_data();
    add(token_type::end, {});
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::initializer_list<text_part> what) const { raise(what, errc::malformed, line_); }
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool starts(std::string_view s) const { return rest().starts_with(s); }
  void move(std::size_t count) {
    for (; count > 0 && at_ < source_.size(); --count) line_ += source_[at_++] == '\n';
  }
  void skip_space() {
    while (at_ < source_.size()) {
      const code_point c = code_point_at(source_, at_);
      if (!is_python_space(c.value)) return;
      move(c.size);
    }
  }
  void add(token_type type, std::string text) { tokens_.push_back({type, std::move(text), line_}); }

  static std::string_view without_trailing_space(std::string_view s) {
    while (!s.empty()) {
      const code_point c = code_point_before(s, s.size());
      if (!is_python_space(c.value)) break;
      s.remove_suffix(c.size);
    }
    return s;
  }

  // Reads the text up to the next tag, and that tag.
  void read_data() {
    std::size_t tag = at_;
    while ((tag = source_.find('{', tag)) != std::string::npos) {
      const char next = tag + 1 < source_.size() ? source_[tag + 1] : ' ';
      if (next == '{' || next == '%' || next == '#') break;
      ++tag;
    }
    if (tag == std::string::npos) {
      add(token_type::data, std::string(rest()));
      return move(rest().size());
    }
    const bool line_begins = at_ == 0 || source_[at_ - 1] == '\n';
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    add_data(rest().substr(0, tag - at_), sign, kind != '{', line_begins);
    move(tag - at_ + 2);
    if (sign == '-' || sign == '+') move(1);
    if (kind == '#') return skip_comment();
    if (kind == '%' && read_raw()) return;
    const bool block = kind == '%';
    add(block ? token_type::block_begin : token_type::variable_begin, {});
    read_code(block);
  }

  // Adds the text before a tag; `sign` is the tag's first character.
  void add_data(std::string_view data, char sign, bool block, bool line_begins) {
    if (sign == '-') {
      data = without_trailing_space(data);
    } else if (sign != '+' && block) {
      const std::size_t line = data.rfind('\n') + 1;  // 0 if there is no line end
      if ((line > 0 || line_begins) && without_trailing_space(data.substr(line)).empty()) data = data.substr(0, line);
    }
    if (!data.empty()) add(token_type::data, std::string(data));
  }

  // Reads the end of a tag: `close`, with an optional sign before it. After a block's end it skips one line end.
  bool read_end(std::string_view close, bool block) {
    if (starts("-") && rest().substr(1).starts_with(close)) {
      move(1 + close.size());
      skip_space();
      return true;
    }
    if (block && starts("+") && rest().substr(1).starts_with(close)) return move(1 + close.size()), true;
    if (!starts(close)) return false;
    move(close.size());
    if (block && starts("\n")) move(1);
    return true;
  }

  void skip_comment() {
    const u32 begin = line_;
    while (at_ < source_.size()) {
      if (read_end("#}", true)) return;
      move(1);
    }
    raise({"the comment does not end"}, errc::malformed, begin);
  }

  // Reads {% raw %} ... {% endraw %}; the first "{%" has been read.
  bool read_raw() {
    const std::size_t begin = at_;
    const u32 line = line_;
    skip_space();
    if (starts("raw")) {
      move(3);
      skip_space();
      const bool strips = starts("-%}");
      if (strips || starts("%}")) {
        move(strips ? 3 : 2);
        if (strips) skip_space();
        read_raw_body(line);
        return true;
      }
    }
    at_ = begin, line_ = line;
    return false;
  }
  void read_raw_body(u32 first_line) {
    const std::size_t begin = at_;
    const bool line_begins = begin == 0 || source_[begin - 1] == '\n';
    for (; at_ < source_.size(); move(1)) {
      if (!starts("{%")) continue;
      const std::size_t tag = at_;
      const u32 line = line_;
      move(2);
      const char sign = starts("-") || starts("+") ? source_[at_] : ' ';
      if (sign != ' ') move(1);
      skip_space();
      if (starts("endraw")) {
        move(6);
        skip_space();
        if (read_end("%}", true))
          return add_data(std::string_view(source_).substr(begin, tag - begin), sign, true, line_begins);
      }
      at_ = tag, line_ = line;
    }
    raise({"the raw block does not end"}, errc::malformed, first_line);
  }

  // Reads the inside of {{ }} or {% %}, including its end.
  void read_code(bool block) {
    std::string open;  // the closing brackets expected
    for (;;) {
      skip_space();
      if (open.empty() && read_end(block ? "%}" : "}}", block))
        return add(block ? token_type::block_end : token_type::variable_end, {});
      if (at_ == source_.size()) fail({"the tag does not end"});
      const char c = source_[at_];
      if (c >= '0' && c <= '9') read_number();
      else if (c == '\'' || c == '"') read_string(c);
      else if (is_name_part()) read_name();
      else read_operator(open);
    }
  }

  bool is_name_part() const {
    return at_ < source_.size() && (source_[at_] == '_' || is_word(class_of(code_point_at(source_, at_).value)));
  }
  void read_name() {
    const std::size_t begin = at_;
    while (is_name_part()) move(code_point_at(source_, at_).size);
    add(token_type::name, source_.substr(begin, at_ - begin));
  }

  // The end of the digits that start at `at`, with single underscores between them.
  std::size_t digits(std::size_t at, int base = 10) const {
    const auto is_digit = [&](std::size_t i) {
      if (i >= source_.size()) return false;
      const char c = source_[i], low = static_cast<char>(c | 32);
      return c >= '0' && c <= '9' ? c - '0' < base : base == 16 && low >= 'a' && low <= 'f';
    };
    while (is_digit(at) || (at < source_.size() && source_[at] == '_' && is_digit(at + 1))) ++at;
    return at;
  }
  void read_number() {
    const auto is = [&](std::size_t i, std::string_view any) {
      return i < source_.size() && any.find(source_[i]) != std::string_view::npos;
    };
    const int base = !is(at_, "0") ? 10 : is(at_ + 1, "xX") ? 16 : is(at_ + 1, "oO") ? 8 : is(at_ + 1, "bB") ? 2 : 10;
    std::size_t end = digits(base == 10 ? at_ : at_ + 2, base);
    bool real = false;
    if (base == 10 && !is(at_ - 1, ".")) {
      if (is(end, ".") && digits(end + 1) > end + 1 && !is(end + 1, "_")) real = true, end = digits(end + 1);
      const std::size_t power = is(end + 1, "+-") ? end + 2 : end + 1;
      if (is(end, "eE") && digits(power) > power) real = true, end = digits(power);
    }
    std::string spelled;
    for (std::size_t i = base == 10 ? at_ : at_ + 2; i < end; ++i)
      if (source_[i] != '_') spelled += source_[i];
    token t{real ? token_type::real : token_type::integer, {}, line_};
    const char *first = spelled.data(), *last = first + spelled.size();
    const auto result = real ? std::from_chars(first, last, t.real) : std::from_chars(first, last, t.integer, base);
    if (result.ec != std::errc{} || result.ptr != last) fail({"a number of 64 bits expected, found ", spelled});
    const bool zeros = spelled.find_first_not_of('0') == std::string::npos;
    if (!real && base == 10 && spelled[0] == '0' && !zeros)
      fail({"a number without leading zeros expected, found ", spelled});
    tokens_.push_back(std::move(t));
    move(end - at_);
  }

  void read_string(char quote) {
    token t{token_type::string, {}, line_};
    move(1);
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] == '\\') {
        move(1);
        read_escape(t.text);
      } else {
        t.text += source_[at_];
        move(1);
      }
    }
    if (at_ == source_.size()) fail({"the string does not end"});
    move(1);
    tokens_.push_back(std::move(t));
  }
  // Reads an escape sequence after its backslash.
  void read_escape(std::string& out) {
    if (at_ == source_.size()) fail({"the string does not end"});
    static constexpr std::string_view names = "\\'\"abfnrtv", meanings = "\\'\"\a\b\f\n\r\t\v";
    const char c = source_[at_];
    if (const std::size_t i = names.find(c); i != names.npos) return move(1), void(out += meanings[i]);
    if (c == '\n') return move(1);
    const std::size_t hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const bool octal = c >= '0' && c <= '7';
    if (!hex && !octal) {
      if (c == 'N') fail({"a character by its number expected, found \\N"});
      return void(out += '\\');
    }
    std::size_t count = 0;
    const std::string_view digits = rest().substr(hex ? 1 : 0, hex ? hex : 3);
    if (octal)
      while (count < digits.size() && digits[count] >= '0' && digits[count] <= '7') ++count;
    u32 code = 0;
    const auto end = digits.data() + (hex ? digits.size() : count);
    const auto result = std::from_chars(digits.data(), end, code, hex ? 16 : 8);
    if (result.ptr != end || digits.size() < hex || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail({"the number of a character expected behind \\", source_.substr(at_, 1)});
    append_utf8(out, code);
    move(hex ? 1 + hex : count);
  }

  void read_operator(std::string& open) {
    static constexpr std::string_view known[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                                 "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    const auto found = std::ranges::find_if(known, [&](auto op) { return starts(op); });
    if (found == std::end(known)) fail({"an expression expected, found ", source_.substr(at_, 1)});
    const char c = (*found)[0];
    if (c == '(') open += ')';
    if (c == '[') open += ']';
    if (c == '{') open += '}';
    if (c == ')' || c == ']' || c == '}') {
      if (!open.ends_with(c)) fail({"unexpected ", *found});
      open.pop_back();
    }
    add(token_type::op, std::string(*found));
    move(found->size());
  }

  std::string source_;
  std::size_t at_ = 0;
  u32 line_ = 1;
  std::vector<token> tokens_;
};

}  // namespace cke::text::jinja
