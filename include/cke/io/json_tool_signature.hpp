// SPDX-License-Identifier: MIT
// json_tool_signature.hpp: reads from a function's JSON Schema which kinds of JSON value each parameter accepts.
#pragma once

#include <nlohmann/json.hpp>

#include "../text/chat/tool_form.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

namespace detail {

inline u8 kinds_of_type(const nlohmann::ordered_json& type) {
  constexpr std::pair<std::string_view, u8> names[] = {
      {"string", json_kinds::text},     {"number", json_kinds::number}, {"integer", json_kinds::number},
      {"boolean", json_kinds::boolean}, {"null", json_kinds::null},     {"array", json_kinds::list},
      {"object", json_kinds::object}};
  for (const auto& [name, kinds] : names)
    if (type == name) return kinds;
  return json_kinds::any;
}
inline u8 kinds_of_value(const nlohmann::ordered_json& v) {
  return v.is_string() ? json_kinds::text
      : v.is_number()  ? json_kinds::number
      : v.is_boolean() ? json_kinds::boolean
      : v.is_null()    ? json_kinds::null
      : v.is_array()   ? json_kinds::list
                       : json_kinds::object;
}

}  // namespace detail

// The kinds that may fit a schema, as json_kinds; any if it does not say, or takes long to say it. `root`: the document
// that $ref refers to; `steps`: schemas looked at so far, since those that refer to one another branch without end.
inline u8 kinds_of_schema(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& root, u32& steps,
                          u32 depth = 0) {
  using namespace json_kinds;
  constexpr u32 most_steps = 10'000;
  if (!schema.is_object() || depth > 16 || ++steps > most_steps) return any;
  const auto find = [&](const char* key) {
    const auto at = schema.find(key);
    return at == schema.end() ? nullptr : &*at;
  };
  const auto together = [](const nlohmann::ordered_json& list, auto kinds) {
    u8 all = 0;
    for (const auto& one : list)
      if (all != any) all = static_cast<u8>(all | kinds(one));
    return all ? all : any;
  };
  const auto of_schema = [&](const nlohmann::ordered_json& s) { return kinds_of_schema(s, root, steps, depth + 1); };
  if (const auto* ref = find("$ref")) {
    const std::string* to = ref->get_ptr<const std::string*>();
    if (!to || !to->starts_with('#')) return any;
    try {
      return of_schema(root.at(nlohmann::ordered_json::json_pointer(to->substr(1))));
    } catch (const nlohmann::ordered_json::exception&) { return any; }
  }
  if (const auto* value = find("const")) return detail::kinds_of_value(*value);
  if (const auto* values = find("enum"); values && values->is_array()) return together(*values, detail::kinds_of_value);
  if (const auto* type = find("type"))
    return type->is_array() ? together(*type, detail::kinds_of_type) : detail::kinds_of_type(*type);
  for (const char* key : {"anyOf", "oneOf"})
    if (const auto* list = find(key); list && list->is_array()) return together(*list, of_schema);
  u8 common = any;
  if (const auto* list = find("allOf"); list && list->is_array())
    for (const auto& one : *list) common = static_cast<u8>(common & of_schema(one));
  return common ? common : any;
}

// Reads OpenAI's description of a function: `name`, and optionally `parameters`.
inline tool_signature read_tool_signature(const nlohmann::ordered_json& function) {
  tool_signature tool{.name = function["name"].get<std::string>()};
  const auto schema = function.find("parameters");
  if (schema == function.end() || !schema->is_object()) return tool;
  const auto properties = schema->find("properties");
  if (properties == schema->end() || !properties->is_object()) return tool;
  u32 steps = 0;
  for (const auto& [name, property] : properties->items())
    tool.parameters.push_back({name, kinds_of_schema(property, *schema, steps)});
  return tool;
}

}  // namespace cke::io
CKE_COLD_END
