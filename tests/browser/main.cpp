// SPDX-License-Identifier: MIT
// main.cpp: the runner of tests for WebAssembly.
#include <sstream>

// doctest names std::fstream, for its option --out; without a file system the library only declares it.
template <> class std::basic_fstream<char> : public std::stringstream {
 public:
  void open(const char*, openmode) {}
  bool is_open() const { return false; }
  void close() {}
};

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
