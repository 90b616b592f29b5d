// SPDX-License-Identifier: MIT
// report.hpp: rows of a table, to stderr, and of a JSON object; and parts that must end in time, whatever a device
// does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace device_check {

class report {
 public:
  void number(const std::string& name, double value, const char* unit) {
    const std::lock_guard turn(lock_);
    std::fprintf(stderr, "%-48s %12.4g %s\n", name.c_str(), value, unit);
    put(name, std::to_string(value));
  }
  void check(const std::string& name, bool holds) {
    const std::lock_guard turn(lock_);
    verdict(name, holds);
  }
  // What could not be asked here, and why.
  void absent(const std::string& name, const std::string& why) {
    const std::lock_guard turn(lock_);
    std::fprintf(stderr, "%-48s %12s (%s)\n", name.c_str(), "not asked", why.c_str());
    put(name, "null"), put(name + "_not_asked", '"' + why + '"');
  }
  void text(const std::string& name, const std::string& value) {
    const std::lock_guard turn(lock_);
    std::fprintf(stderr, "%-48s %s\n", name.c_str(), value.c_str());
    put(name, '"' + value + '"');
  }

  // Whether f() ran to its end; what it throws is a row. After so many seconds the table ends where it is, and the
  // process with it.
  template <class F> bool part(const std::string& name, unsigned seconds, F&& f) {
    bool done = false, ran = true;
    std::mutex of_done;
    std::condition_variable changed;
    std::thread watch([&] {
      std::unique_lock turn(of_done);
      if (changed.wait_for(turn, std::chrono::seconds(seconds), [&] { return done; })) return;
      {
        const std::lock_guard rows(lock_);
        std::fprintf(stderr, "%s: not done after %u s\n", name.c_str(), seconds);
        verdict(name + "_ends_in_time", false);
      }
      std::_Exit(end());
    });
    try {
      f();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
      check(name + "_runs", ran = false);
    }
    {
      const std::lock_guard turn(of_done);
      done = true;
    }
    changed.notify_one();
    watch.join();
    return ran;
  }

  // Prints the object; what the process is to exit with.
  int end() {
    const std::lock_guard turn(lock_);
    std::printf("{%s}\n", json_.c_str());
    std::fflush(stdout);
    return good_ ? 0 : 1;
  }

 private:
  void verdict(const std::string& name, bool holds) {
    std::fprintf(stderr, "%-48s %12s\n", name.c_str(), holds ? "holds" : "DOES NOT HOLD");
    put(name, holds ? "true" : "false");
    good_ = good_ && holds;
  }
  void put(const std::string& name, const std::string& value) {
    json_ += (json_.empty() ? "\"" : ", \"") + name + "\": " + value;
  }

  std::mutex lock_;
  std::string json_;
  bool good_ = true;
};

}  // namespace device_check
