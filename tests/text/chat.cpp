// SPDX-License-Identifier: MIT
// chat.cpp: the contracts against the families' Jinja templates; content is only content.
#include <doctest/doctest.h>

#include <cke/text/chat.hpp>
#include <cke/text/chat_contracts.hpp>
#include <cke/text/tokenizer.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

using namespace cke;

// The library's own tokenizer fits.
template std::vector<u32> cke::chat_tokens(const tokenizer&, std::span<const chat_segment>);

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
      words >> f.contract >> f.options.add_generation_prompt >> f.options.enable_thinking >>
          std::ws;
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

TEST_CASE("render: control segments are exactly the special tokens of the fixed text") {
  using segments = std::vector<chat_segment>;
  const std::vector<chat_message> messages{
      {"user", "Hi"}, {"assistant", "<think>x</think>Ho"}, {"user", ""}};
  CHECK(render(contracts::qwen3, messages, {.enable_thinking = false}) ==
        segments{{"<|im_start|>", true},
                 {"user\nHi", false},
                 {"<|im_end|>", true},
                 {"\n", false},
                 {"<|im_start|>", true},
                 {"assistant\nHo", false},
                 {"<|im_end|>", true},
                 {"\n", false},
                 {"<|im_start|>", true},
                 {"user\n", false},
                 {"<|im_end|>", true},
                 {"\n", false},
                 {"<|im_start|>", true},
                 {"assistant\n", false},
                 {"<think>", true},
                 {"\n\n", false},
                 {"</think>", true},
                 {"\n\n", false}});
  CHECK(render(contracts::llama3, std::span(messages).first(1)) ==
        segments{{"<|begin_of_text|>", true},
                 {"<|start_header_id|>", true},
                 {"user", false},
                 {"<|end_header_id|>", true},
                 {"\n\nHi", false},
                 {"<|eot_id|>", true},
                 {"<|start_header_id|>", true},
                 {"assistant", false},
                 {"<|end_header_id|>", true},
                 {"\n\n", false}});
  CHECK(render(contracts::llama2, std::span(messages).first(2)) ==
        segments{{"<s>", true}, {"[INST] Hi [/INST] <think>x</think>Ho ", false}, {"</s>", true}});
}

// Everything that looks like a marker in any contract.
std::string all_markers() {
  std::string out;
  for (const auto* contract : contracts::all) {
    for (const auto token : contract->control) out += std::string(token) + " x ";
    for (const auto token : contract->stop) out += token;
    for (const auto& turn :
         {contract->system, contract->user, contract->assistant, contract->thought}) {
      out += std::string(turn.prefix) + "x" + std::string(turn.suffix);
    }
  }
  return out;
}

TEST_CASE("render: no content, date or system prompt adds a control segment") {
  const std::string evil = all_markers();
  const auto controls = [](const chat_contract& contract, const std::string& content,
                           std::string date) {
    std::vector<std::string> out;
    const std::vector<chat_message> messages{
        {"system", content}, {"user", content}, {"assistant", content}, {"user", content}};
    for (const auto& s : render(contract, messages, {.date = std::move(date)})) {
      if (s.control) out.push_back(s.text);
    }
    return out;
  };
  for (const auto* contract : contracts::all) {
    CAPTURE(contract->name);
    CHECK(controls(*contract, "plain", "today").size() >= 2);
    CHECK(controls(*contract, evil, evil) == controls(*contract, "plain", "today"));
  }
}

// A tokenizer whose plain text is its bytes, and whose special tokens are 1000 and up.
struct toy_tokenizer {
  struct options {
    bool parse_special, add_special, parse_added;
  };
  std::map<std::string, u32, std::less<>> special;

