// SPDX-License-Identifier: MIT
// json_schema_reader.hpp: reads the keywords of a JSON Schema, and refuses what a grammar cannot express.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../core/concat.hpp"
#include "../core/error.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

// Base class of the schema converters (json_schema.hpp).
class json_schema_reader {
 public:
  using json = nlohmann::ordered_json;
  // `file` is for messages, and so is `path` below.
  explicit json_schema_reader(const std::string& file) : file_(file) {}

 protected:
  [[noreturn]] void refuse(const std::string& path, std::string_view expected, std::string_view found) const {
    throw Error(errc::unsupported, file_, path, expected, found);
  }
  void need_known(const json& s, const std::string& path) const {
    // Keywords that do not restrict JSON documents.
    static constexpr std::string_view notes[] = {
        "title",     "description",   "default",         "example",          "examples",   "$schema",
        "$id",       "$comment",      "$defs",           "definitions",      "deprecated", "readOnly",
        "writeOnly", "discriminator", "contentEncoding", "contentMediaType", "format"};
    static constexpr std::string_view known[] = {"type",
                                                 "enum",
                                                 "const",
                                                 "anyOf",
                                                 "oneOf",
                                                 "allOf",
                                                 "$ref",
                                                 "properties",
                                                 "required",
                                                 "additionalProperties",
                                                 "items",
                                                 "prefixItems",
                                                 "minItems",
                                                 "maxItems",
                                                 "minLength",
                                                 "maxLength",
                                                 "pattern",
                                                 "minimum",
                                                 "maximum",
                                                 "exclusiveMinimum",
                                                 "exclusiveMaximum"};
    u32 choosing = 0;
    for (const auto& [key, v] : s.items()) {
      const bool chooses = key == "$ref" || key == "anyOf" || key == "oneOf" || key == "allOf";
      choosing += chooses;
      if (key == "uniqueItems" && v == false) continue;
      if (std::ranges::find(notes, key) == std::end(notes) && std::ranges::find(known, key) == std::end(known))
        refuse(path + '.' + key, "a keyword that a grammar can express", "'" + key + "'");
    }
    if (choosing == 0) return;
    for (const auto& [key, v] : s.items())
      if (std::ranges::find(known, key) != std::end(known) &&
          (choosing > 1 || !(key == "$ref" || key == "anyOf" || key == "oneOf" || key == "allOf")) && key != "type")
        refuse(path, "$ref, anyOf, oneOf and allOf alone, without other limits", "'" + key + "' beside them");
  }
  const json* find(const json& s, const char* key) const {
    const auto at = s.find(key);
    return at == s.end() ? nullptr : &*at;
  }
  static bool contains(const json& list, const json& v) {
    return std::ranges::any_of(list, [&](const json& one) { return one == v; });
  }
  u32 count(const json& s, const char* key, const std::string& path, u32 otherwise) const {
    const json* v = find(s, key);
    if (!v) return otherwise;
    if (!v->is_number() || v->get<double>() < 0 || v->get<double>() > 100000 ||
        std::floor(v->get<double>()) != v->get<double>())
      refuse(path + '.' + key, "a whole number up to 100000", v->dump());
    return static_cast<u32>(v->get<double>());
  }

