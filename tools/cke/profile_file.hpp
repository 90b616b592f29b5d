// SPDX-License-Identifier: MIT
// profile_file.hpp: a profile, a YAML file with the hints of one program on one machine: docs/tuning.md.
#pragma once

#include <string>

#include <cke/hints.hpp>

#include "rooms.hpp"

namespace cke::tool {

struct hint_profile {
  // Whom it is for; what is empty or 0 may be any.
  struct target {
    std::string program;  // program_of() its unit
    std::string cpu;
    u32 threads = 0;
  };

  std::string name, model;  // for people
  target is_for;
  cke::hints hints;
  // How it came about.
  std::string tuned_device;
  double tokens_per_second = 0;
};

// Throws Error: file; malformed, with the line and the key that is unknown, missing, of another type or out of range.
hint_profile read_profile(const std::string& path);

// Throws config_mismatch if the profile is for something else.
void check_target(const hint_profile& p, const hint_profile::target& here, const std::string& path);

// Replaces a file, once the new one is whole. Throws Error{file}.
void write_profile(const std::string& path, const hint_profile& p);

}  // namespace cke::tool
