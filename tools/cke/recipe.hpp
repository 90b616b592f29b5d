// SPDX-License-Identifier: MIT
// recipe.hpp: chooses the type of each matrix, as llama.cpp's file types do (llama_tensor_get_type).
#pragma once

#include <string_view>

#include <cke/core/dtype.hpp>
#include <cke/core/role.hpp>

#include "rooms.hpp"

namespace cke::tool {

struct recipe {
  std::string_view name;  // the argument of --to, in capitals
  u32 file_type;          // general.file_type
  dtype most;             // the type of most matrices
};

// Throws usage for an unknown name.
const recipe& recipe_named(std::string_view name);

// The position of a matrix in its model.
struct matrix_place {
  role is{};    // v if it holds q, k and v
  bool tied{};  // an embedding that is also the head
  u64 columns{};
  u32 layer{}, layers{};
  u32 value{}, values{};  // index among the v matrices, and their number
  u32 experts{}, heads{1}, kv_heads{1};
};
dtype type_of(const recipe& r, const matrix_place& at);

}  // namespace cke::tool
