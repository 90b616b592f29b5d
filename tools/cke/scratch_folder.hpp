// SPDX-License-Identifier: MIT
// scratch_folder.hpp: a folder to work in, beside what is to become of it.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include <cke/core/error.hpp>

#include "rooms.hpp"

namespace cke::tool {

// OUTPUT.work.XXXXXX, removed with what is in it, unless it has been renamed. Throws Error{file}.
class scratch_folder {
 public:
  explicit scratch_folder(const std::filesystem::path& output) : path_(output.string() + ".work.XXXXXX") {
    if (!mkdtemp(path_.data())) throw Error(errc::file, path_, {}, "a folder that can be made", std::strerror(errno));
  }
  ~scratch_folder() {
    std::error_code gone;
    std::filesystem::remove_all(path_, gone);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cke::tool
