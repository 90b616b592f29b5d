// SPDX-License-Identifier: MIT
// built_in_call.hpp: parses NAME.call(key="value", ...), the form of Llama 3's built-in tools.
#pragma once

#include <optional>
#include <span>

#include "tagged_call.hpp"

namespace cke::text {

namespace detail {

inline constexpr std::string_view call_of = ".call(";

// Whether a text with this beginning can be such a call of a known tool.
inline bool may_be_built_in(std::string_view text, std::span<const tool_signature> known) {
  return std::ranges::any_of(known, [&](const tool_signature& t) {
    const std::string begin = t.name + std::string(call_of);
    return text.starts_with(begin) || begin.starts_with(text);
  });
}

// Parses a whole text; nullopt if it is not such a call. The values must be JSON.
inline std::optional<tool_call> built_in_call(std::string_view text, std::span<const tool_signature> known) {
  text = trimmed(text);
  const std::size_t open = text.find(call_of);
  if (open == text.npos || !text.ends_with(')')) return {};
  const std::string_view name = text.substr(0, open);
  if (std::ranges::find(known, name, &tool_signature::name) == known.end()) return {};
  json_writer arguments{"{"};
  std::string_view rest = text.substr(open + call_of.size());
  rest.remove_suffix(1);
  for (rest = without_blank(rest); !rest.empty(); rest = without_blank(rest)) {
    const std::size_t equals = rest.find('=');
    const std::string_view key = trimmed(rest.substr(0, equals));
    if (equals == rest.npos || key.empty() || key.find_first_of("\"(),") != key.npos) return {};
    rest = without_blank(rest.substr(equals + 1));
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2u : 1u;
    if (end >= rest.size() || kind_of_json(rest.substr(0, end + 1)) != json_kinds::text) return {};
    arguments.put_json(key, rest.substr(0, end + 1));
    rest = without_blank(rest.substr(end + 1));
    if (rest.empty()) break;
    if (!rest.starts_with(',')) return {};
    rest.remove_prefix(1);
  }
  return tool_call{std::string(name), arguments.text + '}'};
}

}  // namespace detail

}  // namespace cke::text
