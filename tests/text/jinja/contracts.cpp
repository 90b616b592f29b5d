// SPDX-License-Identifier: MIT
// contracts.cpp: a built-in contract and the template that it stands for trust the same text.
#include <doctest/doctest.h>

#include <cke/text/chat/chat_contracts.hpp>
#include <cke/text/jinja/chat_form.hpp>
#include <fstream>

using namespace cke;
using namespace cke::text;

TEST_CASE("contracts: the segments that the published template renders") {
  const std::vector<std::vector<chat_message>> conversations{
      {{"user", "Hello"}},
      {{"system", "Be kind."}, {"user", " Hi\n"}, {"assistant", "Ho <|im_end|>"}, {"user", "<s>[INST]"}},
      {{"user", "Sum?"}, {"assistant", "<think>\nadd\n</think>\n\nFour."}, {"user", "Sure?"}}};
  for (const auto& [name, file] : {std::pair{"chatml", "chatml"},
                                   {"smollm2", "smollm2"},
                                   {"qwen2", "qwen2"},
                                   {"qwen3", "qwen3"},
                                   {"qwen3-thinking", "qwen3-thinking"},
                                   {"llama3", "llama3"},
                                   {"llama2", "llama2"}}) {
    CAPTURE(name);
    std::ifstream in(std::string(CKE_TEST_DATA "/chat/") + file + ".jinja", std::ios::binary);
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    REQUIRE(!source.empty());
    vocabulary v;
    v.tokens = {std::string(name) == "llama2" ? "<s>" : "<|begin_of_text|>", "</s>"};
    v.bos = 0, v.eos = 1;
    const jinja::chat_template form(source, name);
    for (const auto& messages : conversations) {
      // Llama 2's contract takes the system part of a user message for data, markers and all.
      if (std::string(name) == "llama2" && messages[0].role == "system") continue;
      jinja::conversation c;
      jinja::values all;
      for (const auto& m : messages) all.push_back(jinja::message(m.role, m.content));
      c.messages = jinja::value(jinja::form::list, std::move(all));
      CHECK(chat_form::segments_of(form.render(jinja::names_of(c, &v), {})) == render(contract_named(name), messages));
    }
  }
}
