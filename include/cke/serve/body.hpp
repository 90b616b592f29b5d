// SPDX-License-Identifier: MIT
// body.hpp: an untrusted request body as JSON, within limits and without ambiguity.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "api_error.hpp"
#include "limits.hpp"

namespace cke::serve {

namespace detail {

// Builds the value while reading, so that nothing grows beyond the limits.
class body_reader final : public nlohmann::json_sax<json> {
 public:
  explicit body_reader(const request_limits& limits) : limits_(limits) {}
  json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool b) override { return put(b); }
  bool number_integer(number_integer_t n) override { return put(n); }
  bool number_unsigned(number_unsigned_t n) override { return put(n); }
  bool number_float(number_float_t x, const string_t&) override { return put(x); }
  bool string(string_t& s) override { return put(std::move(s)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool key(string_t& k) override {
    level& l = open_.back();
    if (l.keys.size() == limits_.keys) refuse("at most " + std::to_string(limits_.keys) + " keys in an object");
    l.keys.push_back(std::move(k));
    return true;
  }
  // Readers of JSON disagree on which of two values of one key counts, so a repeated key is refused.
  bool end_object() override {
    auto sorted = open_.back().keys;
    std::ranges::sort(sorted);
    if (const auto twin = std::ranges::adjacent_find(sorted); twin != sorted.end())
      refuse("the key " + quote(*twin) + " is there twice");
    return close();
  }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) override {
    refuse("the body is not valid JSON at byte " + std::to_string(at));
  }

 private:
  struct level {
    json value;
    std::vector<std::string> keys;
  };

  [[noreturn]] static void refuse(const std::string& why) { throw bad_request(why, {}, "invalid_json"); }
  bool open(json empty) {
    if (open_.size() == limits_.depth) refuse("at most " + std::to_string(limits_.depth) + " levels of nesting");
    open_.push_back({std::move(empty), {}});
    return true;
  }
  bool close() {
    json whole = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(whole));
  }
  bool put(json v) {
    if (++count_ > limits_.values) refuse("at most " + std::to_string(limits_.values) + " values");
    if (open_.empty()) {
      root_ = std::move(v);
      return true;
    }
    level& l = open_.back();
    if (l.value.is_array()) l.value.push_back(std::move(v));
    else {
      auto& entries = static_cast<json::object_t::Container&>(l.value.get_ref<json::object_t&>());
      entries.emplace_back(l.keys.back(),
                           std::move(v));  // appended unsorted: end_object() looks for repeated keys once
    }
    return true;
  }

  const request_limits& limits_;
  std::vector<level> open_;
  json root_;
  std::size_t count_ = 0;
};

}  // namespace detail

// Reads a JSON object. Throws api_error 400 for anything else: bytes that are not UTF-8, lone surrogates, numbers
// beyond a double, repeated keys, and bodies beyond the limits.
inline json parse_body(std::string_view text, const request_limits& limits) {
  if (text.find('\0') != text.npos) throw bad_request("a NUL byte in the body", {}, "invalid_json");
  if (text.starts_with("\xEF\xBB\xBF")) throw bad_request("a byte order mark before the body", {}, "invalid_json");
  detail::body_reader reader(limits);
  json::sax_parse(text, &reader);
  json body = reader.take();
  if (!body.is_object()) throw bad_request("the body must be a JSON object", {}, "invalid_json");
  return body;
}

}  // namespace cke::serve
