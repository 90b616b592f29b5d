// SPDX-License-Identifier: MIT
// tool_calls.cpp: the calls in an answer, in each family's form, however the text was cut into pieces.
#include <cke/text/chat/tool_calls.hpp>

#include <doctest/doctest.h>

namespace tool_calls_test {

using namespace cke;
using namespace cke::text;

namespace {

const tool_form& form(std::string_view name) { return *std::ranges::find(tool_forms, name, &tool_form::name); }

const std::vector<tool_signature> tools{{"f",
                                         {{"s", json_kinds::text},
                                          {"n", json_kinds::number},
                                          {"b", json_kinds::boolean},
                                          {"o", json_kinds::object | json_kinds::list},
                                          {"t", json_kinds::text | json_kinds::null}}},
                                        {"get_weather", {}}};

// "text|name(arguments)|..." in order
std::string read(std::string_view form_name, std::string_view text, std::size_t step) {
  tool_call_parser parser(form(form_name), tools);
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
    {"hermes",
     "Let me see.\n<tool_call>{\"arguments\":{},\"name\":\"f\"}</tool_call>\n<tool_call>\n{\"name\": \"get_weather\", "
     "\"arguments\": {\"city\": \"<tool_call> }\\\"\"}}\n</tool_call>\n",
     "|Let me see.\n|f({})|get_weather({\"city\": \"<tool_call> }\\\"\"})"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call> done", "|f({})| done"},
    {"hermes", "<tool_call>[{\"name\":\"f\",\"arguments\":{}},{\"name\":\"f\",\"arguments\":{\"b\":[2]}}]</tool_call>",
     "|f({})|f({\"b\":[2]})"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}", "|f({})"},  // the model's end stood for the close mark
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_", "|f({})"},
    // what is no call stays text, to the byte
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}", "|<tool_call>{\"name\":\"f\",\"arguments\":{}"},
    {"hermes", "<tool_call>{\"name\":\"unknown\",\"arguments\":{}}</tool_call>",
     "|<tool_call>{\"name\":\"unknown\",\"arguments\":{}}</tool_call>"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call>",
     "|<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call>"},
    {"hermes", "<tool_call>{\"name\":\"f\"}</tool_call>", "|<tool_call>{\"name\":\"f\"}</tool_call>"},
    {"hermes", "<tool_call>{'name':'f'}</tool_call>", "|<tool_call>{'name':'f'}</tool_call>"},
    {"hermes", "<tool_call>f()</tool_call>", "|<tool_call>f()</tool_call>"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}} and </tool_call>",
     "|<tool_call>{\"name\":\"f\",\"arguments\":{}} and </tool_call>"},
    {"hermes", "<tool_call>{}</tool_call>", "|<tool_call>{}</tool_call>"},
    {"hermes", "<tool_call>[]</tool_call>", "|<tool_call>[]</tool_call>"},
    {"hermes", "<tool_call> \n", "|<tool_call> \n"},
    {"hermes", "1 < 2 <tool", "|1 < 2 <tool"},
    {"hermes", "", ""},
    // a false start before a right one, and the white space between a right one and a false one
    {"hermes", "<tool_call><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", "|<tool_call>|f({})"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>x", "|f({})|\n<tool_call>x"},

    {"mistral",
     "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"x\"}, {\"name\": \"get_weather\", "
     "\"arguments\": {}}]",
     "|f({\"a\": 1})|get_weather({})"},
    {"mistral", "[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]get_weather[CALL_ID]7[ARGS]{}",
     "|f({\"a\": 1})|get_weather({})"},
    {"mistral", "so [TOOL_CALLS]f{\"a\": 1} there", "|so |f({\"a\": 1})| there"},
    {"mistral", "[TOOL_CALLS]nothing here", "|[TOOL_CALLS]nothing here"},
    {"mistral", "[TOOL_CALLS]f\n{}", "|[TOOL_CALLS]f\n{}"},
    {"mistral", "[TOOL_CALLS] [1]", "|[TOOL_CALLS] [1]"},

    {"phi", "<|tool_call|>[{\"name\":\"f\",\"arguments\":{}}]<|/tool_call|>", "|f({})"},
    {"granite", "<|tool_call|> [{\"name\":\"f\",\"arguments\":{\"x\":null}}]", "|f({\"x\":null})"},

    {"llama3", "{\"name\": \"f\", \"parameters\": {\"a\": \"b\"}}", "|f({\"a\": \"b\"})"},
    {"llama3",
     " <|python_tag|>{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"get_weather\", \"parameters\": {}}\n",
     "|f({})|get_weather({})"},
    {"llama3", "{\"name\": \"f\", \"parameters\": {}} is what I would call",
     "|{\"name\": \"f\", \"parameters\": {}} is what I would call"},
    {"llama3", "{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"f\"",
     "|{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"f\""},
    {"llama3", "{\"answer\": 42}", "|{\"answer\": 42}"},
    {"llama3", "I say {\"name\": \"f\", \"parameters\": {}}", "|I say {\"name\": \"f\", \"parameters\": {}}"},
    {"llama3", "<|python_tag|>print(1)", "|<|python_tag|>print(1)"},
    {"llama3", "<|python_tag|>f.call(s=\"a \\\"b\\\", (c=1)\", n=\"2\")\n",
     "|f({\"s\":\"a \\\"b\\\", (c=1)\",\"n\":\"2\"})"},
    {"llama3", " <|python_tag|> get_weather.call()", "|get_weather({})"},
    {"llama3", "<|python_tag|>f.call(s=\"a\"", "|<|python_tag|>f.call(s=\"a\""},
    {"llama3", "<|python_tag|>f.call(s=a)", "|<|python_tag|>f.call(s=a)"},
    {"llama3", "<|python_tag|>f.call(s=\"a\" n=\"b\")", "|<|python_tag|>f.call(s=\"a\" n=\"b\")"},
    {"llama3", "<|python_tag|>f.call(=\"a\")", "|<|python_tag|>f.call(=\"a\")"},
    {"llama3", "<|python_tag|>f.call(s=\"a\") or so", "|<|python_tag|>f.call(s=\"a\") or so"},
    {"llama3", "<|python_tag|>os.call(s=\"a\")", "|<|python_tag|>os.call(s=\"a\")"},
    {"llama3", "f.call(s=\"a\")", "|f.call(s=\"a\")"},

    // as Qwen3-Coder's and Qwen3.5's templates write them, and as others do
    {"qwen3_coder",
     "Let me "
     "see.\n\n<tool_call>\n<function=f>\n<parameter=s>\nParis\n</parameter>\n<parameter=n>\n3\n</parameter>\n</"
     "function>\n</tool_call>\n<tool_call>\n<function=get_weather>\n</function>\n</tool_call>",
     "|Let me see.\n\n|f({\"s\":\"Paris\",\"n\":3})|get_weather({})"},
    {"qwen3_coder", "<tool_call><function=f><parameter=s>v</parameter></function></tool_call> done",
     "|f({\"s\":\"v\"})| done"},
    // texts are as they are written, but for the line's ends around them; what else fits its kind is JSON, or Python's
    // words
    {"qwen3_coder",
     "<tool_call>\n<function=f>\n<parameter=s>\n\n 5 "
     "\n\"\\<b>\t\n\n</parameter>\n<parameter=b>\nTrue\n</parameter>\n<parameter=o>\n{\"a\": [1,\n "
     "null]}\n</parameter>\n<parameter=t>\nNone\n</parameter>\n</function>\n</tool_call>",
     "|f({\"s\":\"\\u000a 5 \\u000a\\\"\\\\<b>\\u0009\\u000a\",\"b\":true,\"o\":{\"a\": [1,\n null]},\"t\":null})"},
    {"qwen3_coder",
     "<tool_call><function=f><parameter=s>true</parameter><parameter=t>5</parameter><parameter=x>5</"
     "parameter><parameter=y>5 km</parameter><parameter=z></parameter></function></tool_call>",
     "|f({\"s\":\"true\",\"t\":\"5\",\"x\":5,\"y\":\"5 km\",\"z\":\"\"})"},
    {"qwen3_coder",
     "<tool_call><function=f><parameter=s><tool_call><function=f></function></tool_call></parameter></function></"
     "tool_call>",
     "|f({\"s\":\"<tool_call><function=f></function></tool_call>\"})"},
    {"qwen3_coder", "<tool_call><function=f></function>", "|f({})"},  // the model's end stood for the close mark
    {"qwen3_coder", "<tool_call><function=f></function>\n</tool", "|f({})"},
    // malformed: of a wrong kind, twice, nameless, unknown, not whole, with something between
    {"qwen3_coder", "<tool_call><function=f><parameter=n>many</parameter></function></tool_call>",
     "|<tool_call><function=f><parameter=n>many</parameter></function></tool_call>"},
    {"qwen3_coder", "<tool_call><function=f><parameter=n>1,2</parameter></function></tool_call>",
     "|<tool_call><function=f><parameter=n>1,2</parameter></function></tool_call>"},
    {"qwen3_coder", "<tool_call><function=f><parameter=n>1,\"x\":2</parameter></function></tool_call>",
     "|<tool_call><function=f><parameter=n>1,\"x\":2</parameter></function></tool_call>"},
    {"qwen3_coder", "<tool_call><function=f><parameter=n></parameter></function></tool_call>",
     "|<tool_call><function=f><parameter=n></parameter></function></tool_call>"},
    {"qwen3_coder",
     "<tool_call><function=f><parameter=n>1</parameter><parameter=n>2</parameter></function></tool_call>",
     "|<tool_call><function=f><parameter=n>1</parameter><parameter=n>2</parameter></function></tool_call>"},
    {"qwen3_coder", "<tool_call><function=f><parameter=>1</parameter></function></tool_call>",
     "|<tool_call><function=f><parameter=>1</parameter></function></tool_call>"},
    {"qwen3_coder", "<tool_call><function=fg></function></tool_call>",
     "|<tool_call><function=fg></function></tool_call>"},
    {"qwen3_coder", "<tool_call><function=f>so</function></tool_call>",
     "|<tool_call><function=f>so</function></tool_call>"},
    {"qwen3_coder", "<tool_call><function=f></function> so</tool_call>",
     "|<tool_call><function=f></function> so</tool_call>"},
    {"qwen3_coder", "<tool_call><function=f><parameter=s>a</parameter>",
     "|<tool_call><function=f><parameter=s>a</parameter>"},
    {"qwen3_coder", "<tool_call><function=f><parameter=s>a <tool_call><function=f></function></tool_call>",
     "|<tool_call><function=f><parameter=s>a <tool_call><function=f></function></tool_call>"},
    {"qwen3_coder", "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
     "|<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"},
    // and what follows is looked at again
    {"qwen3_coder", "<tool_call><tool_call><function=no><tool_call><function=f></function></tool_call>",
     "|<tool_call><tool_call><function=no>|f({})"},

    // as the templates of GLM-4.5 and 4.6 write them, and as that of 4.7 does
    {"glm4",
     "\n<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>o</arg_key>\n<arg_value>[\"a\", "
     "1]</arg_value>\n</tool_call>\n<tool_call>get_weather\n</tool_call>",
     "|\n|f({\"s\":\"Paris\",\"o\":[\"a\", 1]})|get_weather({})"},
    {"glm4",
     "<tool_call>f<arg_key>s</arg_key><arg_value> 1 < "
     "2\n</arg_value><arg_key>n</arg_key><arg_value>-4e1</arg_value></tool_call>",
     "|f({\"s\":\" 1 < 2\\u000a\",\"n\":-4e1})"},
    {"glm4", "<tool_call>f<arg_key>b</arg_key><arg_value>True</arg_value></tool_call>",
     "|<tool_call>f<arg_key>b</arg_key><arg_value>True</arg_value></tool_call>"},
    {"glm4", "<tool_call>f<arg_key>s</arg_key>a</tool_call>", "|<tool_call>f<arg_key>s</arg_key>a</tool_call>"},
    {"glm4", "<tool_call>get_weather", "|<tool_call>get_weather"},  // it may have gone on
    {"glm4", "<tool_call>get_weather\n</tool_cal", "|<tool_call>get_weather\n</tool_cal"},
    {"glm4", "<tool_call>get_time\n</tool_call>", "|<tool_call>get_time\n</tool_call>"},
    {"glm4", "<tool_call></tool_call>", "|<tool_call></tool_call>"},
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
  tool_call_parser p(form("hermes"), {{"f"}});
  CHECK(p.feed("Let me <").at(0).text == "Let me ");
  CHECK(p.feed("b>").at(0).text == "<b>");
  CHECK(p.feed("<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call").empty());
  const auto parts = p.feed(">");
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].calls == std::vector<tool_call>{{"f", "{}"}});
}

