// SPDX-License-Identifier: MIT
// tool_form.hpp: the formats in which model families write tool calls, and a parsed call.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "../../core/types.hpp"

namespace cke::text {

// A call in tags: a name, then alternating keys and values.
struct call_tags {
  std::string_view name{}, behind_name{};  // no behind_name: the end of the line or the next tag ends the name
  std::string_view key{}, behind_key{}, value{}, behind_value{};
  std::string_view end{};  // after the last value
  bool lines = false;      // values stand on lines of their own and may be Python's True, False or None
};

// A family's format of calls after a mark: JSON with name and arguments, a list of those, or tags.
struct tool_form {
  std::string_view name;
  std::string_view open;                     // empty: the whole answer is calls, separated by semicolons
  std::string_view close{};                  // empty: the call ends with the JSON
  std::string_view arguments = "arguments";  // the JSON key of the arguments
  bool listed = false;                       // a list of calls follows a mark
  bool named_first = false;                  // NAME[ARGS]{...} is a call too
  std::array<std::string_view, 2> others{};  // more marks; the first may precede a whole answer
  call_tags tags{};                          // used instead of JSON

  constexpr bool tagged() const { return !tags.key.empty(); }
  constexpr bool has_mark(std::string_view text) const {
    const auto is = [&](std::string_view mark) { return !mark.empty() && mark == text; };
    return is(open) || is(close) || is(others[0]) || is(others[1]) || is(tags.key) || is(tags.behind_key) ||
        is(tags.value) || is(tags.behind_value);
  }
};

inline constexpr tool_form tool_forms[] = {
    {.name = "hermes", .open = "<tool_call>", .close = "</tool_call>"},  // Qwen, SmolLM3, Granite 4
    {.name = "phi", .open = "<|tool_call|>", .close = "<|/tool_call|>", .listed = true},
    {.name = "granite", .open = "<|tool_call|>", .listed = true},
    {.name = "mistral", .open = "[TOOL_CALLS]", .listed = true, .named_first = true, .others = {"[ARGS]", "[CALL_ID]"}},
    {.name = "llama3", .open = {}, .arguments = "parameters", .others = {"<|python_tag|>"}},
    {.name = "qwen3_coder",
     .open = "<tool_call>",
     .close = "</tool_call>",  // also Qwen3.5 and Nemotron 3
     .tags = {.name = "<function=",
              .behind_name = ">",
              .key = "<parameter=",
              .behind_key = ">",
              .behind_value = "</parameter>",
              .end = "</function>",
              .lines = true}},
    {.name = "glm4",
     .open = "<tool_call>",
     .close = "</tool_call>",  // GLM-4.5 to 4.7
     .tags = {.key = "<arg_key>", .behind_key = "</arg_key>", .value = "<arg_value>", .behind_value = "</arg_value>"}},
};

// The format that a template teaches; null if it is unknown.
constexpr const tool_form* tool_form_of(std::string_view chat_template) {
  const auto has = [&](std::string_view mark) { return chat_template.find(mark) != chat_template.npos; };
  const auto named = [](std::string_view name) { return std::ranges::find(tool_forms, name, &tool_form::name); };
  if (!has("tools")) return nullptr;
  if (has("<tool_call>")) return named(has("<function=") ? "qwen3_coder" : has("<arg_key>") ? "glm4" : "hermes");
  if (has("<|tool_call|>")) return has("<|/tool_call|>") ? named("phi") : named("granite");
  if (has("[TOOL_CALLS]")) return named("mistral");
  if (has("\"parameters\"") && has("<|start_header_id|>")) return named("llama3");
  return nullptr;
}

// JSON kinds, as a set of bits.
namespace json_kinds {
inline constexpr u8 text = 1, number = 2, boolean = 4, null = 8, list = 16, object = 32, any = 63;
}

// A callable tool. Tags do not show whether a value is text, so the kinds that each parameter accepts decide; an
// unlisted parameter accepts any.
struct tool_signature {
  struct parameter {
    std::string name;
    u8 kinds = json_kinds::any;
  };
  std::string name;
  std::vector<parameter> parameters{};
};

struct tool_call {
  std::string name;
  std::string arguments;  // a JSON object, as written by the model
  bool operator==(const tool_call&) const = default;
};

// Some text and the calls after it.
struct tool_part {
  std::string text;
  std::vector<tool_call> calls{};
};

enum class call_reading : u8 { more, call, none };  // needs more text; is a call; is not a call

}  // namespace cke::text
