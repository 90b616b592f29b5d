// SPDX-License-Identifier: MIT
// constraint.cpp: what requests say of an answer's form, and whether calls that fit are calls to the parser.
#include <cke/serve/constraint.hpp>

#include <doctest/doctest.h>

#include <cke/serve/check.hpp>
#include <cke/text/chat/tool_calls.hpp>
#include <cke/text/grammar/automaton.hpp>
#include <cke/text/sampling/random.hpp>

using namespace cke;
using namespace cke::io;
using namespace cke::text;
using namespace cke::serve;

namespace {

answer_form form_of(std::string_view name) {
  const tool_form* calls = std::ranges::find(tool_forms, name, &tool_form::name);
  return {
      .think = 7, .end_think = 8, .thoughts = true, .calls = calls, .open_mark = calls->open.empty() ? no_token : 9};
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
  } catch (const api_error& e) { return e.what(); }
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
        tool_call_parser parser(form, {{"add"}, {"stop-it"}});
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

// What the parser of `form` makes of a text that the grammar of the function f with these parameters allows; "refused"
// where it does not.
std::string arguments_of(std::string_view form, const json& parameters, const std::string& text, bool strict = false) {
  const json function{{"name", "f"}, {"parameters", parameters}, {"strict", strict}};
  json body = with_tools({{"tool_choice", "required"}});
  body["tools"] = json::array({{{"type", "function"}, {"function", function}}});
  const wanted_grammar w = chat_constraint(body, form_of(form), false);
  grammar_automaton a(w.of);
  auto s = a.start();
  for (const char c : text) s = a.next(s, static_cast<u8>(c));
  if (!a.accepts(s)) return "refused";
  tool_call_parser parser(*form_of(form).calls, {read_tool_signature(function)});
  auto parts = parser.feed(text);
  std::ranges::move(parser.finish(), std::back_inserter(parts));
  REQUIRE(parts.size() == 1);
  REQUIRE(parts[0].calls.size() == 1);
  return parts[0].calls[0].arguments;
}

TEST_CASE("constraint: calls in tags have the parameters of their schema, each of its kind") {
  const json schema = json::parse(
      R"({"type": "object", "$defs": {"unit": {"enum": ["km", "mi", 5]}}, "required": ["s", "z"], "properties": {"s": {"type": "string"},
    "n": {"type": "integer", "minimum": 3}, "o": {"type": "array", "items": {"$ref": "#/$defs/unit"}, "uniqueItems": true}, "u": {"$ref": "#/$defs/unit"}, "e": {"enum": ["a b", "c", null]}}})");
  const auto coder = [&](const std::string& inner, bool strict = false) {
    return arguments_of("qwen3_coder", schema, "<tool_call>\n<function=f>\n" + inner + "</function>\n</tool_call>",
                        strict);
  };
  const auto given = [](const std::string& key, const std::string& value) {
    return "<parameter=" + key + ">\n" + value + "\n</parameter>\n";
  };
  const std::string s = given("s", "x"), z = given("z", "1");
  CHECK(coder(s + z) == R"({"s":"x","z":1})");
  for (const std::string text : {"", "\n", "a\n\n", "<", "</", "<</parameter", "</parameter\n",
                                 "</function>\n</tool_call>", "\xc3\xa9 \"\\ \xf0\x9f\x8c\x8a"}) {
    CAPTURE(text);
    CHECK(json::parse(coder(given("s", text) + z))["s"] == text);
  }
  CHECK(coder(s + given("n", "4") + given("e", "a b") + z) == R"({"s":"x","n":4,"e":"a b","z":1})");
  CHECK(coder(s + given("o", "[\"km\",\"mi\"]") + z) == R"({"s":"x","o":["km","mi"],"z":1})");
  for (const std::string& wrong :
       {z, z + s, s, s + given("n", "2") + z, s + given("n", "x") + z, s + given("e", "d") + z,
        s + given("o", "km") + z, s + s + z, s + given("x", "1") + z, s + z + "x"}) {
    CAPTURE(wrong);
    CHECK(coder(wrong) == "refused");
  }
  // GLM's: a line for each tag, or all in one
  const std::string glm =
      "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>a < "
      "b</arg_value>\n<arg_key>z</arg_key>\n<arg_value></arg_value>\n</tool_call>";
  std::string in_one = glm;
  std::erase(in_one, '\n');
  for (const std::string& text : {glm, in_one}) CHECK(arguments_of("glm4", schema, text) == R"({"s":"a < b","z":""})");
  CHECK(arguments_of("glm4", schema, glm + "x") == "refused");
  CHECK(arguments_of("glm4", true, "<tool_call>f</tool_call>") == "{}");

  // What a strict function is held to must be sayable.
  const auto refusal = [&](const json& property) {
    try {
      return arguments_of("glm4", {{"properties", {{"p", property}}}}, "<tool_call>f</tool_call>", true);
    } catch (const api_error& e) { return std::string(e.what()); }
  };
  CHECK(refusal({{"type", "string"}}) == "{}");
  CHECK(refusal({{"type", {"string", "null"}}}) == "{}");
  CHECK(refusal({{"enum", {"a", 1}}}) == "{}");
  CHECK(refusal({{"type", "string"}, {"maxLength", 3}}) ==
        "tools.f.parameters.p: expected texts without limits, or of an enum, where calls are in tags, found maxLength");
  CHECK(refusal({{"type", {"string", "object"}}}) ==
        "tools.f.parameters.p: expected parameters that may be texts to be nothing else but booleans or null, found "
        "more");
  CHECK(refusal({{"type", "integer"}, {"multipleOf", 2}}) ==
        "tools.f.parameters.p.multipleOf: expected a keyword that a grammar can express, found 'multipleOf'");
  CHECK(refusal({{"enum", {"</arg_value>"}}}) ==
        "tools.f.parameters.p: expected texts without the tag that ends a value, found </arg_value>");
  CHECK_THROWS_WITH_AS(arguments_of("glm4", {{"properties", {{"<", true}}}}, ""),
                       "tools.f: expected names without < and > where calls are in tags, found <", api_error);
}

