// SPDX-License-Identifier: MIT
// tagged_rules.hpp: grammar rules for tool calls in tags, as text/chat/tagged_call.hpp parses them.
#pragma once

#include "../io/json_schema.hpp"
#include "../io/json_tool_signature.hpp"
#include "request.hpp"

namespace cke::serve::detail {

// Any text that does not contain the tag, which ends a value, as an automaton: a state is the number of bytes of the
// tag that have just been seen. The tag has its first byte nowhere else, so from each state a byte leads to the next
// one, to state 1, or to state 0.
inline std::string text_rules(std::string_view tag) {
  const auto rule = [](std::size_t state) { return "text" + std::to_string(state); };
  const auto byte = [&](std::size_t i) { return gbnf::escaped(static_cast<u8>(tag[i])); };
  std::string rules;
  for (std::size_t s = 0; s < tag.size(); ++s) {
    const bool last = s + 1 == tag.size();
    rules += rule(s) + " ::= \"\" | [^" + byte(0) + (s ? byte(s) : "") + "] text0";
    if (s) rules += " | [" + byte(0) + "] text1";
    rules += last ? "\n" : " | [" + byte(s) + "] " + rule(s + 1) + '\n';
  }
  return rules;
}

// The value of a parameter: texts as they are, other kinds as JSON. A limit that a grammar cannot express is refused if
// `strict`, and ignored otherwise. `steps`: those of kinds_of_schema().
inline std::string tagged_value(const call_tags& tags, const json& schema, const json& root, const std::string& path,
                                bool strict, json_schema_rules& rules, u32& steps) {
  const auto refuse = [&](std::string_view expected, std::string_view found) {
    throw Error(errc::unsupported, {}, path, expected, found);
  };
  const u8 kinds = kinds_of_schema(schema, root, steps);
  if (!(kinds & json_kinds::text)) {
    try {
      return rules.item(schema, path, root);
    } catch (const Error&) {
      if (strict) throw;
    }
    std::vector<std::string> items;
    for (const auto& [kind, name] : {std::pair{json_kinds::number, "number"},
                                     {json_kinds::boolean, "boolean"},
                                     {json_kinds::null, "null"},
                                     {json_kinds::list, "array"},
                                     {json_kinds::object, "object"}})
      if (kinds & kind) items.push_back(rules.item(json{{"type", name}}, path));
    return gbnf::either(items);
  }
  const json* values = schema.is_object() && schema.contains("enum") ? &schema["enum"] : nullptr;
  if (values && values->is_array()) {
    std::vector<std::string> items;
    for (const json& v : *values) {
      const std::string text = v.is_string() ? v.get<std::string>() : v.dump();
      if (text.find(tags.behind_value) != text.npos)
        refuse("texts without the tag that ends a value", tags.behind_value);
      items.push_back(gbnf::literal(text));
    }
    return gbnf::either(items);
  }
  if (strict) {
    if (!schema.is_object() || kinds & ~(json_kinds::text | json_kinds::boolean | json_kinds::null))
      refuse("parameters that may be texts to be nothing else but booleans or null", "more");
    for (const char* limit :
         {"minLength", "maxLength", "pattern", "format", "const", "$ref", "anyOf", "oneOf", "allOf"})
      if (schema.contains(limit)) refuse("texts without limits, or of an enum, where calls are in tags", limit);
  }
  return "text0";
}

// One call: its parameters in their order; those that are not required may be absent. Throws Error for a schema that
// tags, or a strict function, cannot express.
inline std::string tagged_call_rule(const call_tags& tags, const json& function, json_schema_rules& rules) {
  static const json none = json::object(), any = true;
  const std::string line = tags.lines ? " \"\\n\" " : " ", gap = tags.lines ? " \"\\n\"" : " \"\\n\"?";
  const std::string name = function["name"].get<std::string>(), path = "tools." + name;
  const json* schema = given(function, "parameters");
  if (!schema || !schema->is_object()) schema = &none;
  const auto between = [&](std::string_view before, const std::string& text, std::string_view after) {
    if (text.find_first_of("<>\n") != text.npos)
      throw Error(errc::unsupported, {}, path, "names without < and > where calls are in tags", text);
    return gbnf::literal(before) + ' ' + gbnf::literal(text) + ' ' + gbnf::literal(after) + gap;
  };
  std::string call = between(tags.name, name, tags.behind_name);
  u32 steps = 0;  // of all parameters together, as read_tool_signature() counts them
  const auto add = [&](const std::string& key, const json& of, bool needed) {
    const std::string value =
        tagged_value(tags, of, *schema, path + ".parameters." + key, given_or(function, "strict", false), rules, steps);
    const std::string tagged = between(tags.key, key, tags.behind_key) + ' ' + gbnf::literal(tags.value) + ' ' + value +
        line + gbnf::literal(tags.behind_value) + gap;
    call += needed ? ' ' + tagged : " (" + tagged + ")?";
  };
  const auto part = [&](const char* key) -> const json& { return schema->contains(key) ? (*schema)[key] : none; };
  const json &properties = part("properties"), &required = part("required");
  const bool named = properties.is_object(), listed = required.is_array();
  const auto needed = [&](const std::string& key) {
    return listed && std::ranges::find(required, json(key)) != required.end();
  };
  if (named)
    for (const auto& [key, of] : properties.items()) add(key, of, needed(key));
  if (listed)
    for (const json& key : required)
      if (key.is_string() && !(named && properties.contains(key.get<std::string>())))
        add(key.get<std::string>(), any, true);
  return call + ' ' + gbnf::literal(tags.end);
}

}  // namespace cke::serve::detail
