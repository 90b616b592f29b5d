// SPDX-License-Identifier: MIT
// kernel_facts.hpp: what the registry of kernels says of each operation.
#pragma once

#include <string_view>
#include <vector>

#include "rooms.hpp"

namespace cke::tool {

struct kernel_facts {
  std::string_view operation, computes;
  std::vector<std::string_view> formats;
  bool mixed;  // the matrices of one step may have different formats
};
std::vector<kernel_facts> all_kernels();

// The instruction set of models that are compiled on this machine.
std::string_view isa_of_machine();

}  // namespace cke::tool
