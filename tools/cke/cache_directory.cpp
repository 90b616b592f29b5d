// SPDX-License-Identifier: MIT
// cache_directory.cpp: implements cache_directory.hpp.
#include "cache_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <cke/core/error.hpp>

#include "process.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;

// Empty where the environment does not say.
std::string cache_path() {
  std::string path = environment("CKE_CACHE");
  if (path.empty()) {
    if (const std::string xdg = environment("XDG_CACHE_HOME"); xdg.starts_with('/')) path = xdg + "/cke";
    else if (const std::string home = environment("HOME"); home.starts_with('/')) path = home + "/.cache/cke";
    else return {};
  }
  const fs::path absolute = fs::absolute(path).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

}  // namespace

std::string existing_cache_directory() {
  std::error_code ignored;
  const std::string path = cache_path();
  return !path.empty() && fs::exists(path, ignored) ? cache_directory() : std::string();
}

std::string cache_directory() {
  const std::string path = cache_path();
  if (path.empty())
    throw Error(errc::file, {}, "compile cache", "CKE_CACHE, XDG_CACHE_HOME or HOME in the environment",
                "none of them");
  std::error_code failed;
  fs::create_directories(fs::path(path).parent_path(), failed);
  if (mkdir(path.c_str(), 0700) && errno != EEXIST)
    throw Error(errc::file, path, {}, "a directory that can be made", std::strerror(errno));
  struct stat is{};
  if (lstat(path.c_str(), &is)) throw Error(errc::file, path, {}, "a directory", std::strerror(errno));
  if (!S_ISDIR(is.st_mode)) throw Error(errc::file, path, "compile cache", "a directory", "something else");
  if (is.st_uid != geteuid())
    throw Error(errc::file, path, "compile cache", "a directory of user " + std::to_string(geteuid()),
                "one of user " + std::to_string(is.st_uid));
  if (is.st_mode & 077) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(is.st_mode & 07777));
    throw Error(errc::file, path, "compile cache", "mode 0700", std::string("mode ") + mode);
  }
  return path;
}

}  // namespace cke::tool
