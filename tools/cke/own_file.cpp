// SPDX-License-Identifier: MIT
// own_file.cpp: see own_file.hpp.
#include "own_file.hpp"

#include <dlfcn.h>
#include <link.h>

namespace cke::tool {

namespace fs = std::filesystem;

fs::path own_file() {
  Dl_info where{};
  link_map* object = nullptr;
  std::error_code ignored;
  const bool found =
      dladdr1(reinterpret_cast<void*>(&own_file), &where, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP);
  const bool is_library = found && object && *object->l_name;
  return is_library ? fs::canonical(object->l_name, ignored) : fs::read_symlink("/proc/self/exe", ignored);
}

}  // namespace cke::tool
