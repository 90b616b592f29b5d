// SPDX-License-Identifier: MIT
// tensor_name.hpp: the name of a tensor in a file, from its spelling.
#pragma once

#include <string>

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

}  // namespace cke
