// SPDX-License-Identifier: MIT
// json_value.hpp: reads JSON, such as messages and tools, into the values of a chat template.
#pragma once

#include <nlohmann/json.hpp>

#include "../text/jinja/python.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

namespace detail {

class json_value_reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  json_value_reader(std::string file) : file_(std::move(file)) {}

  jinja::value take() { return std::move(result_); }

  bool null() override { return put({}); }
  bool boolean(bool b) override { return put(b); }
  bool number_integer(number_integer_t n) override { return put(static_cast<i64>(n)); }
  bool number_unsigned(number_unsigned_t n) override {
    if (n > static_cast<u64>(INT64_MAX)) fail("an integer of 64 bits", std::to_string(n));
    return put(static_cast<i64>(n));
  }
  bool number_float(number_float_t x, const string_t& spelled) override {
    if (spelled.find_first_of(".eE") == spelled.npos) fail("an integer of 64 bits", spelled);
    return put(x);
  }
  bool string(string_t& s) override { return put(jinja::text(s, jinja::origin::data)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool key(string_t& k) override {
    open_.back().key = std::move(k);
    return true;
  }
  bool end_object() override {
    auto d = std::make_shared<jinja::dict>();
    jinja::budget cost({});
    for (auto& [key, v] : open_.back().entries)
      jinja::insert(*d, jinja::text(key, jinja::origin::data), std::move(v), cost);
    open_.pop_back();
    return put(jinja::value::dict_ptr(std::move(d)));
  }
  bool end_array() override {
    jinja::values items;
    for (auto& entry : open_.back().entries) items.push_back(std::move(entry.second));
    open_.pop_back();
    return put({jinja::form::list, std::move(items)});
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) override {
    fail("JSON", "something else at byte " + std::to_string(at));
  }

 private:
  struct level {
    bool object;
    std::string key;
    std::vector<std::pair<std::string, jinja::value>> entries;
  };

  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    throw Error(errc::malformed, file_, {}, expected, found);
  }
  bool open(bool object) {
    constexpr u32 most = 60;  // a template may nest it further in its own values
    if (open_.size() == most) fail("at most 60 levels of nesting", "more");
    open_.push_back({object, {}, {}});
    return true;
  }
  bool put(jinja::value v) {
    if (open_.empty()) result_ = std::move(v);
    else open_.back().entries.emplace_back(open_.back().object ? open_.back().key : std::string(), std::move(v));
    return true;
  }

  std::string file_;
  std::vector<level> open_;
  jinja::value result_;
};

}  // namespace detail

// All text is marked as data, not the template's own. Of repeated keys the last counts, as in Python. Throws
// Error{malformed}, naming `file`, for bad JSON and for integers beyond 64 bits.
inline jinja::value read_json_value(std::string_view text, const std::string& file) {
  detail::json_value_reader reader(file);
  try {
    nlohmann::json::sax_parse(text, &reader);
  } catch (const jinja::fault& e) { throw Error(e.code, file, {}, e.message); }
  return reader.take();
}

}  // namespace cke::io
CKE_COLD_END
