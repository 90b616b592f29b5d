// SPDX-License-Identifier: MIT
// gguf_plan.hpp: the tensors of a model as a GGUF file has them, and the rows of a checkpoint that each is made of.
#pragma once

#include <string>
#include <vector>

#include <cke/io/checkpoint.hpp>

#include "facts.hpp"
#include "rooms.hpp"

namespace cke::tool {

// Rows of a tensor that lie together. A vector, or a matrix of one row, has as many rows as numbers.
struct row_run {
  const tensor_ref* from;
  u64 first, count;
};

struct planned_tensor {
  std::string name;
  std::vector<u64> shape;  // as in torch
  role is{};               // of a tensor of several roles, that of the last; v where it is among them
  u32 layer{};
  bool matrix{};           // a quantisable one: neither a vector nor a router
  change was{};            // what the format wants done to the numbers
  std::vector<row_run> rows;  // of a transposed tensor: those of each head, which are its columns there
  std::vector<u32> heads;     // whose columns are meant, in this order; empty: as they are
  std::vector<float> made;  // instead of rows: numbers that the checkpoint has as a rule

  u64 columns() const { return shape.size() > 1 ? shape.back() : 1; }
  u64 row_count() const {
    u64 n = 1;
    for (std::size_t d = 0; d + 1 < shape.size() || d < 1; ++d) n *= shape[d];
    return n;
  }
};

// In the order of the model. Throws tensor_shape and tensor_unknown for a checkpoint that is not the model's.
std::vector<planned_tensor> plan_gguf(const checkpoint& from, const model_facts& model);

}  // namespace cke::tool
