// SPDX-License-Identifier: MIT
// openapi.hpp: the tables of fields and routes as an OpenAPI 3.1 document.
#pragma once

#include "api_error.hpp"
#include "routes.hpp"

namespace cke::serve {

namespace detail {

json object_schema(std::span<const field> table, u32 vocab);

// Whole numbers are written without an exponent: readers of the document would take 9.2e18 for another number.
inline json bounded(const field& f) {
  if (f.is == kind::integer)
    return {{"type", "integer"}, {"minimum", static_cast<i64>(f.least)}, {"maximum", static_cast<u64>(f.most)}};
  return {{"type", "number"}, {"minimum", f.least}, {"maximum", f.most}};
}
inline json list_of(json items, double least, double most) {
  return {{"type", "array"},
          {"items", std::move(items)},
          {"minItems", static_cast<u64>(least)},
          {"maxItems", static_cast<u64>(most)}};
}
inline json any_of(json all) { return {{"anyOf", std::move(all)}}; }
inline json text_schema(double least, double most) {
  json s{{"type", "string"}};
  if (least > 0) s["minLength"] = static_cast<u64>(least);
  if (most < fields::body) s["maxLength"] = static_cast<u64>(most);
  return s;
}

inline json schema_of_kind(const field& f, u32 vocab) {
  const json token_id{{"type", "integer"}, {"minimum", 0}, {"maximum", vocab - 1}}, text{{"type", "string"}};
  switch (f.is) {
    case kind::boolean: return {{"type", "boolean"}};
    case kind::integer: return bounded(f);
    case kind::number: return bounded(f);
    case kind::text: return text_schema(f.least, f.most);
    case kind::word: {
      json word{{"type", "string"}, {"enum", f.words}};
      return f.fields.empty() ? word : any_of({word, object_schema(f.fields, vocab)});
    }
    case kind::texts: return any_of({text_schema(1, 1024), list_of(text_schema(1, 1024), 0, f.most)});
    case kind::object: return object_schema(f.fields, vocab);
    case kind::list: return list_of(object_schema(f.fields, vocab), f.least, f.most);
    case kind::content: return any_of({text, list_of(object_schema(f.fields, vocab), f.least, f.most)});
    case kind::prompt: {
      const json ids{{"type", "array"}, {"items", token_id}, {"minItems", 1}};
      return any_of({text, ids, list_of(text, 1, f.most), list_of(ids, 1, f.most)});
    }
    case kind::ids: return {{"type", "array"}, {"items", token_id}};
    case kind::biases:
      return {
          {"type", "object"}, {"propertyNames", {{"pattern", "^[0-9]{1,9}$"}}}, {"additionalProperties", bounded(f)}};
    case kind::reference: return any_of({text_schema(f.least, f.most), object_schema(f.fields, vocab)});
    case kind::anything: return {{"type", "object"}};
  }
  return {};
}
inline json field_schema(const field& f, u32 vocab) {
  json s;
  if (f.neutral.empty()) {
    s = schema_of_kind(f, vocab);
    if (!f.required) s = any_of(json::array({std::move(s), {{"type", "null"}}}));
  } else {
    s["enum"] = json::parse(f.neutral);
    if (!s["enum"].back().is_null()) s["enum"].push_back(nullptr);
    s["deprecated"] = true;
  }
  if (!f.about.empty()) s["description"] = f.about;
  return s;
}
inline json object_schema(std::span<const field> table, u32 vocab) {
  json s{{"type", "object"}, {"additionalProperties", false}, {"properties", json::object()}};
  json required = json::array();
  for (const field& f : table) {
    s["properties"][std::string(f.name)] = field_schema(f, vocab);
    if (f.required) required.push_back(f.name);
  }
  if (!required.empty()) s["required"] = std::move(required);
  return s;
}

inline json operation(const route& r, bool keys, u32 vocab) {
  const auto answer = [](const char* about, std::string_view type, json schema) -> json {
    return {{"description", about}, {"content", {{std::string(type), {{"schema", std::move(schema)}}}}}};
  };
  const json error{{"$ref", "#/components/schemas/Error"}};
  json o{{"summary", r.about}};
  o["responses"]["200"] = answer("The answer.", r.type,
                                 r.type == json_type ? json{{"type", {"object", "array"}}} : json{{"type", "string"}});
  if (r.does == action::completions || r.does == action::chat)
    o["responses"]["200"]["content"][std::string(event_type)] = {
        {"schema", {{"type", "object"}, {"properties", {{"data", {{"type", "string"}}}}}}}};  // of one event
  o["responses"]["default"] = answer("A refusal.", json_type, error);
  if (r.method == "POST")
    o["requestBody"] = {{"required", true},
                        {"content", {{std::string(json_type), {{"schema", object_schema(r.body, vocab)}}}}}};
  if (r.path.ends_with('/') && r.path.size() > 1)
    o["parameters"] =
        json::array({{{"name", "model"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}});
  if (keys && !r.open) o["security"] = json::array({{{"key", json::array()}}});
  return o;
}

}  // namespace detail

// `keys`: whether API keys are needed. `vocab`: of the tokenizer.
inline json openapi_document(std::string_view version, bool keys, u32 vocab) {
  const json text{{"type", "string"}}, maybe{{"type", {"string", "null"}}};
  json doc{{"openapi", "3.1.0"},
           {"info", {{"title", "cke serve"}, {"version", version}, {"license", {{"name", "MIT"}}}}}};
  doc["components"]["schemas"]["Error"] = {
      {"type", "object"},
      {"required", {"error"}},
      {"properties",
       {{"error",
         {{"type", "object"},
          {"required", {"message", "type", "param", "code"}},
          {"properties", {{"message", text}, {"type", text}, {"param", maybe}, {"code", maybe}}}}}}}};
  if (keys) doc["components"]["securitySchemes"]["key"] = {{"type", "http"}, {"scheme", "bearer"}};
  for (const route& r : routes) {
    std::string path(r.path), method(r.method);
    if (path.size() > 1 && path.ends_with('/')) path += "{model}";
    for (char& c : method) c = static_cast<char>(c | 0x20);
    doc["paths"][path][method] = detail::operation(r, keys, vocab);
  }
  return doc;
}

}  // namespace cke::serve
