// SPDX-License-Identifier: MIT
// chat_contracts.hpp: the chat forms of model families, and how to tell which one a model uses.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "chat.hpp"

namespace cke {

namespace contracts {

inline constexpr chat_contract chatml{
    .name = "chatml",
    .control = {"<|im_start|>", "<|im_end|>"},
    .stop = {"<|im_end|>", "<|endoftext|>"},
    .system = {"<|im_start|>system\n", "<|im_end|>\n"},
    .user = {"<|im_start|>user\n", "<|im_end|>\n"},
    .assistant = {"<|im_start|>assistant\n", "<|im_end|>\n"},
    .generation = "<|im_start|>assistant\n",
};

constexpr chat_contract chatml_with_system(std::string_view name, std::string_view default_system) {
  chat_contract c = chatml;
  c.name = name;
  c.default_system = default_system;
  return c;
}
inline constexpr chat_contract qwen2 = chatml_with_system("qwen2", "You are a helpful assistant.");
inline constexpr chat_contract qwen2_5 = chatml_with_system(
    "qwen2.5", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.");
inline constexpr chat_contract smollm2 = chatml_with_system(
    "smollm2", "You are a helpful AI assistant named SmolLM, trained by Hugging Face");

constexpr chat_contract chatml_with_thinking(std::string_view name, thinking_mode thinking) {
  chat_contract c = chatml;
  c.name = name;
  c.control = {"<|im_start|>", "<|im_end|>", "<think>", "</think>"};
  c.thinking = thinking;
  return c;
}
inline constexpr chat_contract qwen3 = chatml_with_thinking("qwen3", thinking_mode::optional);
inline constexpr chat_contract qwen3_thinking =
    chatml_with_thinking("qwen3-thinking", thinking_mode::always);

inline constexpr chat_contract llama3{
    .name = "llama3",
    .control = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
    .stop = {"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"},
    .bos = "<|begin_of_text|>",
    .system = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
    .user = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
    .assistant = {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},
    .generation = "<|start_header_id|>assistant<|end_header_id|>\n\n",
    .trim = true,
};
// Llama 3.1 to 3.3: always a system turn, and it tells the date.
inline constexpr chat_contract llama3_2 = [] {
  chat_contract c = llama3;
  c.name = "llama3.2";
  c.system_preamble = "Cutting Knowledge Date: December 2023\nToday Date: {date}\n\n";
  return c;
}();

// [INST] and <<SYS>> are no special tokens of Llama 2: a message may imitate them.
inline constexpr chat_contract llama2{
    .name = "llama2",
    .control = {"<s>", "</s>"},
    .stop = {"</s>"},
    .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
    .user = {"<s>[INST] ", " [/INST]"},
    .assistant = {" ", " </s>"},
    .system_place = system_mode::prepend_first_user,
    .trim = true,
};

inline constexpr std::array<const chat_contract*, 9> all{
    &chatml, &qwen2, &qwen2_5, &smollm2, &qwen3, &qwen3_thinking, &llama3, &llama3_2, &llama2};

}  // namespace contracts

// The built-in contract of that name. Throws errc::usage with the names there are.
inline const chat_contract& contract_named(std::string_view name) {
  std::string names;
  for (const auto* contract : contracts::all) {
    if (contract->name == name) return *contract;
    names += (names.empty() ? "" : ", ") + std::string(contract->name);
  }
  throw Error(errc::usage, "", "chat template", "one of " + names, std::string(name));
}

namespace chat_detail {

inline bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](auto word) { return text.find(word) != text.npos; });
}

// The system prompt that a ChatML template itself contains; empty when it has none. Line ends may
// stand in the template as they are or as \n.
inline std::string_view literal_system(std::string_view text) {
  constexpr std::string_view begin = "<|im_start|>system", end = "<|im_end|>";
  for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    auto rest = text.substr(at + begin.size());
    if (rest.starts_with("\n")) {
      rest.remove_prefix(1);
    } else if (rest.starts_with("\\n")) {
      rest.remove_prefix(2);
    }
    if (!rest.empty() && rest[0] != '\'' && rest[0] != '"' && rest[0] != '{') {
      return rest.substr(0, rest.find(end));
    }
  }
  return {};
}

[[noreturn]] inline void fail_template(std::string expected, std::string_view found) {
  throw Error(errc::unsupported, "", "chat_template", std::move(expected), std::string(found));
}

}  // namespace chat_detail

// The contract that a model's chat_template (its Jinja source) follows, told by its markers.
// Throws errc::unsupported for a form that is not built in, rather than guess.
inline const chat_contract& contract_of(std::string_view chat_template) {
  using chat_detail::has_any;
  if (has_any(chat_template, {"<|start_header_id|>"})) {
    return has_any(chat_template, {"Cutting Knowledge Date"}) ? contracts::llama3_2
                                                              : contracts::llama3;
  }
  if (has_any(chat_template, {"<<SYS>>"}) && has_any(chat_template, {"[INST]"}))
    return contracts::llama2;
  if (!has_any(chat_template, {"<|im_start|>"})) {
    chat_detail::fail_template("<|im_start|>, <|start_header_id|>, or [INST] with <<SYS>>",
                               "none of them");
  }
  if (has_any(chat_template, {"enable_thinking"})) return contracts::qwen3;
  if (has_any(chat_template, {"assistant\\n<think>\\n'", "assistant\\n<think>\\n\""})) {
    return contracts::qwen3_thinking;
  }
  if (has_any(chat_template, {"<think>"})) {
    chat_detail::fail_template("Qwen3's use of <think>", "another");
  }
  const auto system = chat_detail::literal_system(chat_template);
  for (const auto* contract :
       {&contracts::chatml, &contracts::qwen2, &contracts::qwen2_5, &contracts::smollm2}) {
    if (contract->default_system == system) return *contract;
  }
  chat_detail::fail_template("the default system prompt of a built-in contract", system);
}

}  // namespace cke