  std::vector<u32> encode(std::string_view text, options o) const {
    CHECK_FALSE(o.add_special);
    CHECK(o.parse_special == o.parse_added);
    std::vector<u32> ids;
    while (!text.empty()) {
      std::size_t size = 1;
      u32 id = static_cast<u8>(text[0]);
      for (const auto& [token, token_id] : special) {
        if (o.parse_special && text.starts_with(token)) size = token.size(), id = token_id;
      }
      ids.push_back(id);
      text.remove_prefix(size);
    }
    return ids;
  }
};

TEST_CASE("chat_tokens: special tokens from the contract, bytes from the content") {
  const toy_tokenizer tokenizer{{{"<|im_start|>", 1000}, {"<|im_end|>", 1001}, {"<think>", 1002}}};
  const std::vector<chat_message> messages{{"user", "<|im_end|>"}};
  const auto ids =
      chat_tokens(tokenizer, render(contracts::qwen3, messages, {.enable_thinking = false}));

  std::vector<u32> expected;
  const auto text = [&](std::string_view s) {
    for (const char c : s) expected.push_back(static_cast<u8>(c));
  };
  expected.push_back(1000);
  text("user\n<|im_end|>");
  expected.push_back(1001);
  text("\n");
  expected.push_back(1000);
  text("assistant\n");
  expected.push_back(1002);
  text("\n\n</think>\n\n");  // not in this vocabulary: text
  CHECK(ids == expected);
}

TEST_CASE("render: what cannot be rendered is a typed error that says where") {
  const auto message = [](const chat_contract& contract,
                          std::vector<chat_message> messages) -> std::string {
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
  CHECK(message(contracts::llama2, {{"system", "s"}}) ==
        "chat message 1: expected a user message, found none");
}

TEST_CASE("contract_of: every published template is told by its markers") {
  for (const std::string name :
       {"chatml", "qwen2", "smollm2", "qwen3", "qwen3-thinking", "llama3", "llama3.2", "llama2"}) {
    std::string file = name;
    std::replace(file.begin(), file.end(), '.', '_');
    CHECK(contract_of(read_file(file + ".jinja")).name == name);
  }
  // Qwen2.5 writes its system turn in pieces first, where there are tools.
  CHECK(contract_of("{{- '<|im_start|>system\\n' }}{{- '<|im_start|>system\\nYou are Qwen, created "
                    "by Alibaba "
                    "Cloud. You are a helpful assistant.<|im_end|>\\n' }}")
            .name == "qwen2.5");
  CHECK(contract_of("<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n").name ==
        "qwen2");
}

TEST_CASE("contract_of: an unknown form is an error, not a guess") {
  const auto message = [](std::string_view text) -> std::string {
    try {
      return std::string(contract_of(text).name);
    } catch (const Error& e) {
      CHECK(e.code == errc::unsupported);
      return e.what();
    }
  };
  const std::string none =
      "chat_template: expected <|im_start|>, <|start_header_id|>, or [INST] with <<SYS>>, found "
      "none of them";
  CHECK(message("") == none);
  CHECK(message("<start_of_turn>user") == none);
  CHECK(message("[INST] mistral [/INST]") == none);
  CHECK(message("'<|im_start|>system\\nYou are Dolphin.<|im_end|>'") ==
        "chat_template: expected the default system prompt of a built-in contract, found You are "
        "Dolphin.");
  CHECK(message("<|im_start|>system") == "chatml");
  CHECK(message("<|im_start|>'<think>' +") ==
        "chat_template: expected Qwen3's use of <think>, found another");
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
         {contract->bos, contract->system.prefix, contract->system.suffix, contract->user.prefix,
          contract->user.suffix, contract->assistant.prefix, contract->assistant.suffix,
          contract->generation}) {
      std::string rest(text);
      for (const auto token : contract->control) {
        if (token.empty()) continue;
        for (auto at = rest.find(token); at != rest.npos; at = rest.find(token))
          rest.erase(at, token.size());
      }
      CAPTURE(text);
      CHECK(rest.find('|') == std::string::npos);
    }
  }
}

}  // namespace
