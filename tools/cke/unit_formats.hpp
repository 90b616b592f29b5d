// SPDX-License-Identifier: MIT
// unit_formats.hpp: how a unit keeps its weights: by a policy, or as the checkpoint has them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cke/core/role.hpp>
#include <cke/io/checkpoint.hpp>

#include "rooms.hpp"

namespace cke::tool {

// The first of a rule's tensors that the file has, else the first.
struct named_tensor {
  std::string name;
  const tensor_ref* tensor;
};
named_tensor tensor_in_file(const checkpoint& from, const spellings& names, u32 layer);

// A matrix of the model, and the tensor of the file that it is.
struct file_matrix {
  weight_slot slot;
  u32 layer;
  const tensor_ref* tensor;
};

// How weights are kept: a policy, and what has to be declared for it.
struct format {
  std::string name, policy, declared;
};

// What --format, and --kv, take.
std::vector<std::string> format_names();
std::vector<std::string> kv_names();
std::string listed(const std::vector<std::string>& words);  // with commas

// What `name` (--format) says, for these matrices. Throws usage, tensor_dtype.
format format_named(std::string_view name, const checkpoint& from, const std::vector<file_matrix>& all, u32 layers,
                    bool tied);
// The policy that the file follows, else a table of its matrices. Throws unsupported.
format stored_format(const checkpoint& from, const std::vector<file_matrix>& all, u32 layers, bool tied);
// The type of keys and values that `name` (--kv) says; empty: as default_kv. Throws usage.
dtype kv_of(std::string_view name, const format& weights);

}  // namespace cke::tool
