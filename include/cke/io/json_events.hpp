// SPDX-License-Identifier: MIT
// json_events.hpp: parses an untrusted JSON object into a stream of checked events; builds no tree.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/error.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

// A reader derives from this and overrides the events of its format; all others are errors. Depth, document size and
// keys per object are bounded, which bounds memory by the size of the text. A repeated key is an error, so that no two
// readers can disagree on its value.
class json_events : public nlohmann::json_sax<nlohmann::json> {
 public:
  static constexpr std::size_t max_bytes = 100'000'000;  // safetensors' limit for its header
  static constexpr std::size_t max_depth = 8, max_keys = std::size_t{1} << 20;

  explicit json_events(std::string file) : file_(std::move(file)) {}

  // Throws Error{errc::malformed} at the first unexpected byte or event.
  void read(std::string_view text) {
    if (text.size() > max_bytes)
      fail("at most " + std::to_string(max_bytes) + " bytes of JSON", std::to_string(text.size()));
    if (!text.starts_with('{')) fail("a JSON object from the first byte on", "something else");
    // The lexer would take a NUL for the end of the text and ignore what follows.
    if (text.find('\0') != text.npos) fail("JSON", "a NUL byte");
    nlohmann::json::sax_parse(text, this);
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a boolean"); }
  bool number_integer(number_integer_t n) override { refuse(std::to_string(n)); }
  bool number_unsigned(number_unsigned_t n) override { refuse(std::to_string(n)); }
  bool number_float(number_float_t, const string_t& text) override { refuse(text.substr(0, 40)); }
  bool string(string_t&) override { refuse("a string"); }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool start_object(std::size_t) final { return open(true); }
  bool start_array(std::size_t) final { return open(false); }
  bool end_array() final { return close(); }
  bool end_object() final {
    auto& keys = open_.back().keys;
    std::ranges::sort(keys);
    if (const auto twin = std::ranges::adjacent_find(keys); twin != keys.end())
      fail("one value of \"" + twin->substr(0, 100) + '"', "two");
    return close();
  }
  bool key(string_t& k) final {
    level& l = open_.back();
    if (l.keys.size() == max_keys) fail("at most " + std::to_string(max_keys) + " keys", "more");
    l.keys.push_back(k);
    l.key = std::move(k);
    return true;
  }
  bool parse_error(std::size_t at, const std::string& token, const nlohmann::json::exception&) final {
    fail("JSON", '"' + token.substr(0, 40) + "\" at byte " + std::to_string(at));
  }

 protected:
  // Whether an object (else: an array) may start here. Not called for the outermost object.
  virtual bool opens(bool object) = 0;
  // Called when what opens() admitted has ended; depth and keys are again those from before it.
  virtual void closed() {}

  // The number of objects and arrays around the current value, and its key in the i-th of them from outside ("" in
  // arrays).
  std::size_t depth() const { return open_.size(); }
  const std::string& key_at(std::size_t i) const { return open_[i].key; }

  [[noreturn]] void fail(std::string expected, std::string found) const {
    std::string where;
    for (const level& l : open_)
      if (!l.key.empty()) where += (where.empty() ? "" : ": ") + l.key.substr(0, 200);
    throw Error(errc::malformed, file_, where, std::move(expected), std::move(found));
  }
  [[noreturn]] void refuse(std::string found) const { fail("another kind of value", std::move(found)); }

 private:
  struct level {
    std::string key;
    std::vector<std::string> keys;
  };

  bool open(bool object) {
    if (depth() == max_depth) fail("at most 8 levels of nesting", "more");
    if (depth() > 0 && !opens(object)) refuse(object ? "an object" : "an array");
    open_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    if (depth() > 0) closed();
    return true;
  }

  std::string file_;
  std::vector<level> open_;
};

}  // namespace cke::io
CKE_COLD_END
