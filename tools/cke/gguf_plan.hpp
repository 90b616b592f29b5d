// SPDX-License-Identifier: MIT
// gguf_plan.hpp: the tensors of a GGUF file to be written, and the checkpoint's rows that each consists of.
#pragma once

#include <string>
#include <vector>

#include <cke/io/checkpoint.hpp>

#include "facts.hpp"
#include "rooms.hpp"

namespace cke::tool {

// Adjacent rows of a tensor. A vector, or a matrix of one row, has as many rows as numbers.
struct row_run {
  const tensor_ref* from;
  u64 first, count;
};

struct planned_tensor {
  std::string name;
  std::vector<u64> shape;  // as in torch
  role is{};               // of several roles: the last, or v if it is among them
  u32 layer{};
  bool matrix{};              // quantisable: neither a vector nor a router
  change was{};               // how the format changes the numbers
  std::vector<row_run> rows;  // of a transposed tensor: those of each head, which are its columns in the checkpoint
  std::vector<u32> heads;     // source order of the heads' columns; empty: unchanged
  std::vector<float> made;    // instead of rows: numbers computed from the config

  u64 columns() const { return shape.size() > 1 ? shape.back() : 1; }
  u64 row_count() const {
    u64 n = 1;
    for (std::size_t d = 0; d + 1 < shape.size() || d < 1; ++d) n *= shape[d];
    return n;
  }
};

// In the model's order. Throws tensor_shape and tensor_unknown if the checkpoint does not match the model.
std::vector<planned_tensor> plan_gguf(const checkpoint& from, const model_facts& model);

}  // namespace cke::tool
