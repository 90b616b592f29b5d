// SPDX-License-Identifier: MIT
// tower_unit.hpp: the translation unit that compiles a checkpoint's vision tower.
#pragma once

#include "unit.hpp"

namespace cke::tool {

// `from`: the tower's own part of a checkpoint. Throws as make_unit.
unit make_tower_unit(const checkpoint& from, const unit_options& options);

}  // namespace cke::tool
