// SPDX-License-Identifier: MIT
// answer_args.hpp: how run and chat choose tokens, and where an answer ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cke/generate.hpp>

#include "rooms.hpp"

namespace cke::tool {

struct answer_args {
  sampling sample;                  // its logit_bias comes from `biases`
  std::vector<std::string> biases;  // "ID=BIAS" or "TEXT=BIAS"
  std::vector<std::string> stop;    // texts
  std::optional<u32> max_tokens;
  u32 min_tokens = 0;
};

// What is wrong with an argument of --logit-bias, as far as that shows without a tokenizer; "" for nothing.
std::string bias_complaint(const std::string& argument);

// The options of an answer of at most `most` tokens. `tokens` reads the texts among the biases and may be null; ids are
// below vocab_size. Throws usage.
generate_options answer_options(const answer_args& args, const tokenizer* tokens, u32 vocab_size, u32 most);

}  // namespace cke::tool
