// SPDX-License-Identifier: MIT
// model_hints.hpp: the hints of the model that a command line names: of the command line, a profile and a bundle.
#pragma once

#include <string>

#include <cke/hints.hpp>

#include "profile_file.hpp"
#include "rooms.hpp"
#include "source.hpp"
#include "unit.hpp"

namespace cke::tool {

struct model_hints {
  hint_stack all;
  std::string profile;  // the file; empty: there is none

  // "profile FILE"
  std::string origin(hint_source from) const;
};

// `packed`: those of a bundle. Throws what reading a profile throws.
model_hints hints_of(const model_args& args, const unit& u, const hints& packed = {});

// What a unit computes, as profiles call it: the same on one rank and on several.
std::string program_of(const unit& u);
// On this machine, with so many threads; 0: as many as there are.
hint_profile::target target_here(const std::string& program, u32 threads);
// Where cke tune writes the profile of a target, and the others look for it: beside the compiled units.
std::string profile_path(const std::string& cache, const hint_profile::target& target);

// "NAME=VALUE", or "NAME@LAYERS=VALUE". Returns what is wrong with it, or sets the field.
std::string set_hint(const std::string& text, hints& to);

}  // namespace cke::tool
