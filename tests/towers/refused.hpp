// SPDX-License-Identifier: MIT
// refused.hpp: what a call says that must throw an error of this code.
#pragma once

#include <doctest/doctest.h>

#include <cke/core/error.hpp>
#include <string>

namespace towers {

template <class F> std::string refused(cke::errc code, F f) {
  try {
    f();
  } catch (const cke::Error& e) {
    CHECK(e.code == code);
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace towers
