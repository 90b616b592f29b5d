// SPDX-License-Identifier: MIT
// json_writer.hpp: writes JSON text from left to right.
#pragma once

#include <charconv>
#include <string>

#include "types.hpp"

namespace cke {

// It inserts commas and quotes; inside an array the key is empty. Equal calls give equal bytes.
class json_writer {
 public:
  std::string text;  // what has been written

  template <class F> void object(std::string_view key, F f) { nest(key, '{', '}', f); }
  template <class F> void array(std::string_view key, F f) { nest(key, '[', ']', f); }
  void put(std::string_view key, std::string_view value) { before(key), quote(value); }
  void put(std::string_view key, const char* value) { put(key, std::string_view(value)); }
  void put_json(std::string_view key, std::string_view value) { before(key), text += value; }  // already JSON text
  template <class T>
    requires std::is_arithmetic_v<T>
  void put(std::string_view key, T value) {
    before(key);
    if constexpr (std::is_same_v<T, bool>) text += value ? "true" : "false";
    else number(value);
  }

 private:
  template <class F> void nest(std::string_view key, char open, char close, F& f) {
    before(key);
    text += open;
    f();
    text += close;
  }
  void before(std::string_view key) {
    if (!text.empty() && text.back() != '{' && text.back() != '[') text += ',';
    if (!key.empty()) quote(key), text += ':';
  }
  template <class T> void number(T value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text.append(digits, end);
  }
  void quote(std::string_view s) {
    text += '"';
    for (const char c : s) {
      const auto u = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') text += '\\', text += c;
      else if (u < 32) text += "\\u00", text += "01"[u >> 4], text += "0123456789abcdef"[u & 15];
      else text += c;
    }
    text += '"';
  }
};

}  // namespace cke
