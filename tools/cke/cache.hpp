// SPDX-License-Identifier: MIT
// cache.hpp: compiles units on demand and caches the shared objects in a directory of the user's.
#pragma once

#include <string>

#include "library.hpp"
#include "rooms.hpp"
#include "unit.hpp"
#include "unit_compiler.hpp"

namespace cke::tool {

struct cached_library {
  std::shared_ptr<const library> door;
  std::string path;            // of the shared object
  double compile_seconds = 0;  // 0: found in the cache
};

// The compiled unit: the one that this program carries, one that was installed ready, one of the cache, or one made
// now. One that is for any program serves this command too. Two processes that want the same unit compile it once; an
// entry that is damaged or of another ABI is made again. Throws Error: compile, file.
cached_library library_of(const unit& u, made_for whom);

}  // namespace cke::tool
