// SPDX-License-Identifier: MIT
// standalone.hpp: a program of one model, as `cke build MODEL --standalone DIR` leaves it in DIR: this command, with
// the model's compiled unit behind its own bytes, beside the model's bundle. It needs neither compiler nor headers.
#pragma once

#include <memory>
#include <string>

#include "library.hpp"
#include "rooms.hpp"
#include "unit.hpp"

namespace cke::tool {

// The bundle of the model that this program carries: NAME.cke beside a program NAME. Empty if it carries none.
const std::string& own_bundle();

// The unit that this program carries, if it is this one; else null. Throws Error: malformed if its bytes are damaged,
// unsupported if this cpu lacks a feature that its code may use.
std::shared_ptr<const library> carried_unit(const unit& u);

// Writes a program that carries the unit compiled in the file `object`, whose code may use the named features (see
// feature_names.hpp). Throws Error: file; unsupported if no program of this build would run without the libraries of
// this machine.
void write_standalone(const std::string& path, const unit& u, const std::string& object, const std::string& features);

}  // namespace cke::tool
