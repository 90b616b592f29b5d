// SPDX-License-Identifier: MIT
// constraint.hpp: a grammar for the form of the answer that a request asks for.
#pragma once

#include "../text/grammar/gbnf.hpp"
#include "tagged_rules.hpp"

namespace cke::serve {

// The parts of a model's answers, by its template.
struct answer_form {
  u32 think = no_token,
      end_think = no_token;          // tokens around a thought; no_token: no thoughts, or the marks are not tokens
  bool thoughts = false;             // the model can think
  const tool_form* calls = nullptr;  // null: the template has no known form of calls
  u32 open_mark = no_token;          // the token that a call begins with; no_token: several tokens, or no mark
  std::vector<u32> call_marks{};     // special tokens that are part of calls
};

namespace detail {

// The functions that may be called: all of the request's, or the named one.
inline std::vector<const json*> callable(const json& body) {
  std::vector<const json*> all;
  const json* choice = given(body, "tool_choice");
  const json* named = choice && choice->is_object() ? &(*choice)["function"]["name"] : nullptr;
  if (const json* tools = given(body, "tools"))
    for (const json& tool : *tools)
      if (!named || tool["function"]["name"] == *named) all.push_back(&tool["function"]);
  return all;
}

// One call in JSON.
inline std::string json_call_rule(const tool_form& form, const json& function, json_schema_rules& rules) {
  static const json object{{"type", "object"}};
  const json* schema = given(function, "parameters");
  const std::string name = function["name"].get<std::string>(), path = "tools." + name + ".parameters",
                    ws = rules.blank();
  std::string arguments;
  try {
    arguments = rules.item(schema ? *schema : object, path);
  } catch (const Error&) {
    if (given_or(function, "strict", false)) throw;
    arguments = rules.item(object, path);  // OpenAI's: without `strict` the schema is advice
  }
  if (form.named_first) return gbnf::literal(name) + ' ' + gbnf::literal(form.others[0]) + ' ' + arguments;
  const auto key = [&](std::string_view k) { return gbnf::literal('"' + std::string(k) + '"') + " \":\" " + ws + ' '; };
  return "\"{\" " + ws + ' ' + key("name") + gbnf::literal(json(name).dump()) + " \",\" " + ws + ' ' +
      key(form.arguments) + arguments + ' ' + ws + " \"}\"";
}

// Rules for calls: `calls` is one or more as the model writes them, `unmarked` is the same without the mark before it.
inline std::string call_rules(const tool_form& form, std::span<const json* const> functions, bool one,
                              json_schema_rules& rules) {
  std::string alternatives;
  for (const json* f : functions) {
    alternatives += alternatives.empty() ? "" : " | ";
    try {
      alternatives += form.tagged() ? tagged_call_rule(form.tags, *f, rules) : json_call_rule(form, *f, rules);
    } catch (const Error& e) { throw bad_request(e.what(), "tools", "invalid_value"); }
  }
  std::string text = "call ::= " + alternatives + '\n';
  const std::string more = one ? "" : "*";
  const auto repeated = [&](const std::string& item, const std::string& between) {
    return one ? item : item + " (" + gbnf::literal(between) + ' ' + item + ")" + more;
  };
  if (form.open.empty()) return text + "calls ::= " + repeated("call", "; ") + '\n';
  const bool by_name = form.named_first, bare = by_name || (form.tagged() && !form.tags.lines);
  std::string unmarked = bare ? "call"
      : form.listed           ? "\"[\" " + repeated("call", ", ") + " \"]\""
                              : "\"\\n\" call \"\\n\"";
  if (!form.close.empty()) unmarked += ' ' + gbnf::literal(form.close);
  text += "unmarked ::= " + unmarked + '\n';
  if (form.tagged()) text += text_rules(form.tags.behind_value);
  const std::string marked = gbnf::literal(form.open) + " unmarked";
  return text + "calls ::= " + (form.listed && !by_name ? marked : repeated(marked, by_name ? "" : "\n")) + '\n';
}

inline std::shared_ptr<const grammar> parsed(const std::string& text, const char* param) {
  try {
    return std::make_shared<const grammar>(parse_gbnf(text, param));
  } catch (const Error& e) { throw bad_request(e.what(), param, "invalid_value"); }
}

// The rule for the document that response_format asks for; empty: any text.
inline std::string document_rule(const json& body, json_schema_rules& rules) {
  const json* format = given(body, "response_format");
  if (!format || (*format)["type"] == "text") return {};
  static const json object{{"type", "object"}};
  const bool by_schema = (*format)["type"] == "json_schema";
  const json* wanted = by_schema ? given(*format, "json_schema") : nullptr;
  if (by_schema && !wanted)
    throw bad_request("response_format.json_schema: expected a schema, found none", "response_format.json_schema",
                      "missing_required_parameter");
  const json* schema = wanted ? given(*wanted, "schema") : nullptr;
  try {
    return rules.item(schema ? *schema : object, "schema");
  } catch (const Error& e) { throw bad_request(e.what(), "response_format", "invalid_value"); }
}

// `param`: the field that the grammar comes from, for messages.
inline void want(wanted_grammar& w, std::string text, const char* param) {
  w.of = parsed(text, param), w.text = std::make_shared<const std::string>(std::move(text));
}

}  // namespace detail

// The constraint of a checked body of /v1/completions.
inline wanted_grammar completion_constraint(const json& body) {
  wanted_grammar w;
  if (const json* g = detail::given(body, "grammar")) detail::want(w, g->get<std::string>(), "grammar");
  return w;
}

// The constraint of a checked body of /v1/chat/completions; `in_thought`: the prompt ends inside a thought. Throws
// api_error.
inline wanted_grammar chat_constraint(const json& body, const answer_form& form, bool in_thought) {
  using namespace detail;
  wanted_grammar w = completion_constraint(body);
  json_schema_rules rules("");
  const std::string document = document_rule(body, rules);
  const json* choice = given(body, "tool_choice");
  const auto functions = callable(body);
  const bool named = choice && choice->is_object(), forced = named || (choice && *choice == "required");
  const bool single = named || !given_or(body, "parallel_tool_calls", true);
  const bool may_call = !functions.empty() && !(choice && *choice == "none");
  const auto refuse = [](const char* param, const std::string& why) {
    throw bad_request(param + (": " + why), param, "invalid_value");
  };
  if (w.of && !document.empty()) refuse("grammar", "not beside a response_format");
  if (forced && functions.empty())
    refuse("tool_choice",
           named ? "expected the name of one of the tools" : "expected tools to choose from, found none");
  if (forced && w.of) refuse("tool_choice", "auto or none beside a grammar");
  if (forced && !form.calls)
    refuse("tool_choice", "auto or none: the model's template teaches no form of calls that is known");

  const bool strict = std::ranges::any_of(functions, [](const json* f) { return given_or(*f, "strict", false); });
  if (may_call && single && !forced && w.of) refuse("parallel_tool_calls", "true beside a grammar");
  if (forced || (may_call && form.calls && !w.of && (!document.empty() || strict || single))) {
    const std::string calls = call_rules(*form.calls, functions, single, rules);
    const bool only_calls = forced || document.empty();
    const std::string root = forced ? "calls" : only_calls ? "unmarked" : "calls | " + document;
    w.marks = form.call_marks;
    if (!forced && only_calls) {
      w.place.mark = form.open_mark;
      w.place.once = single;
      if (w.place.mark == no_token && !strict)
        refuse("parallel_tool_calls",
               "false only with tool_choice required: the model's calls do not begin with a token of their own");
      if (w.place.mark == no_token)
        refuse("tools",
               "strict only with tool_choice required: the model's calls do not begin with a token of their own");
    }
    want(w, calls + "root ::= " + root + '\n' + rules.rules(), "tools");
  } else if (strict && may_call) {
    refuse(
        "tools",
        w.of ? "strict not beside a grammar" : "strict: the model's template teaches no form of calls that is known");
  } else if (!document.empty()) {
    want(w, "root ::= " + document + '\n' + rules.rules(), "response_format");
  }
  if (!w.of || w.place.mark != no_token) return w;
  if (in_thought && form.end_think == no_token)
    refuse("response_format", "the end of the model's thoughts is no token of its own");
  w.place.think = form.think, w.place.end_think = form.end_think, w.place.in_thought = in_thought;
  return w;
}

}  // namespace cke::serve
