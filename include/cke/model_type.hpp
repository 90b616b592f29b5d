// SPDX-License-Identifier: MIT
// model_type.hpp: a model's type, as the C interfaces need it.
#pragma once

#include <span>

#include "core/role.hpp"
#include "runtime/compiled_program.hpp"

namespace cke::door {

struct model_type {
  const runtime::compiled_program& compiled;
  std::span<const name_rule> names;
};

}  // namespace cke::door
