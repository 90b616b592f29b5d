// SPDX-License-Identifier: MIT
// result.hpp: a value or what went wrong, for programs without exceptions.
#pragma once

#include <string_view>

#include "errc.hpp"

namespace cke {

// Reads "SUBJECT: expected EXPECTED, found FOUND".
struct failure {
  errc code{};
  std::string_view subject{};
  u64 expected{}, found{};
};

// A T, or a failure. T is default-constructible.
template <class T> class result {
 public:
  constexpr result(const T& value) : value_(value), holds_(true) {}
  constexpr result(const failure& error) : error_(error) {}
  constexpr explicit operator bool() const { return holds_; }
  // Only if it holds one.
  constexpr T& operator*() { return value_; }
  constexpr const T& operator*() const { return value_; }
  constexpr T* operator->() { return &value_; }
  // Only if it does not.
  constexpr const failure& error() const { return error_; }

 private:
  T value_{};
  failure error_{};
  bool holds_{};
};

}  // namespace cke
