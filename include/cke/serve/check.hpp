// SPDX-License-Identifier: MIT
// check.hpp: checks a request against its table of fields: every type and every range.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "api_error.hpp"
#include "field.hpp"

namespace cke::serve {

namespace detail {

inline std::string type_of(const json& v) {
  if (v.is_number_integer()) return "an integer";
  if (v.is_number()) return "a number";
  if (v.is_boolean()) return "a boolean";
  if (v.is_string()) return "a string";
  if (v.is_array()) return "an array";
  return v.is_object() ? "an object" : "null";
}
// JSON Schema counts 1.0 as an integer; beyond 2^53 a double no longer identifies one.
inline bool is_integer(const json& v) {
  if (!v.is_number_float()) return v.is_number_integer();
  const double x = v.get<double>();
  return std::abs(x) <= 9007199254740992.0 && x == std::trunc(x);
}
inline bool is_token_id(const json& v) {
  return is_integer(v) && v.get<double>() >= 0 && v.get<double>() <= 4294967295.0;
}
inline std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", x);
  return text;
}
inline std::string words_text(std::span<const std::string_view> words) {
  std::string all;
  for (const std::string_view w : words) all += (all.empty() ? "'" : ", '") + std::string(w) + "'";
  return all;
}

class checker {
 public:
  // Checks an object's fields. `path`: its place in the body, "" or "messages[0]".
  void object(const json& o, std::span<const field> table, const std::string& path) const {
    for (const auto& [key, value] : o.items()) {
      const field* f = find(table, key);
      if (!f) throw bad_request("unknown field " + quote(key), join(path, quote(key)), "unknown_parameter");
      if (!value.is_null()) one(value, *f, join(path, key));
    }
    for (const field& f : table)
      if (f.required && (!o.contains(f.name) || o[f.name].is_null()))
        throw bad_request("the field '" + std::string(f.name) + "' is missing", join(path, f.name),
                          "missing_required_parameter");
  }

 private:
  static const field* find(std::span<const field> table, std::string_view name) {
    for (const field& f : table)
      if (f.name == name) return &f;
    return nullptr;
  }
  static std::string join(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : path + '.' + std::string(name);
  }
  [[noreturn]] static void wrong_type(const json& v, const char* wanted, const std::string& path) {
    throw bad_request(path + ": expected " + wanted + ", found " + type_of(v), path, "invalid_type");
  }
  [[noreturn]] static void wrong_value(const std::string& wanted, const std::string& found, const std::string& path) {
    throw bad_request(path + ": expected " + wanted + ", found " + found, path, "invalid_value");
  }
  static void need(bool right, const json& v, const char* wanted, const std::string& path) {
    if (!right) wrong_type(v, wanted, path);
  }
  static void count(std::size_t n, const field& f, const char* of, const std::string& path) {
    const auto x = static_cast<double>(n);
    if (x < f.least || x > f.most)
      wrong_value(number_text(f.least) + " to " + number_text(f.most) + of, std::to_string(n), path);
  }
  static void range(const json& v, const field& f, const std::string& path) {
    const double x = v.get<double>();
    if (!(x >= f.least && x <= f.most))
      wrong_value("a value from " + number_text(f.least) + " to " + number_text(f.most), number_text(x), path);
  }
  static void ids(const json& v, const std::string& path) {
    for (const json& id : v)
      if (!is_token_id(id)) wrong_value("token ids", quote(id.dump(-1, ' ', true)), path);
  }
  void list(const json& v, const field& f, const std::string& path) const {
    std::size_t i = 0;
    for (const json& item : v) {
      const std::string at = path + '[' + std::to_string(i++) + ']';
      need(item.is_object(), item, "an object", at);
      object(item, f.fields, at);
    }
  }

