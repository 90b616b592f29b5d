// SPDX-License-Identifier: MIT
// tool_calls.cpp: the calls in an answer, in each family's form, however the text was cut into pieces.
#include <doctest/doctest.h>

#include <cke/text/tool_calls.hpp>

using namespace cke;

namespace {

const tool_form& form(std::string_view name) { return *std::ranges::find(tool_forms, name, &tool_form::name); }

// "text|name(arguments)|..." in order
std::string read(std::string_view form_name, std::string_view text, std::size_t step) {
  tool_call_parser parser(form(form_name), {"f", "get_weather"});
  std::string all;
  bool in_text = false;
  const auto add = [&](const std::vector<tool_part>& parts) {
    for (const tool_part& p : parts) {
      if (!p.text.empty() && !in_text) all += '|', in_text = true;
      all += p.text;
      for (const tool_call& c : p.calls) all += "|" + c.name + "(" + c.arguments + ")", in_text = false;
    }
  };
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size()))) add(parser.feed(text.substr(0, step)));
  add(parser.finish());
  return all;
}

struct row {
  std::string_view form, text, want;
};
constexpr row rows[] = {
    // one call, several, text around them
    {"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>", "|f({\"a\": 1})"},
    {"hermes", "Let me see.\n<tool_call>{\"arguments\":{},\"name\":\"f\"}</tool_call>\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"<tool_call> }\\\"\"}}\n</tool_call>\n",
     "|Let me see.\n|f({})|get_weather({\"city\": \"<tool_call> }\\\"\"})"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call> done", "|f({})| done"},
    {"hermes", "<tool_call>[{\"name\":\"f\",\"arguments\":{}},{\"name\":\"f\",\"arguments\":{\"b\":[2]}}]</tool_call>", "|f({})|f({\"b\":[2]})"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}", "|f({})"},          // the model's end stood for the close mark
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_", "|f({})"},
    // what is no call stays text, to the byte
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}", "|<tool_call>{\"name\":\"f\",\"arguments\":{}"},
    {"hermes", "<tool_call>{\"name\":\"unknown\",\"arguments\":{}}</tool_call>", "|<tool_call>{\"name\":\"unknown\",\"arguments\":{}}</tool_call>"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call>", "|<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call>"},
    {"hermes", "<tool_call>{\"name\":\"f\"}</tool_call>", "|<tool_call>{\"name\":\"f\"}</tool_call>"},
    {"hermes", "<tool_call>{'name':'f'}</tool_call>", "|<tool_call>{'name':'f'}</tool_call>"},
    {"hermes", "<tool_call>f()</tool_call>", "|<tool_call>f()</tool_call>"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}} and </tool_call>", "|<tool_call>{\"name\":\"f\",\"arguments\":{}} and </tool_call>"},
    {"hermes", "<tool_call>{}</tool_call>", "|<tool_call>{}</tool_call>"},
    {"hermes", "<tool_call>[]</tool_call>", "|<tool_call>[]</tool_call>"},
    {"hermes", "<tool_call> \n", "|<tool_call> \n"},
    {"hermes", "1 < 2 <tool", "|1 < 2 <tool"},
    {"hermes", "", ""},
    // a false start before a right one, and the white space between a right one and a false one
    {"hermes", "<tool_call><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", "|<tool_call>|f({})"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>x", "|f({})|\n<tool_call>x"},

    {"mistral", "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"x\"}, {\"name\": \"get_weather\", \"arguments\": {}}]", "|f({\"a\": 1})|get_weather({})"},
    {"mistral", "[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]get_weather[CALL_ID]7[ARGS]{}", "|f({\"a\": 1})|get_weather({})"},
    {"mistral", "so [TOOL_CALLS]f{\"a\": 1} there", "|so |f({\"a\": 1})| there"},
    {"mistral", "[TOOL_CALLS]nothing here", "|[TOOL_CALLS]nothing here"},
    {"mistral", "[TOOL_CALLS]f\n{}", "|[TOOL_CALLS]f\n{}"},
    {"mistral", "[TOOL_CALLS] [1]", "|[TOOL_CALLS] [1]"},

    {"phi", "<|tool_call|>[{\"name\":\"f\",\"arguments\":{}}]<|/tool_call|>", "|f({})"},
    {"granite", "<|tool_call|> [{\"name\":\"f\",\"arguments\":{\"x\":null}}]", "|f({\"x\":null})"},

    {"llama3", "{\"name\": \"f\", \"parameters\": {\"a\": \"b\"}}", "|f({\"a\": \"b\"})"},
    {"llama3", " <|python_tag|>{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"get_weather\", \"parameters\": {}}\n", "|f({})|get_weather({})"},
    {"llama3", "{\"name\": \"f\", \"parameters\": {}} is what I would call", "|{\"name\": \"f\", \"parameters\": {}} is what I would call"},
    {"llama3", "{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"f\"", "|{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"f\""},
    {"llama3", "{\"answer\": 42}", "|{\"answer\": 42}"},
    {"llama3", "I say {\"name\": \"f\", \"parameters\": {}}", "|I say {\"name\": \"f\", \"parameters\": {}}"},
    {"llama3", "<|python_tag|>print(1)", "|<|python_tag|>print(1)"},
};

}  // namespace

TEST_CASE("calls are taken out, and all else stays") {
  for (const row& r : rows)
    for (std::size_t step = 1; step <= r.text.size() + 1; ++step) {
      CAPTURE(r.text);
      CAPTURE(step);
      CHECK(read(r.form, r.text, step) == r.want);
    }
}

TEST_CASE("text before a call is not held back, and a call comes with its last byte") {
  tool_call_parser p(form("hermes"), {"f"});
  CHECK(p.feed("Let me <").at(0).text == "Let me ");
  CHECK(p.feed("b>").at(0).text == "<b>");
  CHECK(p.feed("<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call").empty());
  const auto parts = p.feed(">");
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].calls == std::vector<tool_call>{{"f", "{}"}});
}

TEST_CASE("a template teaches its form") {
  const auto name = [](std::string_view text) { return tool_form_of(text) ? tool_form_of(text)->name : "none"; };
  CHECK(name("{% for tool in tools %}<tool_call>") == "hermes");
  CHECK(name("{% for tool in tools %}<tool_call><function=") == "none");  // XML inside
  CHECK(name("tools [TOOL_CALLS]") == "mistral");
  CHECK(name("tools <|tool_call|> <|/tool_call|>") == "phi");
  CHECK(name("tools <|tool_call|>") == "granite");
  CHECK(name("tools <|start_header_id|> {\"name\": .., \"parameters\": ..}") == "llama3");
  CHECK(name("<|im_start|>") == "none");
}