  std::vector<std::string> types(const json& s, const std::string& path) const {
    const json* t = find(s, "type");
    if (!t) return {implied(s)};
    std::vector<std::string> all;
    for (const json& one : t->is_array() ? *t : json::array({*t})) {
      if (!one.is_string())
        throw Error(errc::malformed, file_, path + ".type", "the name of a type, or several", t->dump());
      all.push_back(one.get<std::string>());
    }
    if (all.empty()) throw Error(errc::malformed, file_, path + ".type", "the name of a type, or several", t->dump());
    return all;
  }
  // For a schema without `type`: the type that its other keywords imply.
  std::string implied(const json& s) const {
    const auto any = [&](std::initializer_list<const char*> keys) {
      return std::ranges::any_of(keys, [&](const char* k) { return s.contains(k); });
    };
    if (any({"properties", "required", "additionalProperties"})) return "object";
    if (any({"items", "prefixItems", "minItems", "maxItems"})) return "array";
    if (any({"pattern", "minLength", "maxLength"})) return "string";
    if (any({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})) return "number";
    return "any";
  }
  const json& target(const json& ref, const std::string& path) const {
    const std::string* to = ref.get_ptr<const std::string*>();
    if (!to || !to->starts_with('#'))
      refuse(path + ".$ref", "a path within the schema, such as #/$defs/name", ref.dump());
    try {
      return root_->at(json::json_pointer(to->substr(1)));
    } catch (const json::exception&) {
      throw Error(errc::malformed, file_, path + ".$ref", "something at that path", *to);
    }
  }
  static bool has_type(const json& v, const std::string& type) {
    if (type == "integer")
      return v.is_number_integer() || (v.is_number_float() && std::floor(v.get<double>()) == v.get<double>());
    if (type == "number") return v.is_number();
    return type == v.type_name();
  }
  // Whether a schema names types itself, all of which are among those of `limit`.
  bool within(const json& s, const json& limit, const std::string& path) const {
    if (!s.is_object() || !s.contains("type")) return false;
    const auto most = types(limit, path), mine = types(s, path);
    return std::ranges::all_of(mine, [&](const std::string& t) {
      return std::ranges::find(most, t) != most.end() ||
          (t == "integer" && std::ranges::find(most, "number") != most.end());
    });
  }
  // A schema of those that `s` combines, with the types that stand in `s` beside them.
  json narrowed(const json& one, const json& s, const std::string& path) const {
    if (!s.contains("type") || (!one.is_object() && one != true)) return one;
    const json* r = one.is_object() ? find(one, "$ref") : nullptr;
    if (within(r ? target(*r, path) : one, s, path)) return one;
    if (r || (one.is_object() && one.contains("type")))
      refuse(path, "types within those beside the list", r ? "those of what it refers to" : one["type"].dump());
    json out = one.is_object() ? one : json::object();
    out["type"] = s["type"];
    return out;
  }
  // Whether a value that a schema lists keeps its other limits.
  bool keeps(const json& v, const json& s, const std::string& path) const {
    for (const char* key :
         {"properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems", "pattern"})
      if (s.contains(key))
        refuse(path + '.' + key, "no such limit beside values that are listed", concat({"'", key, "'"}));
    const auto bound = [&](const char* key) {
      const json* limit = find(s, key);
      if (limit && !limit->is_number()) refuse(path + '.' + key, "a number", limit->dump());
      return v.is_number() ? limit : nullptr;
    };
    if (const json* x = bound("minimum"); x && v < *x) return false;
    if (const json* x = bound("maximum"); x && v > *x) return false;
    if (const json* x = bound("exclusiveMinimum"); x && v <= *x) return false;
    if (const json* x = bound("exclusiveMaximum"); x && v >= *x) return false;
    const u32 least = count(s, "minLength", path, 0), most = count(s, "maxLength", path, ~u32{0});
    if (!v.is_string()) return true;
    const auto size = std::ranges::count_if(v.get_ref<const std::string&>(), [](char c) { return (c & 0xC0) != 0x80; });
    return size >= i64{least} && size <= i64{most};
  }
  // Whether no document fits both, as far as types, constants and discriminating properties show.
  bool apart(const json& a, const json& b, const std::string& path, u32 depth) {
    compare(1, path);
    if (depth > 8 || !a.is_object() || !b.is_object()) return false;
    if (const json* r = find(a, "$ref")) return apart(target(*r, path), b, path, depth + 1);
    if (const json* r = find(b, "$ref")) return apart(a, target(*r, path), path, depth + 1);
    const json x = values_of(a), y = values_of(b);
    compare(x.size() * y.size(), path);
    if (!x.empty() && !y.empty()) return std::ranges::none_of(x, [&](const json& v) { return contains(y, v); });
    const auto common = [](const std::string& t, const std::string& u) {
      return t == "any" || u == "any" || t == u || (t == "integer" && u == "number") ||
          (t == "number" && u == "integer");
    };
    const auto ts = types(a, path), us = types(b, path);
    if (std::ranges::none_of(
            ts, [&](const auto& t) { return std::ranges::any_of(us, [&](const auto& u) { return common(t, u); }); }))
      return true;
    const json *p = find(a, "properties"), *q = find(b, "properties");
    if (!p || !q || !p->is_object() || !q->is_object()) return false;
    for (const auto& [name, schema] : p->items())
      if (q->contains(name) && required(a, name, path) && required(b, name, path) &&
          apart(schema, (*q)[name], path, depth + 1))
        return true;
    return false;
  }
  json values_of(const json& s) const {
    if (const json* c = find(s, "const")) return json::array({*c});
    const json* e = find(s, "enum");
    return e && e->is_array() ? *e : json::array();
  }
  bool required(const json& s, const std::string& name, const std::string& path) {
    const json* list = find(s, "required");
    if (list) compare(list->size(), path);
    return list && contains(*list, name);
  }
  // Counts what may take long: lists from a client may be long, and schemas refer to one another.
  void compare(u64 times, const std::string& path) {
    if ((compared_ += times) > most_compared) refuse(path, "schemas that are soon told apart", "others");
  }

  static constexpr u64 most_compared = 1'000'000;  // takes less than a second
  const json* root_ = nullptr;                     // document that references resolve in
  u64 compared_ = 0;
  const std::string file_;
};

}  // namespace cke::io
CKE_COLD_END
