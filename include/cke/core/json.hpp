// SPDX-License-Identifier: MIT
// json.hpp: a view of well-formed JSON text that a constant expression can walk; it builds no tree.
#pragma once

#include "types.hpp"

CKE_COLD_BEGIN
namespace cke {

// Text that may be malformed goes through a real parser first (io/hf_dir.hpp). On any text this view stays in bounds.
struct json {
  std::string_view s;  // starts at a value; empty if absent

  static constexpr std::size_t space(std::string_view s, std::size_t i) {
    while (i < s.size() && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r')) ++i;
    return i;
  }
  // gcc 12 rejects string_view::find in constant expressions under -fsanitize=undefined.
  static constexpr std::size_t seek(std::string_view s, char c, std::size_t i = 0) {
    while (i < s.size() && s[i] != c) ++i;
    return i;
  }
  // Index of the closing quote of the string whose opening quote is before i.
  static constexpr std::size_t close(std::string_view s, std::size_t i) {
    for (; i < s.size() && s[i] != '"'; ++i) i += s[i] == '\\';
    return i < s.size() ? i : s.size();
  }
  // Index one past the value that starts at i.
  CKE_OUT_OF_LINE static constexpr std::size_t skip(std::string_view s, std::size_t i) {
    int depth = 0;
    for (; i < s.size(); ++i) {
      if (s[i] == '"') i = close(s, i + 1);
      else if (s[i] == '{' || s[i] == '[') ++depth;
      else if ((s[i] == '}' || s[i] == ']') && depth-- == 0) return i;
      else if (s[i] == ',' && depth == 0) return i;
    }
    return s.size();
  }
  constexpr bool present() const { return !s.empty() && s[0] != 'n'; }  // null counts as absent
  constexpr bool is_text() const { return !s.empty() && s[0] == '"'; }
  constexpr bool is_object() const { return !s.empty() && s[0] == '{'; }
  constexpr bool is_array() const { return !s.empty() && s[0] == '['; }
  constexpr bool is_bool() const { return !s.empty() && (s[0] == 't' || s[0] == 'f'); }
  constexpr bool is_number() const { return !s.empty() && (s[0] == '-' || (s[0] >= '0' && s[0] <= '9')); }

  // The next member or element of this object or array, from position i on, which begins at 1. i moves past it.
  CKE_OUT_OF_LINE constexpr bool next(std::size_t& i, std::string_view& key, json& value) const {
    i = space(s, i);
    if (i >= s.size() || s[i] == '}' || s[i] == ']') return false;
    if (is_object()) {
      const std::size_t end = close(s, i + 1);
      if (end <= i) return false;
      key = s.substr(i + 1, end - i - 1);
      i = space(s, seek(s, ':', end) + 1);
      if (i >= s.size()) return false;
    }
    const std::size_t end = skip(s, i);
    std::size_t last = end;
    while (last > i && (s[last - 1] == ' ' || s[last - 1] == '\n' || s[last - 1] == '\r' || s[last - 1] == '\t'))
      --last;
    value = json{s.substr(i, last - i)};
    i = end < s.size() && s[end] == ',' ? end + 1 : s.size();
    return true;
  }
  // f(key, value) for members, f("", value) for elements, until f returns true.
  template <class F> constexpr json find(F f) const {
    if (!is_object() && !is_array()) return {};
    std::string_view key;
    json value;
    for (std::size_t i = 1; next(i, key, value);)
      if (f(key, value)) return value;
    return {};
  }
  CKE_OUT_OF_LINE constexpr json operator[](std::string_view k) const {
    return find([&](std::string_view key, json) { return key == k; });
  }
  constexpr u32 size() const {
    u32 n = 0;
    find([&](std::string_view, json) { return ++n, false; });
    return n;
  }
  // Element n of an array; absent if n is past its end.
  constexpr json element(u32 n) const {
    return is_array() ? find([&](std::string_view, json) { return n-- == 0; }) : json{};
  }
  constexpr std::string_view text() const { return is_text() ? s.substr(1, close(s, 1) - 1) : std::string_view{}; }
  constexpr bool truth() const { return !s.empty() && s[0] == 't'; }

  // Exact for up to 15 digits and powers of ten up to 22: every number in a config.
  constexpr double number() const {
    double m = 0;
    int power = 0, digits = 0;
    bool fraction = false;
    std::size_t i = !s.empty() && s[0] == '-' ? 1 : 0;
    for (; i < s.size(); ++i) {
      if (s[i] == '.') {
        fraction = true;
        continue;
      }
      if (s[i] < '0' || s[i] > '9') break;
      if (digits < 18) m = m * 10 + (s[i] - '0'), digits += m > 0, power -= fraction;
      else power += !fraction;
    }
    if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
      const bool down = i + 1 < s.size() && s[i + 1] == '-';
      int e = 0;
      for (++i; i < s.size(); ++i)
        if (s[i] >= '0' && s[i] <= '9' && e < 1000) e = e * 10 + (s[i] - '0');
      power += down ? -e : e;
    }
    if (power > 400 || power < -400) return power > 0 && m > 0 ? 1e300 : 0;
    double ten = 1;
    for (int k = 0; k < (power < 0 ? -power : power) && ten < 1e300; ++k) ten *= 10;
    m = power < 0 ? m / ten : m > 1e300 / ten ? 1e300 : m * ten;
    return !s.empty() && s[0] == '-' ? -m : m;
  }
};

}  // namespace cke
CKE_COLD_END
