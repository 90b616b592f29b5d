// SPDX-License-Identifier: MIT
// part.hpp: a part of the check in a process of its own, which may hang, crash or spoil its device: the next one goes
// on.
#pragma once

#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>

#include "report.hpp"

namespace device_check {

// Parts are forked from a process that never touches the device: they have its memory, and a device of their own.
class parts {
 public:
  parts(report& rows, unsigned seconds) : rows_(rows), end_(clock::now() + std::chrono::seconds(seconds)) {}

  // Runs f(report) for at most so many seconds, and no longer than all parts may take. Returns whether it ran to its
  // end; what it reported until then are rows.
  template <class F> bool run(const std::string& name, unsigned seconds, F&& f) {
    const auto limit = std::min(clock::now() + std::chrono::seconds(seconds), end_);
    if (end_ - clock::now() < std::chrono::seconds(2)) {
      rows_.absent(name, "no time was left");
      return false;
    }
    int ends[2];
    if (::pipe(ends) != 0) return failed(name, "no pipe");
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) return ::close(ends[0]), ::close(ends[1]), failed(name, "no process");
    if (child == 0) {
      ::close(ends[0]);
      report rows;
      rows.to_pipe(ends[1]);
      const bool ran = rows.step(name, [&] { f(rows); });
      ::_exit(ran ? 0 : failure);
    }
    ::close(ends[1]);
    const bool in_time = listen(ends[0], limit);
    ::close(ends[0]);
    if (!in_time) ::kill(child, SIGKILL);
    const int status = status_of(child, in_time ? limit : clock::now() + std::chrono::seconds(5));
    if (!in_time) return failed(name, "not done after " + std::to_string(seconds) + " s");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == failure) return false;  // it has said so itself
    return failed(name, WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status)) : "ended early");
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr int failure = 1, early = 0x7f00;

  bool failed(const std::string& name, const std::string& why) {
    rows_.text(name + "_error", why), rows_.check(name + "_runs", false);
    return false;
  }
  // Takes rows until the part has closed its end. False if it is late.
  bool listen(int from, clock::time_point limit) {
    std::string line;
    char some[4096];
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - clock::now()).count();
      pollfd wait{from, POLLIN, 0};
      const int ready = left > 0 ? ::poll(&wait, 1, static_cast<int>(left)) : 0;
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return false;
      const ssize_t n = ::read(from, some, sizeof some);
      if (n <= 0) return true;
      for (const char c : std::string_view(some, static_cast<std::size_t>(n)))
        if (c == '\n') rows_.take(line), line.clear();
        else line += c;
    }
  }
  // A process that hangs in its driver cannot be ended: it is left behind.
  static int status_of(pid_t child, clock::time_point limit) {
    int status = early;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (clock::now() > limit) {
        ::kill(child, SIGKILL);
        return early;
      }
      ::usleep(2000);
    }
    return status;
  }

  report& rows_;
  clock::time_point end_;
};

}  // namespace device_check
