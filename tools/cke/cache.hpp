// SPDX-License-Identifier: MIT
// cache.hpp: compiles units on demand and caches the shared objects in a directory of the user's.
#pragma once

#include <string>

#include "library.hpp"
#include "rooms.hpp"
#include "unit.hpp"

namespace cke::tool {

struct cached_library {
  std::shared_ptr<const library> door;
  std::string path;            // of the shared object
  double compile_seconds = 0;  // 0: found in the cache
};

// $CKE_CACHE, $XDG_CACHE_HOME/cke or ~/.cache/cke; created with mode 0700 if absent. Its files are executed, so this
// throws Error{file} if another user owns the directory or the mode lets others in.
std::string cache_directory();
// The same, or empty where there is none yet.
std::string existing_cache_directory();

// Whom a unit is for. One for this command leaves to it the reading of files and all that is in its compiled part
// (compiled/), where there is one that was made from these headers, by this compiler, for this machine; it opens here
// only. A standalone one links libc alone.
enum class made_for { this_command, any_program, standalone };

// The compiled unit: the one that this program carries, one that was installed ready, one of the cache, or one made
// now. One that is for any program serves this command too. Two processes that want the same unit compile it once; an
// entry that is damaged or of another ABI is made again. Throws Error: compile, file.
cached_library library_of(const unit& u, made_for whom);

// Makes the object file of an assembler file, with the compiler of units. The files that it includes are in its folder.
// Throws Error: compile.
void assemble(const std::string& source, const std::string& object);

}  // namespace cke::tool
