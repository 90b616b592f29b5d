// SPDX-License-Identifier: MIT
// check.cpp: bodies against their tables: what is wrong is named, and what is right goes through.
#include <cke/serve/check.hpp>

#include <doctest/doctest.h>

#include <cke/serve/body.hpp>
#include <cke/serve/openapi.hpp>

using namespace cke::serve;

namespace {

const request_limits limits;

// "param code", or "" where nothing is wrong. Every refusal is a 400 of the request's fault.
std::string wrong(std::string_view text, std::span<const field> table) {
  try {
    check(parse_body(text, limits), table);
  } catch (const api_error& e) {
    CHECK(e.status == 400);
    CHECK(e.type == "invalid_request_error");
    CHECK(std::string_view(e.what()).size() < 400);
    return e.param + ' ' + e.code;
  }
  return {};
}
std::string wrong_chat(const std::string& more) {
  return wrong(R"({"messages":[{"role":"user","content":"x"}],)" + more + "}", fields::chat);
}
std::string wrong_text(const std::string& more) { return wrong(R"({"prompt":"x",)" + more + "}", fields::completion); }

}  // namespace

TEST_CASE("what is no JSON object is refused, not guessed at") {
  for (const std::string_view text : {"",
                                      " ",
                                      "null",
                                      "[]",
                                      "1",
                                      "\"x\"",
                                      "{",
                                      "{}}",
                                      "{\"prompt\":}",
                                      "{'prompt':1}",
                                      "{\"prompt\":\"\xff\"}",
                                      "{\"prompt\":\"\xc0\xaf\"}",
                                      "{\"prompt\":\"\xed\xa0\x80\"}",
                                      R"({"prompt":"\ud800"})",
                                      R"({"prompt":"\udc00 "})",
                                      R"({"seed":1e999})",
                                      R"({"seed":NaN})",
                                      R"({"seed":Infinity})",
                                      R"({"seed":01})",
                                      R"({"prompt":"x","prompt":"x"})",
                                      R"({"prompt":"x","\u0070rompt":"y"})",
                                      "{\"prompt\":\"a\nb\"}",
                                      "\xEF\xBB\xBF{}",
                                      "{}\x01"}) {
    CAPTURE(text);
    CHECK(wrong(text, fields::completion) == " invalid_json");
  }
  CHECK(wrong(std::string_view("{}\0", 3), fields::completion) == " invalid_json");
  CHECK(wrong(std::string_view("{\"prompt\":\"a\0b\"}", 16), fields::completion) == " invalid_json");
}