  void one(const json& v, const field& f, const std::string& path) const {
    if (!f.neutral.empty()) return neutral(v, f, path);
    switch (f.is) {
      case kind::boolean: return need(v.is_boolean(), v, "a boolean", path);
      case kind::integer: return need(is_integer(v), v, "an integer", path), range(v, f, path);
      case kind::number: return need(v.is_number(), v, "a number", path), range(v, f, path);
      case kind::text: return text(v, f, path);
      case kind::word:
        if (v.is_object() && !f.fields.empty()) return object(v, f.fields, path);
        return word(v, f, path);
      case kind::texts: return texts(v, f, path);
      case kind::object: return need(v.is_object(), v, "an object", path), object(v, f.fields, path);
      case kind::list:
        return need(v.is_array(), v, "an array", path), count(v.size(), f, " items", path), list(v, f, path);
      case kind::content:
        if (v.is_string()) return;
        return need(v.is_array(), v, "a string or an array", path), count(v.size(), f, " parts", path),
               list(v, f, path);
      case kind::prompt: return prompt(v, f, path);
      case kind::ids: return need(v.is_array(), v, "an array", path), ids(v, path);
      case kind::biases: return biases(v, f, path);
      case kind::reference:
        if (v.is_object()) return object(v, f.fields, path);
        return need(v.is_string(), v, "a string or an object", path), text(v, f, path);
      case kind::anything: return need(v.is_object(), v, "an object", path);
    }
  }
  static void neutral(const json& v, const field& f, const std::string& path) {
    for (const json& fine : json::parse(f.neutral))
      if (v == fine) return;
    throw bad_request("cke does not support the field '" + std::string(f.name) + "'", path, "unsupported_parameter");
  }
  static void text(const json& v, const field& f, const std::string& path) {
    need(v.is_string(), v, "a string", path);
    const auto begins = [](char c) { return (c & 0xc0) != 0x80; };  // the first byte of a character
    count(static_cast<std::size_t>(std::ranges::count_if(v.get_ref<const std::string&>(), begins)), f, " characters",
          path);
  }
  static void word(const json& v, const field& f, const std::string& path) {
    need(v.is_string(), v, "a string", path);
    const auto& s = v.get_ref<const std::string&>();
    for (const std::string_view w : f.words)
      if (s == w) return;
    wrong_value("one of " + words_text(f.words), quote(s), path);
  }
  static void texts(const json& v, const field& f, const std::string& path) {
    static constexpr field each{.name = {}, .is = kind::text, .least = 1, .most = 1024};
    if (v.is_string()) return text(v, each, path);
    need(v.is_array(), v, "a string or an array", path);
    count(v.size(), field{.name = {}, .is = kind::texts, .most = f.most}, " texts", path);
    for (std::size_t i = 0; i < v.size(); ++i) text(v[i], each, path + '[' + std::to_string(i) + ']');
  }
  static void prompt(const json& v, const field& f, const std::string& path) {
    if (v.is_string()) return;
    need(v.is_array(), v, "a string or an array", path);
    if (v.empty()) wrong_value("at least one item", "none", path);
    if (v[0].is_number()) return ids(v, path);
    count(v.size(), f, " prompts", path);
    for (std::size_t i = 0; i < v.size(); ++i) {
      const std::string at = path + '[' + std::to_string(i) + ']';
      if (v[0].is_string()) need(v[i].is_string(), v[i], "a string like the first one", at);
      else
        need(v[i].is_array() && v[0].is_array(), v[i], "a string, token ids, or a list of either", at), ids(v[i], at);
    }
  }
  static void biases(const json& v, const field& f, const std::string& path) {
    need(v.is_object(), v, "an object", path);
    for (const auto& [key, bias] : v.items()) {
      const std::string at = path + '.' + quote(key);
      if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != key.npos)
        wrong_value("a token id", quote(key), at);
      need(bias.is_number(), bias, "a number", at), range(bias, f, at);
    }
  }
};

}  // namespace detail

// Throws api_error 400 that names the field.
inline void check(const json& body, std::span<const field> table) { detail::checker().object(body, table, ""); }

}  // namespace cke::serve
