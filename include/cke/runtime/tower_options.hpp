// SPDX-License-Identifier: MIT
// tower_options.hpp: how a vision tower is loaded.
#pragma once

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "team.hpp"
#include "weights.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

struct tower_options {
  u32 threads = 0;               // 0: the cores that the process may use
  u32 patches = 0;               // planned for at load; more are planned for when an image has them
  progress_callback progress{};  // weights packed, weights in all

  static constexpr u32 most_patches = 1 << 18;
  // Throws config_range.
  void validate() const {
    if (patches > most_patches)
      throw Error(errc::config_range, {}, "patches", concat({"at most ", most_patches}), concat({patches}));
    if (threads > team::max_threads)
      throw Error(errc::config_range, {}, "threads", concat({"at most ", team::max_threads}), concat({threads}));
  }
};

}  // namespace cke::runtime
CKE_COLD_END
