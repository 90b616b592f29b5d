// SPDX-License-Identifier: MIT
// process.cpp: implements process.hpp.
#include "process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <cke/core/error.hpp>

#include "rooms.hpp"

namespace cke::tool {

process_result run_process(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const auto fail = [&](int error) {
    throw Error(errc::file, arguments[0], {}, "a program that can be started", std::strerror(error));
  };

  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) fail(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  // Restores the default action of signals that this process ignores.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child{};
  const int failed = posix_spawn(&child, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed) {
    close(ends[0]);
    fail(failed);
  }

  process_result result;
  constexpr std::size_t most = std::size_t{4} << 20;
  char part[4096];
  for (;;) {
    const ssize_t n = ::read(ends[0], part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.output.append(part, std::min(static_cast<std::size_t>(n), most - result.output.size()));
  }
  close(ends[0]);
  int status{};
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string find_program(const std::string& name) {
  const auto runs = [](const std::string& path) {
    std::error_code ignored;
    return !access(path.c_str(), X_OK) && std::filesystem::is_regular_file(path, ignored);
  };
  if (name.find('/') != std::string::npos) return runs(name) ? name : std::string{};
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin"; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = std::string(rest.substr(0, colon)) + '/' + name;
    if (candidate.front() == '/' && runs(candidate)) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? value : "";
}

}  // namespace cke::tool
