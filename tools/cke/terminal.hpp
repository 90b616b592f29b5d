// SPDX-License-Identifier: MIT
// terminal.hpp: prints results to stdout, and progress to stderr if that is a terminal; handles Ctrl-C.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <cke/core/error.hpp>

#include "rooms.hpp"

namespace cke::tool {

inline bool is_terminal(int file) { return isatty(file) != 0; }

// Writes and flushes a result. Throws Error{file} if the reader has closed the pipe, or the disk is full.
inline void put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout))
    throw Error(errc::file, "standard output", {}, "an open reader", std::strerror(errno));
}

// Writes a result byte for byte; on a terminal, adds a missing line end.
inline void put_exact(std::string_view text) {
  put(text);
  if (is_terminal(STDOUT_FILENO) && !text.ends_with('\n')) put("\n");
}

// A status line on stderr that is overwritten as work proceeds, and erased at the end.
class progress {
 public:
  explicit progress(const char* what) : what_(what) {}
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void show(u64 done, u64 total) {
    const u64 percent = total ? (done < total ? done : total) * 100 / total : 100;
    if (!on_ || percent == shown_) return;
    shown_ = percent;
    std::fprintf(stderr, "\r\033[Kcke: %s %llu%%", what_, static_cast<unsigned long long>(percent));
    drawn_ = true;
  }
  void note(const char* text) {
    if (!on_) return;
    std::fprintf(stderr, "\r\033[Kcke: %s", text);
    drawn_ = true;
  }
  void clear() {
    if (drawn_) std::fputs("\r\033[K", stderr);
    drawn_ = false;
  }

 private:
  const char* what_;
  bool on_ = is_terminal(STDERR_FILENO), drawn_ = false;
  u64 shown_ = 101;
};

// During its lifetime Ctrl-C sets flag() and does nothing else.
class interrupt_guard {
 public:
  interrupt_guard() {
    flag() = false;
    struct sigaction action{};
    action.sa_handler = [](int) { flag() = true; };
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &before_);
  }
  ~interrupt_guard() { sigaction(SIGINT, &before_, nullptr); }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

  static std::atomic<bool>& flag() {
    static std::atomic<bool> pressed;
    return pressed;
  }

 private:
  struct sigaction before_{};
};

}  // namespace cke::tool
