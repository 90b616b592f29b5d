// SPDX-License-Identifier: MIT
// json_schema.cpp: grammars of schemas against what the PyPI package jsonschema says of the same texts.
#include <doctest/doctest.h>

#include <fstream>

#include <cke/io/json_schema.hpp>
#include <cke/text/grammar/automaton.hpp>
#include <cke/text/grammar/gbnf.hpp>

namespace json_schema_test {

using namespace cke;
using namespace cke::io;
using namespace cke::text;
namespace {

using json = nlohmann::ordered_json;

grammar_automaton automaton_of(const json& schema) {
  return grammar_automaton(
      std::make_shared<grammar>(parse_gbnf(json_schema_gbnf(schema, "schema.json"), "its grammar")));
}
bool accepts(grammar_automaton& a, std::string_view text) {
  auto s = a.start();
  for (const char c : text) s = a.next(s, static_cast<u8>(c));
  return a.accepts(s);
}

}  // namespace

TEST_CASE("json_schema: allows and refuses what jsonschema does") {
  std::ifstream file(CKE_TEST_DATA "/json_schemas.json");
  for (const json& row : json::parse(file)) {
    auto a = automaton_of(row["schema"]);
    CAPTURE(row["schema"].dump());
    for (const json& text : row["yes"]) CHECK_MESSAGE(accepts(a, text.get<std::string>()), text.get<std::string>());
    for (const json& text : row["no"]) CHECK_MESSAGE(!accepts(a, text.get<std::string>()), text.get<std::string>());
  }
}

TEST_CASE("json_schema: white space, escapes and numbers as JSON has them") {
  const std::pair<json, std::pair<std::vector<const char*>, std::vector<const char*>>> table[] = {
      {true,
       {{"{\n    \"a\": [\n        1,\n        2\n    ],\n    \"b\": {}\n}", "[ 1 , 2 ]", R"("\u00e9\n\ud83d\ude00\/")",
         "-0.5E+10", "\"\xF0\x9F\x98\x80\""},
        {"{\"a\":1,}", "[1,]", R"("\ud83d")", R"("\ude00")", R"("\ud83dx")", "\"\n\"", "01", "1.", ".5", "+1", "-",
         "\"\xFF\"", "\"\xED\xA0\x80\"", "nul", "{a:1}", " 1", "1 "}}},
      {{{"type", "object"}, {"properties", {{"a", true}}}, {"additionalProperties", true}},
       {{R"({"a":1})", R"({"b":1})", R"({"a":1,"aa":2})"},
        {R"({"b":1,"a":1})", R"({"\u0061":1})", R"({"a":1,"a":2})"}}},
      {{{"type", "object"}, {"required", {"x", "x"}}}, {{R"({"x":1})"}, {R"({"x":1,"x":1})"}}},
      {{{"const", {{"a", {1, "é"}}}}}, {{R"({"a":[1,"é"]})"}, {R"({"a": [1,"é"]})"}}},
      // Types beside a list of schemas hold for each of them, and limits beside a list of values for each of these.
      {json::parse(R"({"type": "integer", "anyOf": [{"maximum": -10}, {"minimum": 10}]})"),
       {{"-10", "12"}, {"10.5", "3", "\"a\""}}},
      {json::parse(R"({"type": "string", "anyOf": [{"format": "date"}, {"format": "time"}]})"),
       {{"\"2024-02-29\""}, {"5", "{}", "\"x\""}}},
      {json::parse(R"({"type": ["integer", "null"], "oneOf": [{"type": "null"}, {"type": "integer", "minimum": 5}]})"),
       {{"null", "7"}, {"4", "\"a\""}}},
      {json::parse(R"({"type": "number", "allOf": [{"$ref": "#/$defs/n"}], "$defs": {"n": {"type": "integer"}}})"),
       {{"3"}, {"3.5", "\"a\""}}},
      {json::parse(R"({"enum": [1, 2, 3, "ab", "abc", "é"], "minimum": 2, "exclusiveMaximum": 3, "maxLength": 2})"),
       {{"2", "\"ab\"", "\"é\""}, {"1", "3", "\"abc\""}}},
      {json::parse(R"({"type": "integer", "minimum": 1000000000000000})"),
       {{"1000000000000000", "9999999999999999"}, {"999999999999999"}}},
  };
  for (const auto& [schema, texts] : table) {
    auto a = automaton_of(schema);
    for (const char* text : texts.first) CHECK_MESSAGE(accepts(a, text), text);
    for (const char* text : texts.second) CHECK_MESSAGE(!accepts(a, text), text);
  }
}

TEST_CASE("json_schema: what a grammar cannot say is refused by name") {
  const std::pair<const char*, const char*> table[] = {
      {R"({"type": "object", "properties": {"a": {"type": "number", "multipleOf": 2}}})",
       "schema.json: schema.properties.a.multipleOf: expected a keyword that a grammar can express, found "
       "'multipleOf'"},
      {R"({"type": "array", "uniqueItems": true})",
       "schema.json: schema.uniqueItems: expected a keyword that a grammar can express, found 'uniqueItems'"},
      {R"({"not": {}})", "schema.json: schema.not: expected a keyword that a grammar can express, found 'not'"},
      {R"(false)", "schema.json: schema: expected a schema that something fits, found false"},
      {R"(3)", "schema.json: schema: expected a schema: an object, true or false, found 3"},
      {R"({"type": "strin"})",
       "schema.json: schema.type: expected object, array, string, number, integer, boolean or null, found strin"},
      {R"({"$ref": "#/$defs/x"})", "schema.json: schema.$ref: expected something at that path, found #/$defs/x"},
      {R"({"$ref": "http://x/y"})",
       "schema.json: schema.$ref: expected a path within the schema, such as #/$defs/name, found \"http://x/y\""},
      {R"({"$ref": "#"})", "its grammar: rule 'root': expected a text that fits it, found none"},
      {R"({"$ref": "#/$defs/x", "minimum": 1, "$defs": {"x": {}}})",
       "schema.json: schema: expected $ref, anyOf, oneOf and allOf alone, without other limits, found 'minimum' beside "
       "them"},
      {R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})",
       "schema.json: schema.oneOf: expected schemas that no document fits two of: by their types, or a required "
       "property of different values, found 0 and 1"},
      {R"({"allOf": [{}, {}]})", "schema.json: schema.allOf: expected one schema in allOf, found 2"},
      {R"({"type": "number", "minimum": 0.5})",
       "schema.json: schema.minimum: expected a whole number of at most 15 digits, found 0.5"},
      {R"({"type": "integer", "minimum": 5, "maximum": 4})",
       "schema.json: schema: expected bounds that some number is within, found "
       "{\"type\":\"integer\",\"minimum\":5,\"maximum\":4}"},
      {R"({"type": "string", "pattern": "^(?=a)b$"})",
       "schema.json: schema.pattern: expected a pattern of characters, classes, groups, alternatives and counts, with "
       "^ and $ around the whole, found '^(?=a)b$' with '(?=a)b$' in it"},
      {R"({"type": "string", "pattern": "a{2"})",
       "schema.json: schema.pattern: expected a pattern of characters, classes, groups, alternatives and counts, with "
       "^ and $ around the whole, found 'a{2' with '{2' in it"},
      {R"({"type": "string", "minLength": -1})",
       "schema.json: schema.minLength: expected a whole number up to 100000, found -1"},
      {R"({"type": "object", "properties": {}, "required": ["a"], "additionalProperties": false})",
       "schema.json: schema.required: expected names of properties, found 'a'"},
      {R"({"enum": []})", "schema.json: schema.enum: expected a list of values, found []"},
      {R"({"type": "integer", "minimum": 0, "maximum": 100, "exclusiveMaximum": false})",
       "schema.json: schema.exclusiveMaximum: expected a whole number of at most 15 digits, found false"},
      {R"({"type": "integer", "minimum": "5"})",
       "schema.json: schema.minimum: expected a whole number of at most 15 digits, found \"5\""},
      {R"({"type": "string", "anyOf": [{"type": "string"}, {"type": "null"}]})",
       "schema.json: schema.anyOf[1]: expected types within those beside the list, found \"null\""},
      {R"({"type": "string", "$ref": "#/$defs/x", "$defs": {"x": {"type": "integer"}}})",
       "schema.json: schema.type: expected none beside $ref, or one that what it refers to is within, found "
       "\"string\""},
      {R"({"enum": [1, 2], "minimum": 3})",
       "schema.json: schema: expected a value of its type and limits among those it lists, found none"},
      {R"({"enum": ["a"], "pattern": "^b$"})",
       "schema.json: schema.pattern: expected no such limit beside values that are listed, found 'pattern'"},
      {R"({"type": "string", "enum": [1]})",
       "schema.json: schema: expected a value of its type and limits among those it lists, found none"},
  };
  for (const auto& [schema, message] : table) {
    CAPTURE(schema);
    CHECK_THROWS_WITH_AS(parse_gbnf(json_schema_gbnf(json::parse(schema), "schema.json"), "its grammar"), message,
                         Error);
  }
  // What would take hours, or the stack.
  json many;
  for (int i = 0; i < 20'000; ++i) many["oneOf"].push_back(json::parse("{\"const\": " + std::to_string(i) + "}"));
  CHECK_THROWS_AS(json_schema_gbnf(many, "schema.json"), Error);
  json alike = json::parse(R"({"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]})");
  for (const std::string name : {"a", "b"})
    for (int i = 0; i < 200; ++i) {
      const std::string key = "p" + std::to_string(i);
      json& of = alike["$defs"][name];
      of["properties"][key]["$ref"] = "#/$defs/" + name;
      of["required"].push_back(key);
    }
  CHECK_THROWS_WITH_AS(json_schema_gbnf(alike, "schema.json"),
                       "schema.json: schema.oneOf: expected schemas that are soon told apart, found others", Error);
  json named;
  named["properties"][std::string(100'000, 'a')] = true;
  named["additionalProperties"] = true;
  CHECK_THROWS_WITH_AS(json_schema_gbnf(named, "schema.json"),
                       "schema.json: schema.additionalProperties: expected names of at most 1024 bytes where there may "
                       "be others, found 100000",
                       Error);
  named["additionalProperties"] = false;
  auto alone = automaton_of(named);
  CHECK(accepts(alone, "{}"));
  json list;
  for (int i = 0; i < 60'000; ++i) list["required"].push_back("n" + std::to_string(i));
  CHECK_THROWS_AS(json_schema_gbnf(list, "schema.json"), Error);
  json deep = true;
  for (int i = 0; i < 100; ++i) deep = {{"type", "array"}, {"items", deep}};
  CHECK_THROWS_AS(json_schema_gbnf(deep, "schema.json"), Error);
}

}  // namespace json_schema_test
