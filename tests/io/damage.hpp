// SPDX-License-Identifier: MIT
// damage.hpp: fixtures whole, cut short and with flipped bits, and errors in checkable form.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "exercise.hpp"

namespace damage {

inline std::string fixture(const std::string& name) { return std::string(CKE_TEST_DATA "/io/") + name; }

inline std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A fresh directory for one test, removed with everything in it.
class scratch {
 public:
  scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "cke-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    dir_ = name;
  }
  scratch(const scratch&) = delete;
  ~scratch() { std::filesystem::remove_all(dir_); }

  const std::string& dir() const { return dir_; }
  std::string write(const std::string& name, std::string_view text) const {
    const std::string path = dir_ + '/' + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::string dir_;
};

// What went wrong in f(): the error's text, or "" when nothing did. Other exceptions pass.
template <class F> std::string error_of(F f, cke::errc* code = nullptr) {
  try {
    f();
    return {};
  } catch (const cke::Error& e) {
    if (code) *code = e.code;
    return e.what();
  }
}

// parse(bytes) for every prefix of `whole`: returns the length of the shortest that is accepted.
template <class Parse> std::size_t shortest_accepted(const std::string& whole, Parse parse) {
  std::size_t shortest = whole.size();
  for (std::size_t n = whole.size() + 1; n-- > 0;) {
    const exercise::exact_copy bytes(whole.data(), n);
    if (error_of([&] { parse(bytes); }).empty()) shortest = n;
  }
  return shortest;
}

// parse(bytes) for every single-bit flip in the first 4 KB: returns how many were accepted.
template <class Parse> std::size_t flips_accepted(const std::string& whole, Parse parse) {
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < std::min<std::size_t>(whole.size(), 4096) * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const exercise::exact_copy bytes(flipped.data(), flipped.size());
    accepted += error_of([&] { parse(bytes); }).empty();
  }
  return accepted;
}

}  // namespace damage