TEST_CASE("constraint: where an answer's form begins") {
  const json schema{{"response_format",
                     {{"type", "json_schema"}, {"json_schema", {{"name", "x"}, {"schema", {{"type", "integer"}}}}}}}};
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
  CHECK(message_of(with_tools(single), form_of("llama3")) ==
        "parallel_tool_calls: false only with tool_choice required: the model's calls do not begin with a token of "
        "their own");
  CHECK(message_of(with_tools({{"parallel_tool_calls", false}, {"grammar", "root ::= \"a\""}}), form_of("hermes")) ==
        "parallel_tool_calls: true beside a grammar");
}

TEST_CASE("constraint: a parameter whose schemas refer to one another without end is of any kind, at once") {
  json function = json::parse(R"({"name": "f", "parameters": {"type": "object",
    "properties": {"n": {"type": "null"}, "p": {"$ref": "#/$defs/x"}}}})");
  json again;
  again["$ref"] = "#/$defs/x";
  for (int i = 0; i < 32; ++i) function["parameters"]["$defs"]["x"]["anyOf"].push_back(again);
  const tool_signature tool = read_tool_signature(function);
  CHECK(tool.parameters.at(0).kinds == json_kinds::null);
  CHECK(tool.parameters.at(1).kinds == json_kinds::any);
}

TEST_CASE("constraint: what cannot be held to is refused") {
  const json object{{"response_format", {{"type", "json_object"}}}}, grammar{{"grammar", "root ::= \"a\""}},
      required{{"tool_choice", "required"}};
  const auto both = [](json a, const json& b) { return a.update(b), a; };
  const answer_form hermes = form_of("hermes"), none{}, unmarked{.thoughts = true};
  json strict = with_tools();
  strict["tools"][0]["function"]["strict"] = true;
  CHECK(message_of(with_tools(both(object, grammar)), hermes) == "grammar: not beside a response_format");
  CHECK(message_of(with_tools(both(required, grammar)), hermes) == "tool_choice: auto or none beside a grammar");
  CHECK(message_of(with_tools(required), none) ==
        "tool_choice: auto or none: the model's template teaches no form of calls that is known");
  CHECK(message_of(with_tools(both(required, {{"tools", json::array()}})), hermes) ==
        "tool_choice: expected tools to choose from, found none");
  CHECK(message_of(strict, form_of("llama3")) ==
        "tools: strict only with tool_choice required: the model's calls do not begin with a token of their own");
  CHECK(message_of(strict, none) == "tools: strict: the model's template teaches no form of calls that is known");
  CHECK(message_of(both(strict, grammar), hermes) == "tools: strict not beside a grammar");
  CHECK(message_of(with_tools(both(object, {{"tools", nullptr}})), unmarked, true) ==
        "response_format: the end of the model's thoughts is no token of its own");
  CHECK(message_of(with_tools({{"response_format", {{"type", "json_schema"}}}}), hermes) ==
        "response_format.json_schema: expected a schema, found none");
  CHECK(message_of(with_tools({{"grammar", "root ::= "}}), hermes) == "taken");
  CHECK(message_of(with_tools({{"grammar", "root"}}), hermes) == "grammar: line 1: expected ::=, found the end");
  // Without `strict` a schema of arguments is advice.
  json odd = with_tools(required);
  odd["tools"][0]["function"]["parameters"]["not"] = json::object();
  CHECK(message_of(odd, hermes) == "taken");
  // Nothing stays of what was refused, such as the name of a definition that could not be written.
  const char* const advice[]{
      R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/w"}, "b": {"$ref": "#/$defs/w"}},
          "$defs": {"w": {"type": "object", "properties": {"n": {"type": "number", "minimum": 0.5}}}}})",
      R"({"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"type": "object",
          "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                         "weight": {"type": "number", "minimum": 0.5}}}}})"};
  for (const char* schema : advice)
    for (const char* form : {"hermes", "qwen3_coder"}) {
      json now = with_tools(required);
      now["tools"][0]["function"]["parameters"] = json::parse(schema);
      CHECK(message_of(now, form_of(form)) == "taken");
    }
  odd["tools"][0]["function"]["strict"] = true;
  CHECK(message_of(odd, hermes) ==
        "tools.add.parameters.not: expected a keyword that a grammar can express, found 'not'");
}