TEST_CASE("depth, values and keys are bounded while they are read") {
  const auto nested = [](std::size_t n) { return "{\"prompt\":" + std::string(n, '[') + std::string(n, ']') + "}"; };
  CHECK(wrong(nested(limits.depth), fields::completion) == " invalid_json");
  CHECK(wrong(nested(100'000), fields::completion) == " invalid_json");
  CHECK(wrong(nested(2), fields::completion) != " invalid_json");
  std::string values = "{\"prompt\":[0";
  for (std::size_t i = 0; i < limits.values; ++i) values += ",0";
  CHECK(wrong(values + "]}", fields::completion) == " invalid_json");
  std::string keys = "{\"logit_bias\":{\"0\":0";
  for (std::size_t i = 1; i <= limits.keys; ++i) keys += ",\"" + std::to_string(i) + "\":0";
  CHECK(wrong(keys + "}}", fields::completion) == " invalid_json");
}

TEST_CASE("every field of every table: its wrong types, its bounds, null") {
  const struct {
    std::span<const field> table;
    std::string body;  // the required fields, and room for one more
  } tables[] = {{fields::completion, R"({"prompt":"x",)"},
                {fields::chat, R"({"messages":[{"role":"user","content":"x"}],)"}};
  for (const auto& [table, body] : tables)
    for (const field& f : table) {
      if (f.required) continue;
      const std::string name(f.name), key = body + '"' + name + "\":";
      CAPTURE(name);
      CHECK(wrong(key + "null}", table) == "");
      if (!f.neutral.empty()) {
        CHECK(wrong(key + "\"something else\"}", table) == name + " unsupported_parameter");
        for (const json& fine : json::parse(f.neutral)) CHECK(wrong(key + fine.dump() + "}", table) == "");
        continue;
      }
      const bool takes_text = f.is == kind::text || f.is == kind::texts || f.is == kind::word;
      CHECK((wrong(key + "\"x\"}", table) == "") == (takes_text && f.is != kind::word));
      CHECK((wrong(key + "true}", table) == "") == (f.is == kind::boolean));
      CHECK(wrong(key + "[[0]]}", table) != "");
      if (f.is != kind::integer && f.is != kind::number) continue;
      if (f.most <= fields::any) {  // beyond it a double is no integer
        CHECK(wrong(key + json(f.least).dump() + "}", table) == "");
        CHECK(wrong(key + json(f.most).dump() + "}", table) == "");
        CHECK(wrong(key + json(f.least - 1).dump() + "}", table) == name + " invalid_value");
        CHECK(wrong(key + json(f.most * 2 + 1).dump() + "}", table) != "");
      }
      CHECK(wrong(key + "1e300}", table) != "");
      CHECK(wrong(key + "99999999999999999999999}", table) != "");
      CHECK(wrong(key + "\"1\"}", table) == name + " invalid_type");
      if (f.is == kind::integer) CHECK(wrong(key + "1.5}", table) == name + " invalid_type");
      if (f.is == kind::integer) CHECK(wrong(key + "1.0}", table) == "");
    }
}

TEST_CASE("errors say where") {
  const struct {
    std::string got, want;
  } rows[] = {
      {wrong("{}", fields::chat), "messages missing_required_parameter"},
      {wrong(R"({"messages":null})", fields::chat), "messages missing_required_parameter"},
      {wrong(R"({"messages":[]})", fields::chat), "messages invalid_value"},
      {wrong(R"({"messages":{}})", fields::chat), "messages invalid_type"},
      {wrong(R"({"messages":["x"]})", fields::chat), "messages[0] invalid_type"},
      {wrong(R"({"messages":[{"content":"x"}]})", fields::chat), "messages[0].role missing_required_parameter"},
      {wrong(R"({"messages":[{"role":"user","content":"x"},{"role":"boss","content":"x"}]})", fields::chat),
       "messages[1].role invalid_value"},
      {wrong(R"({"messages":[{"role":"user","content":[{"type":"input_audio","text":""}]}]})", fields::chat),
       "messages[0].content[0].type invalid_value"},
      {wrong(R"({"messages":[{"role":"user","content":7}]})", fields::chat), "messages[0].content invalid_type"},
      {wrong(R"({"messages":[{"role":"assistant","tool_calls":[{"function":{"name":""}}]}]})", fields::chat),
       "messages[0].tool_calls[0].function.name invalid_value"},
      {wrong_chat(R"("tools":[{"type":"function","function":{"name":"f","strict":1}}])"),
       "tools[0].function.strict invalid_type"},
      {wrong_chat(R"("tool_choice":"required")"), ""},
      {wrong_chat(R"("tool_choice":"any")"), "tool_choice invalid_value"},
      {wrong_chat(R"("tool_choice":1)"), "tool_choice invalid_type"},
      {wrong_chat(R"("tool_choice":{"type":"function","function":{"name":"f"}})"), ""},
      {wrong_chat(R"("tool_choice":{"type":"function","function":{}})"),
       "tool_choice.function.name missing_required_parameter"},
      {wrong_chat(R"("tool_choice":{"type":"allowed_tools"})"), "tool_choice.type invalid_value"},
      {wrong_chat(R"("response_format":{"type":"json_object"})"), ""},
      {wrong_chat(R"("response_format":{"type":"xml"})"), "response_format.type invalid_value"},
      {wrong_chat(R"("response_format":{"type":"json_schema","json_schema":{"name":"x","schema":1}})"),
       "response_format.json_schema.schema invalid_type"},
      {wrong_chat(R"("response_format":{"type":"text"})"), ""},
      {wrong_chat(R"("stop":["a",""])"), "stop[1] invalid_value"},
      {wrong_chat(R"("stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"])"),
       "stop invalid_value"},
      {wrong_chat(R"("stream":true,"stream_options":{"include_usage":1})"),
       "stream_options.include_usage invalid_type"},
      {wrong_chat(R"("best_of":1)"), "'best_of' unknown_parameter"},
      {wrong_chat(R"("top_p":1.0000001)"), "top_p invalid_value"},
      {wrong_chat(R"("seed":9223372036854775807,"n":16)"), ""},
      {wrong_text(R"("logit_bias":{"50256":-100})"), ""},
      {wrong_text(R"("logit_bias":{"-1":1})"), "logit_bias.'-1' invalid_value"},
      {wrong_text(R"("logit_bias":{"12345678901":1})"), "logit_bias.'12345678901' invalid_value"},
      {wrong_text(R"("logit_bias":{"1":101})"), "logit_bias.'1' invalid_value"},
      {wrong_text(R"("logprobs":true)"), "logprobs invalid_type"},
      {wrong(R"({"prompt":[]})", fields::completion), "prompt invalid_value"},
      {wrong(R"({"prompt":[1,-1]})", fields::completion), "prompt invalid_value"},
      {wrong(R"({"prompt":[1,"x"]})", fields::completion), "prompt invalid_value"},
      {wrong(R"({"prompt":["x",1]})", fields::completion), "prompt[1] invalid_type"},
      {wrong(R"({"prompt":[[1],["x"]]})", fields::completion), "prompt[1] invalid_value"},
      {wrong(R"({"prompt":[[1],[2,3.0]]})", fields::completion), ""},
      {wrong(R"({"prompt":[{}]})", fields::completion), "prompt[0] invalid_type"},
      {wrong(R"({"tokens":[4294967296]})", fields::detokenize), "tokens invalid_value"},
  };
  for (const auto& r : rows) CHECK(r.got == r.want);
}

TEST_CASE("the document has every route and every field, and nothing else") {
  const json doc = openapi_document("0", true, 100);
  CHECK(doc["paths"].size() == std::size(routes));
  for (const route& r : routes) {
    std::string path(r.path), method(r.method == "GET" ? "get" : "post");
    if (path.ends_with('/') && path.size() > 1) path += "{model}";
    CAPTURE(path);
    const json& operation = doc["paths"][path][method];
    CHECK(operation.contains("security") == !r.open);
    if (r.method != "POST") continue;
    const json& schema = operation["requestBody"]["content"]["application/json"]["schema"];
    CHECK(schema["properties"].size() == r.body.size());
    CHECK(schema["additionalProperties"] == false);
    for (const field& f : r.body) CHECK(schema["properties"].contains(f.name));
  }
  const json& messages = doc["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]
                            ["schema"]["properties"]["messages"];
  CHECK(messages["items"]["properties"]["role"]["enum"] == json(fields::roles));
  CHECK(openapi_document("0", false, 100).dump().find("securitySchemes") == std::string::npos);
}
