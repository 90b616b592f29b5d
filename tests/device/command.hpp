// SPDX-License-Identifier: MIT
// command.hpp: another program, run for a limited time.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace device_check {

struct outcome {
  std::string out;
  int code = -1;
  bool late() const { return code == 124; }  // as timeout(1) has it
};
// What a shell command prints, and how it ends.
inline outcome run_for(unsigned seconds, const std::string& command) {
  outcome o;
  std::FILE* const p = popen(("timeout -k 2 " + std::to_string(seconds) + ' ' + command).c_str(), "r");
  if (!p) return o;
  char some[4096];
  for (std::size_t n; (n = std::fread(some, 1, sizeof some, p)) > 0;) o.out.append(some, n);
  const int status = pclose(p);
  o.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return o;
}
// The path of a program of the CUDA toolkit, or of any other; "" where there is none.
inline std::string path_of(const std::string& program) {
  outcome o = run_for(5, "sh -c 'PATH=$PATH:/usr/local/cuda/bin; command -v " + program + "'");
  while (!o.out.empty() && o.out.back() == '\n') o.out.pop_back();
  return o.out;
}
// For a shell.
inline std::string quoted(const std::string& word) {
  std::string all = "'";
  for (const char c : word) all += c == '\'' ? "'\\''" : std::string(1, c);
  return all + '\'';
}

}  // namespace device_check
