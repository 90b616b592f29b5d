// SPDX-License-Identifier: MIT
// recipe.hpp: which type each matrix gets: llama.cpp's file types (llama_tensor_get_type).
#pragma once

#include <string_view>

#include <cke/core/dtype.hpp>
#include <cke/core/role.hpp>

#include "rooms.hpp"

namespace cke::tool {

struct recipe {
  std::string_view name;  // what --to takes, in capitals
  u32 file_type;          // general.file_type
  dtype most;             // of most matrices
};

// Throws usage for a name that is none.
const recipe& recipe_named(std::string_view name);

// Where a matrix stands in its model.
struct matrix_place {
  role is{};             // v for q, k and v in one
  bool tied{};           // an embedding that is the head too
  u64 columns{};
  u32 layer{}, layers{};
  u32 value{}, values{};  // which of the v matrices, and how many there are
  u32 experts{}, heads{1}, kv_heads{1};
};
dtype type_of(const recipe& r, const matrix_place& at);

}  // namespace cke::tool
