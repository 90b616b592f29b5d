// SPDX-License-Identifier: MIT
// report.hpp: rows of a table, to stderr, and of a JSON object, to stdout.
#pragma once

#include <exception>
#include <memory>
#include <string>

namespace device_check {

// A part of the check runs in a process of its own, whose rows come through a pipe: part.hpp.
class report {
 public:
  report();
  ~report();
  // A number that is none (NaN, infinite) is null in JSON, and a claim that does not hold.
  void number(const std::string& name, double value, const char* unit);
  void check(const std::string& name, bool holds);
  void absent(const std::string& name, const std::string& why);  // what could not be asked here
  void text(const std::string& name, const std::string& value);

  // f() may throw: that is a row, and the rest goes on. Returns whether it ran to its end.
  template <class F> bool step(const std::string& name, F&& f) {
    try {
      f();
      return true;
    } catch (const std::exception& e) { text(name + "_error", e.what()); } catch (...) {
      text(name + "_error", "something that is no exception");
    }
    check(name + "_runs", false);
    return false;
  }

  void to_pipe(int end);                        // rows go there from now on
  void take(const std::string& row);            // one that came from there
  double value(const std::string& name) const;  // NaN where there is no such number
  std::string json() const;
  bool good() const;  // whether all that was asked holds

 private:
  struct rows;
  std::unique_ptr<rows> all_;
};

}  // namespace device_check
