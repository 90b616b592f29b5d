// SPDX-License-Identifier: MIT
// json_node.hpp: a JSON value with its path, so that every error message can name the key.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../core/error.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io::detail {

// A view: the document must outlive it.
class json_node {
 public:
  using json = nlohmann::json;

  json_node(const json& value, std::string file, std::string path)
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

  // The member, or null if there is none.
  json_node operator[](const char* key) const {
    static const json absent;
    const auto at = value_->is_object() ? value_->find(key) : value_->end();
    return {value_->is_object() && at != value_->end() ? *at : absent, file_, path_.empty() ? key : path_ + "." + key};
  }
  // Item i; the value must be an array with such an item.
  json_node operator[](std::size_t i) const { return {(*value_)[i], file_, path_ + "[" + std::to_string(i) + "]"}; }
  const json& raw() const { return *value_; }
  bool null() const { return value_->is_null(); }
  bool is(std::string_view text) const { return value_->is_string() && value_->get_ref<const std::string&>() == text; }

  const std::string& text() const {
    if (!value_->is_string()) mismatch("a string");
    return value_->get_ref<const std::string&>();
  }
  bool flag(bool otherwise) const {
    if (null()) return otherwise;
    if (!value_->is_boolean()) mismatch("true or false");
    return value_->get<bool>();
  }
  u32 id() const {
    if (!value_->is_number_unsigned() || value_->get<u64>() >= ~u32{0}) mismatch("a token id");
    return value_->get<u32>();
  }
  const json::object_t& object() const {
    if (!value_->is_object()) mismatch("an object");
    return value_->get_ref<const json::object_t&>();
  }
  std::vector<json_node> array() const {
    if (!value_->is_array()) mismatch("an array");
    std::vector<json_node> items;
    for (std::size_t i = 0; i < value_->size(); ++i) items.push_back((*this)[i]);
    return items;
  }
  // A component is null, one {"type": ...}, or a Sequence of them under `key`.
  std::vector<json_node> components(const char* key) const {
    if (null()) return {};
    if (!(*this)["type"].is("Sequence")) return {*this};
    only({key});
    return (*this)[key].array();
  }

  // Refuses unknown keys, because they could change the result.
  void only(std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : object())
      if (key != "type" && std::ranges::find(keys, key) == keys.end())
        json_node(value, file_, path_.empty() ? key : path_ + "." + key).unsupported("no such key");
  }
  void require(bool supported, const std::string& expected) const {
    if (!supported) unsupported(expected);
  }
  [[noreturn]] void unsupported(const std::string& expected) const {
    throw Error(errc::unsupported, file_, path_, expected, shown());
  }
  [[noreturn]] void mismatch(const std::string& expected) const { mismatch(expected, shown()); }
  [[noreturn]] void mismatch(const std::string& expected, const std::string& found) const {
    throw Error(errc::malformed, file_, path_, expected, found);
  }

 private:
  // Never dumps nested values: the file may nest deeper than the stack allows.
  std::string shown() const {
    if (value_->is_string()) return value_->get<std::string>();
    if (value_->is_object() && value_->contains("type") && (*value_)["type"].is_string()) return (*value_)["type"];
    return value_->is_structured() ? value_->type_name() : value_->dump();
  }

  const json* value_;
  std::string file_, path_;
};

}  // namespace cke::io::detail
CKE_COLD_END
