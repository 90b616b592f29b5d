// SPDX-License-Identifier: MIT
// constraint.cpp: what requests say of an answer's form, and whether calls that fit are calls to the parser.
#include <doctest/doctest.h>

#include <cke/serve/check.hpp>
#include <cke/serve/constraint.hpp>
#include <cke/text/grammar/automaton.hpp>
#include <cke/text/random.hpp>

using namespace cke;
using namespace cke::serve;

namespace {

answer_form form_of(std::string_view name) {
  const tool_form* calls = std::ranges::find(tool_forms, name, &tool_form::name);
  return {.think = 7, .end_think = 8, .thoughts = true, .calls = calls, .open_mark = calls->open.empty() ? no_token : 9};
}
json with_tools(json more = json::object()) {
  json body = json::parse(R"({"messages": [{"role": "user", "content": "x"}], "tools": [
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 12}}, "required": ["n"]}}},
    {"type": "function", "function": {"name": "stop-it", "parameters": {"type": "object", "properties": {}, "additionalProperties": false}}}]})");
  body.update(more);
  check(body, fields::chat);
  return body;
}
std::string message_of(const json& body, const answer_form& form, bool in_thought = false) {
  try {
    chat_constraint(body, form, in_thought);
  } catch (const api_error& e) {
    return e.what();
  }
  return "taken";
}
// A text of the grammar: at each step a byte that goes on, and at the end none.
std::string random_text(const wanted_grammar& w, u64 seed) {
  grammar_automaton a(w.of);
  auto s = a.start();
  std::string text;
  while (!a.complete(s) && !(a.accepts(s) && uniform(seed, text.size() + 100000) < 0.3)) {
    std::vector<u8> fitting;
    for (u32 byte = 32; byte < 127; ++byte)
      if (a.next(s, static_cast<u8>(byte)) != grammar_automaton::dead) fitting.push_back(static_cast<u8>(byte));
    if (fitting.empty()) fitting.push_back('\n');
    const u8 byte = fitting[static_cast<std::size_t>(uniform(seed, text.size()) * static_cast<double>(fitting.size()))];
    text += static_cast<char>(byte), s = a.next(s, byte);
    REQUIRE(s != grammar_automaton::dead);
  }
  return text;
}

}  // namespace

TEST_CASE("constraint: calls that fit the grammar are calls to the parser, in every form") {
  for (const tool_form& form : tool_forms)
    for (const bool one : {false, true}) {
      const json choice = one ? json{{"type", "function"}, {"function", {{"name", "add"}}}} : json("required");
      const wanted_grammar w = chat_constraint(with_tools({{"tool_choice", choice}}), form_of(form.name), false);
      CHECK(w.place.think == 7);
      std::size_t most = 0, names = 0;
      for (u64 seed = 0; seed < 40; ++seed) {
        const std::string text = random_text(w, seed);
        CAPTURE(text);
        tool_call_parser parser(form, {"add", "stop-it"});
        std::vector<tool_part> parts = parser.feed(text);
        std::ranges::move(parser.finish(), std::back_inserter(parts));
        std::size_t calls = 0;
        for (const tool_part& p : parts) {
          CHECK(p.text.empty());
          for (const tool_call& c : p.calls) {
            const json arguments = json::parse(c.arguments);
            if (c.name == "add") CHECK((arguments["n"] >= 3 && arguments["n"] <= 12));
            else CHECK((!one && arguments.empty()));
            ++calls, names |= c.name == "add" ? 1u : 2u;
          }
        }
        CHECK(calls >= 1);
        most = std::max(most, calls);
      }
      CHECK(one == (most == 1));
      CHECK(names == (one ? 1u : 3u));
    }
}

