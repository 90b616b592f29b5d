// SPDX-License-Identifier: MIT
// json_scanner.hpp: scans a JSON object or array byte by byte for its end, and validates it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "../../core/types.hpp"

namespace cke::text {

// Accepts RFC 8259 with an object or array at the top, nested at most max_depth deep.
class json_scanner {
 public:
  enum class state : u8 { more, done, bad };
  static constexpr std::size_t max_depth = 64;

  state feed(char c) {
    if (state_ == state::more && !accept(c)) state_ = state::bad;
    return state_;
  }
  state now() const { return state_; }

 private:
  enum class expects : u8 { value, first_item, first_key, key, colon, comma, string, escape, hex, literal, number };

  bool accept(char c) {
    switch (next_) {
      case expects::string: return string(c);
      case expects::escape: return escape(c);
      case expects::hex: return hex(c);
      case expects::literal: return literal(c);
      case expects::number:
        if (number(c)) return true;
        if (!number_complete()) return false;
        next_ = expects::comma;  // c comes after the number
        break;
      default: break;
    }
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return true;
    switch (next_) {
      case expects::first_item:
        if (c == ']') return close('[');
        [[fallthrough]];
      case expects::value: return value(c);
      case expects::first_key:
        if (c == '}') return close('{');
        [[fallthrough]];
      case expects::key: in_key_ = true; return c == '"' && go(expects::string);
      case expects::colon: return c == ':' && go(expects::value);
      default: return comma(c);
    }
  }

  bool go(expects next) {
    next_ = next;
    return true;
  }
  bool value(char c) {
    switch (c) {
      case '{':
      case '[':
        if (open_.size() == max_depth) return false;
        open_ += c;
        return go(c == '{' ? expects::first_key : expects::first_item);
      case '"': return !open_.empty() && go(expects::string);
      case 't': return begin_literal("rue");
      case 'f': return begin_literal("alse");
      case 'n': return begin_literal("ull");
      default: return begin_number(c);
    }
  }
  bool comma(char c) {
    if (c == ',') return go(open_.back() == '{' ? expects::key : expects::value);
    return (c == '}' && close('{')) || (c == ']' && close('['));
  }
  bool close(char opened) {
    if (open_.back() != opened) return false;
    open_.pop_back();
    if (open_.empty()) state_ = state::done;
    return go(expects::comma);
  }

  bool string(char c) {
    if (c == '"') return go(std::exchange(in_key_, false) ? expects::colon : expects::comma);
    if (c == '\\') return go(expects::escape);
    return static_cast<unsigned char>(c) >= 0x20;
  }
  bool escape(char c) {
    if (c == 'u') return left_ = 4, go(expects::hex);
    return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos && go(expects::string);
  }
  bool hex(char c) {
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (digit && --left_ == 0) next_ = expects::string;
    return digit;
  }

  bool begin_literal(std::string_view rest) {
    literal_ = rest;
    return !open_.empty() && go(expects::literal);
  }
  bool literal(char c) {
    if (c != literal_.front()) return false;
    literal_.remove_prefix(1);
    return literal_.empty() ? go(expects::comma) : true;
  }

  // [-] (0 | 1-9 digits) [. digits] [e [+-] digits]
  enum class digits : u8 { minus, zero, whole, point, fraction, e, sign, exponent };
  bool begin_number(char c) {
    number_ = c == '-' ? digits::minus : c == '0' ? digits::zero : digits::whole;
    return !open_.empty() && (c == '-' || (c >= '0' && c <= '9')) && go(expects::number);
  }
  bool number(char c) {
    const bool digit = c >= '0' && c <= '9', e = c == 'e' || c == 'E';
    const auto to = [&](digits next) { return number_ = next, true; };
    switch (number_) {
      case digits::minus: return digit && to(c == '0' ? digits::zero : digits::whole);
      case digits::zero: return c == '.' ? to(digits::point) : e && to(digits::e);
      case digits::whole: return digit || (c == '.' ? to(digits::point) : e && to(digits::e));
      case digits::point: return digit && to(digits::fraction);
      case digits::fraction: return digit || (e && to(digits::e));
      case digits::e: return c == '+' || c == '-' ? to(digits::sign) : digit && to(digits::exponent);
      case digits::sign: return digit && to(digits::exponent);
      case digits::exponent: return digit;
    }
    return false;
  }
  bool number_complete() const {
    return number_ == digits::zero || number_ == digits::whole || number_ == digits::fraction ||
        number_ == digits::exponent;
  }

  state state_ = state::more;
  expects next_ = expects::value;
  bool in_key_ = false;
  digits number_ = digits::minus;
  u8 left_ = 0;               // hexadecimal digits to come
  std::string_view literal_;  // the rest of it
  std::string open_;          // the enclosing brackets
};

}  // namespace cke::text
