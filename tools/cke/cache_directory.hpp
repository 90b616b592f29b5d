// SPDX-License-Identifier: MIT
// cache_directory.hpp: where compiled units and found hints are kept.
#pragma once

#include <string>

#include "rooms.hpp"

namespace cke::tool {

// $CKE_CACHE, $XDG_CACHE_HOME/cke or ~/.cache/cke; created with mode 0700 if absent. Its files are executed, so this
// throws Error{file} if another user owns the directory or the mode lets others in.
std::string cache_directory();
// The same, or empty where there is none yet.
std::string existing_cache_directory();

}  // namespace cke::tool