TEST_CASE("constraint: where an answer's form begins") {
  const json schema{{"response_format", {{"type", "json_schema"}, {"json_schema", {{"name", "x"}, {"schema", {{"type", "integer"}}}}}}}};
  json plain{{"messages", {{{"role", "user"}, {"content", "x"}}}}};
  CHECK(chat_constraint(plain, form_of("hermes"), false).of == nullptr);
  plain.update(schema);
  const wanted_grammar w = chat_constraint(plain, form_of("hermes"), true);
  CHECK(w.place.in_thought);
  CHECK(w.marks.empty());
  CHECK(w.place.mark == no_token);
  CHECK(random_text(w, 1).find_first_not_of("-0123456789") == std::string::npos);

  // Tools beside a schema: a call or a document. A strict tool alone: free up to the mark.
  const wanted_grammar either = chat_constraint(with_tools(schema), form_of("hermes"), false);
  bool call = false, document = false;
  for (u64 seed = 0; seed < 20; ++seed) (random_text(either, seed)[0] == '<' ? call : document) = true;
  CHECK((call && document));
  json strict = with_tools();
  CHECK(chat_constraint(strict, form_of("hermes"), false).of == nullptr);
  strict["tools"][0]["function"]["strict"] = true;
  CHECK(chat_constraint(strict, form_of("hermes"), false).place.mark == 9);
  CHECK(random_text(chat_constraint(strict, form_of("hermes"), false), 1).starts_with("\n{"));
  strict["tool_choice"] = "none";
  CHECK(chat_constraint(strict, form_of("hermes"), false).of == nullptr);
}

TEST_CASE("constraint: at most one call where calls may not be parallel") {
  const json single{{"parallel_tool_calls", false}};
  const wanted_grammar lazy = chat_constraint(with_tools(single), form_of("hermes"), false);
  CHECK(lazy.place.mark == 9);
  CHECK(lazy.place.once);
  json forced = with_tools(single);
  forced["tool_choice"] = "required";
  const wanted_grammar w = chat_constraint(forced, form_of("hermes"), false);
  CHECK_FALSE(w.place.once);
  const std::string mark(form_of("hermes").calls->open);
  for (u64 seed = 0; seed < 20; ++seed) {
    const std::string text = random_text(w, seed);
    CHECK(text.starts_with(mark));
    CHECK(text.find(mark, 1) == std::string::npos);
  }
  CHECK(chat_constraint(with_tools({{"parallel_tool_calls", true}}), form_of("hermes"), false).of == nullptr);
  CHECK(message_of(with_tools(single), form_of("llama3")) == "parallel_tool_calls: false only with tool_choice required: the model's calls do not begin with a token of their own");
  CHECK(message_of(with_tools({{"parallel_tool_calls", false}, {"grammar", "root ::= \"a\""}}), form_of("hermes")) == "parallel_tool_calls: true beside a grammar");
}

TEST_CASE("constraint: what cannot be held to is refused") {
  const json object{{"response_format", {{"type", "json_object"}}}}, grammar{{"grammar", "root ::= \"a\""}}, required{{"tool_choice", "required"}};
  const auto both = [](json a, const json& b) { return a.update(b), a; };
  const answer_form hermes = form_of("hermes"), none{}, unmarked{.thoughts = true};
  json strict = with_tools();
  strict["tools"][0]["function"]["strict"] = true;
  CHECK(message_of(with_tools(both(object, grammar)), hermes) == "grammar: not beside a response_format");
  CHECK(message_of(with_tools(both(required, grammar)), hermes) == "tool_choice: auto or none beside a grammar");
  CHECK(message_of(with_tools(required), none) == "tool_choice: auto or none: the model's template teaches no form of calls that is known");
  CHECK(message_of(with_tools(both(required, {{"tools", json::array()}})), hermes) == "tool_choice: expected tools to choose from, found none");
  CHECK(message_of(strict, form_of("llama3")) == "tools: strict only with tool_choice required: the model's calls do not begin with a token of their own");
  CHECK(message_of(strict, none) == "tools: strict: the model's template teaches no form of calls that is known");
  CHECK(message_of(both(strict, grammar), hermes) == "tools: strict not beside a grammar");
  CHECK(message_of(with_tools(both(object, {{"tools", nullptr}})), unmarked, true) == "response_format: the end of the model's thoughts is no token of its own");
  CHECK(message_of(with_tools({{"response_format", {{"type", "json_schema"}}}}), hermes) == "response_format.json_schema: expected a schema, found none");
  CHECK(message_of(with_tools({{"grammar", "root ::= "}}), hermes) == "taken");
  CHECK(message_of(with_tools({{"grammar", "root"}}), hermes) == "grammar: line 1: expected ::=, found the end");
  // Without `strict` a schema of arguments is advice.
  json odd = with_tools(required);
  odd["tools"][0]["function"]["parameters"]["not"] = json::object();
  CHECK(message_of(odd, hermes) == "taken");
  odd["tools"][0]["function"]["strict"] = true;
  CHECK(message_of(odd, hermes) == "tools.add.parameters.not: expected a keyword that a grammar can express, found 'not'");
}
