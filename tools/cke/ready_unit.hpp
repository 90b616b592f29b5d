// SPDX-License-Identifier: MIT
// ready_unit.hpp: units that were compiled ahead and installed beside the command, so that their models need no
// compiler: PREFIX/lib/cke/units/NAME/ has unit.cpp and an object for each of some instruction sets.
#pragma once

#include <memory>
#include <string>

#include "library.hpp"
#include "rooms.hpp"
#include "unit.hpp"

namespace cke::tool {

struct ready_unit {
  std::shared_ptr<const library> door;  // null: there is none
  std::string path;
};

// The object of a unit with this text for the best instruction set that this machine has. An object is trusted as the
// command beside it is. None is taken where CKE_MARCH or CKE_INCLUDE ask for a unit of one's own.
ready_unit ready_unit_of(const unit& u);

}  // namespace cke::tool