TEST_CASE("what can be no call is not held back") {
  tool_call_parser coder(form("qwen3_coder"), tools), glm(form("glm4"), tools), llama(form("llama3"), tools);
  CHECK(coder.feed("<tool_call>\n<function=find").at(0).text == "<tool_call>\n<function=find");
  CHECK(coder.feed("<tool_call><function=f><parameter=n>x</parameter>").at(0).text ==
        "<tool_call><function=f><parameter=n>x</parameter>");
  CHECK(glm.feed("<tool_call>get_t").at(0).text == "<tool_call>get_t");
  CHECK(llama.feed("<|python_tag|>import").at(0).text == "<|python_tag|>import");
}

TEST_CASE("a call of more than a megabyte is text, however it was cut") {
  const std::string inner = "<tool_call><function=f></function></tool_call>";
  for (const bool longer : {false, true}) {
    const std::string before = "<tool_call><function=f><parameter=s>", behind = "</parameter></function></tool_call>";
    const std::string all =
        before + std::string(tool_call_parser::max_call - before.size() - behind.size() + longer, 'a') + behind;
    for (const std::size_t step : {all.size() + inner.size(), std::size_t{1} << 16, std::size_t{1000}}) {
      const std::string found = read("qwen3_coder", all + inner, step);
      CHECK(found ==
            (longer ? '|' + all
                    : "|f({\"s\":\"" + all.substr(before.size(), all.size() - before.size() - behind.size()) + "\"})") +
                "|f({})");
    }
  }
  // Many beginnings cost no more than their bytes.
  std::string nested;
  while (nested.size() < tool_call_parser::max_call) nested += "<tool_call><function=f><parameter=s>";
  CHECK(read("qwen3_coder", nested, 1 << 12) == '|' + nested);
  nested += "</parameter></function>x";
  CHECK(read("qwen3_coder", nested, 1 << 12) == '|' + nested);
}

TEST_CASE("a template teaches its form") {
  const auto name = [](std::string_view text) { return tool_form_of(text) ? tool_form_of(text)->name : "none"; };
  CHECK(name("{% for tool in tools %}<tool_call>") == "hermes");
  CHECK(name("{% for tool in tools %}<tool_call><function=") == "qwen3_coder");
  CHECK(name("{% for tool in tools %}<tool_call>{function-name}\n<arg_key>") == "glm4");
  CHECK(name("{% for tool in tools %}<seed:tool_call><function=") == "none");
  CHECK(name("tools [TOOL_CALLS]") == "mistral");
  CHECK(name("tools <|tool_call|> <|/tool_call|>") == "phi");
  CHECK(name("tools <|tool_call|>") == "granite");
  CHECK(name("tools <|start_header_id|> {\"name\": .., \"parameters\": ..}") == "llama3");
  CHECK(name("<|im_start|>") == "none");
}

}  // namespace tool_calls_test
