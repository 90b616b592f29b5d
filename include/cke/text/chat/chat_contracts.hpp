// SPDX-License-Identifier: MIT
// chat_contracts.hpp: the chat formats of model families, for checkpoints without a template.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "chat.hpp"

namespace cke::text {

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
inline constexpr chat_contract qwen2_5 =
    chatml_with_system("qwen2.5", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.");
inline constexpr chat_contract smollm2 =
    chatml_with_system("smollm2", "You are a helpful AI assistant named SmolLM, trained by Hugging Face");

constexpr chat_contract chatml_with_thinking(std::string_view name, thinking_mode thinking) {
  chat_contract c = chatml;
  c.name = name;
  c.control = {"<|im_start|>", "<|im_end|>", "<think>", "</think>"};
  c.thinking = thinking;
  return c;
}
inline constexpr chat_contract qwen3 = chatml_with_thinking("qwen3", thinking_mode::optional);
inline constexpr chat_contract qwen3_thinking = chatml_with_thinking("qwen3-thinking", thinking_mode::always);

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
// Llama 3.1 to 3.3 always have a system turn, which states the date.
inline constexpr chat_contract llama3_2 = [] {
  chat_contract c = llama3;
  c.name = "llama3.2";
  c.system_preamble = "Cutting Knowledge Date: December 2023\nToday Date: {date}\n\n";
  return c;
}();

// [INST] and <<SYS>> are not special tokens in Llama 2, so a message can forge them.
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

inline constexpr std::array<const chat_contract*, 9> all{&chatml,         &qwen2,  &qwen2_5,  &smollm2, &qwen3,
                                                         &qwen3_thinking, &llama3, &llama3_2, &llama2};

}  // namespace contracts

// Returns the built-in contract of that name. Throws errc::usage, listing the valid names.
inline const chat_contract& contract_named(std::string_view name) {
  std::string names;
  for (const auto* contract : contracts::all) {
    if (contract->name == name) return *contract;
    names += (names.empty() ? "" : ", ") + std::string(contract->name);
  }
  throw Error(errc::usage, "", "chat template", "one of " + names, std::string(name));
}

}  // namespace cke::text
