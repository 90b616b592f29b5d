// SPDX-License-Identifier: MIT
// jinja.cpp: fuzz target: any bytes as a chat template and as the text of a message.
#include <cke/io/json_value.hpp>
#include <cke/text/jinja/conversation.hpp>
#include <cke/text/jinja/template.hpp>
#include <cstdlib>

// Input: the template, a NUL byte, the text of a message. Without a NUL the template is the message too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cke;
  using namespace cke::io;
  using namespace cke::text;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  const std::string_view said = cut == input.npos ? input : input.substr(cut + 1);
  static const jinja::value tools = read_json_value(R"([{"type": "function", "function": {"name": "f",
    "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}}])",
                                                    "tools");
  const jinja::limits few{.steps = 20'000, .bytes = 1 << 22, .output = 1 << 20, .depth = 200, .source = 1 << 16};
  try {
    jinja::conversation c;
    c.tools = tools;
    c.messages = {jinja::form::list,
                  {jinja::message("system", said), jinja::message("user", "Hi"), jinja::message("assistant", said),
                   jinja::message("tool", said)}};
    const jinja::text out =
        jinja::chat_template(input.substr(0, cut), "t", few).render(jinja::names_of(c, nullptr), {});
    std::size_t covered = 0;
    out.spans([&](std::string_view part, jinja::origin) { covered += part.size(); });
    if (covered != out.size() || out.size() > few.output) std::abort();
  } catch (const Error&) {}
  return 0;
}
