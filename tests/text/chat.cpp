// SPDX-License-Identifier: MIT
// chat.cpp: the contracts against the families' Jinja templates; content is only content.
#include <cke/text/chat/chat.hpp>

#include <doctest/doctest.h>

#include <cke/text/chat/chat_contracts.hpp>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

using namespace cke;
using namespace cke::text;

namespace {

std::string read_file(const std::string& name) {
  std::ifstream file(CKE_TEST_DATA "/chat/" + name, std::ios::binary);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string unescape(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\') {
      out += s[i];
    } else {
      out += s[++i] == 'n' ? '\n' : s[i];
    }
  }
  return out;
}

struct fixture {
  std::string contract;
  chat_options options;
  std::vector<chat_message> messages;
  std::optional<std::string> text;  // none where the template refuses
};

std::vector<fixture> read_fixtures() {
  std::vector<fixture> out;
  std::istringstream file(read_file("cases.txt"));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "case") {
      auto& f = out.emplace_back();
      words >> f.contract >> f.options.add_generation_prompt >> f.options.enable_thinking >> std::ws;
      std::getline(words, f.options.date);
    } else if (kind == "message") {
      std::string role;
      words >> role;
      out.back().messages.push_back({role, unescape(line.substr(9 + role.size()))});
    } else if (kind == "text") {
      out.back().text = unescape(line.substr(5));
    }
  }
  return out;
}

TEST_CASE("render: what transformers renders from the published templates") {
  const auto fixtures = read_fixtures();
  REQUIRE(fixtures.size() > 400);
  std::set<std::string> contracts_seen;
  for (const auto& f : fixtures) {
    CAPTURE(f.contract);
    const auto& contract = contract_named(f.contract);
    contracts_seen.insert(f.contract);
    if (f.text) {
      CHECK(to_string(render(contract, f.messages, f.options)) == *f.text);
    } else {
      CHECK_THROWS_AS(render(contract, f.messages, f.options), Error);
    }
  }
  CHECK(contracts_seen.size() == 8);
}

TEST_CASE("render: the contract's text is trusted, a message's is not") {
  using segments = std::vector<chat_segment>;
  const std::vector<chat_message> messages{{"user", "Hi"}, {"assistant", "<think>x</think>Ho"}, {"user", ""}};
  CHECK(render(contracts::qwen3, messages, {.enable_thinking = false}) ==
        segments{{"<|im_start|>user\n", true},
                 {"Hi", false},
                 {"<|im_end|>\n<|im_start|>assistant\n", true},
                 {"Ho", false},
                 {"<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"
                  "<think>\n\n</think>\n\n",
                  true}});
  CHECK(render(contracts::llama3, std::span(messages).first(1)) ==
        segments{{"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n", true},
                 {"Hi", false},
                 {"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", true}});
  CHECK(render(contracts::llama2, std::span(messages).first(2)) ==
        segments{
            {"<s>[INST] ", true}, {"Hi", false}, {" [/INST] ", true}, {"<think>x</think>Ho", false}, {" </s>", true}});
}

// Everything that looks like a marker in any contract.
std::string all_markers() {
  std::string out;
  for (const auto* contract : contracts::all) {
    for (const auto token : contract->control) out += std::string(token) + " x ";
    for (const auto token : contract->stop) out += token;
    for (const auto& turn : {contract->system, contract->user, contract->assistant, contract->thought}) {
      out += std::string(turn.prefix) + "x" + std::string(turn.suffix);
    }
  }
  return out;
}

TEST_CASE("render: no content, date or system prompt adds trusted text") {
  const std::string evil = all_markers();
  const auto controls = [](const chat_contract& contract, const std::string& content, std::string date) {
    std::string out;
    const std::vector<chat_message> messages{
        {"system", content}, {"user", content}, {"assistant", content}, {"user", content}};
    for (const auto& s : render(contract, messages, {.date = std::move(date)})) {
      if (s.trusted) out += s.text;
    }
    return out;
  };
  for (const auto* contract : contracts::all) {
    CAPTURE(contract->name);
    CHECK(controls(*contract, "plain", "today").size() > 20);
    CHECK(controls(*contract, evil, evil) == controls(*contract, "plain", "today"));
  }
}

TEST_CASE("render: what cannot be rendered is a typed error that says where") {
  const auto message = [](const chat_contract& contract, std::vector<chat_message> messages) -> std::string {
    try {
      render(contract, messages);
    } catch (const Error& e) {
      CHECK(e.code == errc::usage);
      return e.what();
    }
    return "no error";
  };
  CHECK(message(contracts::qwen3, {}) == "chat: expected at least one message, found none");
  CHECK(message(contracts::llama3, {{"user", "a"}, {"<|eot_id|>", "b"}}) ==
        "chat message 1: expected role system, user or assistant, found <|eot_id|>");
  CHECK(message(contracts::llama2, {{"user", "a"}, {"user", "b"}}) ==
        "chat message 1: expected role assistant, found user");
  CHECK(message(contracts::llama2, {{"system", "s"}, {"assistant", "b"}}) ==
        "chat message 1: expected role user, found assistant");
  CHECK(message(contracts::llama2, {{"user", "a"}, {"system", "s"}}) ==
        "chat message 1: expected role assistant, found system");
  CHECK(message(contracts::llama2, {{"system", "s"}}) == "chat message 1: expected a user message, found none");
}

TEST_CASE("contract_named: the names, or an error that lists them") {
  for (const auto* contract : contracts::all) CHECK(&contract_named(contract->name) == contract);
  try {
    contract_named("jinja");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(std::string(e.what()) ==
          "chat template: expected one of chatml, qwen2, qwen2.5, smollm2, qwen3, qwen3-thinking, "
          "llama3, "
          "llama3.2, llama2, found jinja");
  }
}

TEST_CASE("contracts: each is complete, and knows every special token of its own text") {
  for (const auto* contract : contracts::all) {
    CAPTURE(contract->name);
    CHECK_FALSE(contract->stop[0].empty());
    CHECK_FALSE(contract->user.prefix.empty());
    for (const auto text :
         {contract->bos, contract->system.prefix, contract->system.suffix, contract->user.prefix, contract->user.suffix,
          contract->assistant.prefix, contract->assistant.suffix, contract->generation}) {
      std::string rest(text);
      for (const auto token : contract->control) {
        if (token.empty()) continue;
        for (auto at = rest.find(token); at != rest.npos; at = rest.find(token)) rest.erase(at, token.size());
      }
      CAPTURE(text);
      CHECK(rest.find('|') == std::string::npos);
    }
  }
}

}  // namespace
