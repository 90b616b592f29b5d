// SPDX-License-Identifier: MIT
// training_sample.hpp: what a model that is being trained says.
#pragma once

#include <cke/text/sampling/sampler.hpp>

#include "training.hpp"

namespace cke::tool {

// Continues a prompt with the weights as they are, the same text for the same weights. Every id runs the whole text
// through the trainer, so that there is no second model in memory.
class training_sample {
 public:
  // `context`: most ids of prompt and answer. Throws Error: no tokenizer, a prompt without ids or room for an answer.
  training_sample(const opened_trainer& t, const std::string& prompt, u32 length, u32 context, u64 seed);
  std::string text();  // of the answer, at most `length` ids, until the model ends it

 private:
  const opened_trainer& trained_;
  tokenizer tokens_;
  std::vector<u32> prompt_;
  std::size_t most_;  // ids of both
  std::vector<float> logits_;
  text::sampler pick_;
};

}  // namespace cke::tool
