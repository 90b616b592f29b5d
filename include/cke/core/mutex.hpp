// SPDX-License-Identifier: MIT
// mutex.hpp: std::mutex, or nothing where a program has one thread.
#pragma once

#include <mutex>

#include "types.hpp"

namespace cke {

#ifdef CKE_ALONE
struct mutex {
  void lock() {}
  void unlock() {}
};
#else
using std::mutex;
#endif

}  // namespace cke
