// SPDX-License-Identifier: MIT
// tensor_name.hpp: the names of tensors in a file.
#pragma once

#include <string>
#include <string_view>

#include "role.hpp"

CKE_COMPILED_ONCE
namespace cke {

// The tensor's name in a file.
inline std::string tensor_name(const spelling& s, bool bias, u32 layer, u32 expert) {
  std::string name(s.text);
  for (const u32 number : {layer, expert})
    if (const auto hole = name.find("{}"); hole != name.npos) name.replace(hole, 2, std::to_string(number));
  if (!s.is_exact) (name += s.joined_by) += bias ? "bias" : "weight";
  return name;
}

// Whether a tensor's name puts it after the last of `layers` layers: those of multi-token prediction lie there.
inline bool lies_beyond(std::string_view name, naming as, u64 layers) {
  const std::string_view before = as == naming::hf ? "model.layers." : "blk.";
  if (as == naming::hf && name.starts_with("mtp.")) return true;
  if (!name.starts_with(before)) return false;
  u64 layer = 0;
  for (name.remove_prefix(before.size()); !name.empty() && name[0] >= '0' && name[0] <= '9' && layer < layers;
       name.remove_prefix(1))
    layer = 10 * layer + static_cast<u64>(name[0] - '0');
  return layer >= layers;
}

}  // namespace cke
