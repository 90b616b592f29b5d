// SPDX-License-Identifier: MIT
// adapter_file.hpp: low-rank additions as PEFT keeps them: adapter_config.json and adapter_model.safetensors.
#pragma once

#include <string>
#include <vector>

#include <cke/io/tensor_index.hpp>

#include "rooms.hpp"

namespace cke::tool {

// What is added to one matrix: alpha / rank times B A, with A [rank][cols] and B [rows][rank], f32, f16 or bf16.
struct adapter_pair {
  std::string tensor;  // the matrix's name in the checkpoint
  const tensor_ref *a, *b;
  u32 rank;
  float scale;

  std::vector<float> a_numbers() const;
  std::vector<float> b_numbers() const;
};

struct adapter {
  std::string path;
  u32 rank;
  float alpha;  // without patterns a product counts alpha / rank times
  tensor_index tensors;
  std::vector<adapter_pair> pairs;

  const adapter_pair* find(std::string_view tensor) const;
};

// Throws Error: a file that is missing or malformed, and what an addition of another kind has (DoRA, biases, whole
// modules, embeddings), by its key or tensor.
adapter read_adapter(const std::string& folder);

// PEFT's names for A and B of a tensor of the checkpoint.
std::string adapter_name(std::string_view tensor, char which);
// adapter_config.json of additions to modules; targets: ends of names, as PEFT takes them.
std::string adapter_config(const std::string& base, u32 rank, float alpha, const std::vector<std::string>& targets);

}  // namespace cke::tool
