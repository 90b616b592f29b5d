// SPDX-License-Identifier: MIT
// contents.cpp: contents as strings, and as lists of parts for templates that know those alone.
#include <doctest/doctest.h>

#include <cke/text/jinja/chat_form.hpp>

namespace contents_test {

using namespace cke;
using namespace cke::text;

namespace {

chat_form form_of(const std::string& source) {
  vocabulary v;
  for (u32 b = 0; b < 256; ++b) {
    v.tokens.emplace_back(1, static_cast<char>(b));
    v.types.push_back(token_type::normal);
  }
  v.chat_template = source;
  return chat_form(tokenizer(v), "t");
}
jinja::conversation talk_of(jinja::values messages) {
  return {.messages = jinja::value(jinja::form::list, std::move(messages))};
}
std::string greeting(const std::string& source) {
  return to_string(form_of(source).render(talk_of({jinja::message("user", "Hi")})));
}

// What the templates of Idefics 3 and SmolVLM do.
const std::string parts_alone =
    "{% for m in messages %}{{ m['role'] | capitalize }}"
    "{% if m['content'][0]['type'] == 'image' %}:{% else %}: {% endif %}"
    "{% for line in m['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}"
    "{% elif line['type'] == 'image' %}<image>{% endif %}{% endfor %}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}";

}  // namespace

TEST_CASE("contents: a template that looks for parts alone shows all texts of a conversation") {
  const chat_form form = form_of(parts_alone);
  const auto prompt = form.render(
      talk_of({jinja::message("system", "Be kind."), jinja::message("user", "Hi"), jinja::message("assistant", "Ho"),
               jinja::message("user", "See?", u64{1}), jinja::message("assistant", "")}));
  CHECK(to_string(prompt) ==
        "System: Be kind.<end>\nUser: Hi<end>\nAssistant: Ho<end>\nUser:<image>See?<end>\nAssistant: <end>\n"
        "Assistant:");
  for (const char* said : {"Be kind.", "Hi", "Ho", "See?"})
    CHECK(std::ranges::find(prompt, chat_segment{said, false}) != prompt.end());
}

TEST_CASE("contents: strings stay strings where a template shows them, or neither form") {
  CHECK(greeting("{% if messages[0].content is string %}[{{ messages[0].content }}]"
                 "{% else %}{{ messages[0].content[0].text }}{% endif %}") == "[Hi]");
  CHECK(greeting("{% if messages[0].content is string %}a string{% endif %}") == "a string");
  CHECK(greeting("{% if messages[0].content is string %}{{ raise_exception('parts alone') }}{% endif %}"
                 "{{ messages[0].content[0].text }}") == "Hi");
}

}  // namespace contents_test
