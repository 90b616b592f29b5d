// SPDX-License-Identifier: MIT
// cases.cpp: templates against what jinja2 rendered from them, with transformers' settings.
#include <doctest/doctest.h>

#include <cke/io/json_value.hpp>
#include <cke/text/jinja/conversation.hpp>
#include <cke/text/jinja/template.hpp>
#include <fstream>

using namespace cke;
using namespace cke::io;
using namespace cke::text;

namespace {

std::string read_file(const std::string& name) {
  std::ifstream file(std::string(CKE_TEST_DATA) + '/' + name, std::ios::binary);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

// The moment that make.py says it is.
std::tm noon() {
  std::tm t{};
  t.tm_year = 124, t.tm_mon = 6, t.tm_mday = 26, t.tm_hour = 12, t.tm_min = 5, t.tm_sec = 9;
  return t;
}

jinja::dict conversation_names(const jinja::dict& given) {
  jinja::conversation c;
  for (const auto& [key, v] : given.entries) {
    if (key.view() == "messages") c.messages = v;
    else if (key.view() == "tools") c.tools = v;
    else if (key.view() == "add_generation_prompt") c.add_generation_prompt = v.as_bool();
    else c.set(key.view(), v);
  }
  return jinja::names_of(c, nullptr);
}

TEST_CASE("chat_template: what jinja2 renders, and errors where it raises one") {
  const jinja::value all = read_json_value(read_file("jinja/cases.json"), "cases.json");
  const jinja::dict& bare = *all.as_dict()->find("names")->as_dict();
  std::size_t texts = 0, errors = 0;
  for (const jinja::value& one : all.as_dict()->find("cases")->as_sequence()->items) {
    const jinja::dict& c = *one.as_dict();
    const bool snippet = c.find("template");
    const std::string source =
        snippet ? std::string(c.find("template")->view()) : read_file(std::string(c.find("file")->view()));
    CAPTURE(snippet ? source : std::string(c.find("file")->view()));
    std::optional<std::string> got;
    std::string why;
    try {
      const jinja::dict names = snippet ? bare : conversation_names(*c.find("names")->as_dict());
      got = jinja::chat_template(source).render(names, noon()).view();
    } catch (const Error& e) { why = e.what(); }
    CAPTURE(why);
    if (const jinja::value* text = c.find("text")) {
      CHECK(got.value_or("an error") == text->view());
      ++texts;
    } else {
      CHECK_FALSE(got.has_value());
      ++errors;
    }
  }
  CHECK(texts > 700);
  CHECK(errors > 130);
}

}  // namespace
