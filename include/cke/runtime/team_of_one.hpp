// SPDX-License-Identifier: MIT
// team_of_one.hpp: the team of team.hpp where a program has one thread: the caller does everything.
#pragma once

#include <atomic>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../core/hints.hpp"

#ifdef CKE_ALONE
namespace cke::runtime {

inline u32 default_threads() { return 1; }

class team {
 public:
  static constexpr u32 max_threads = 1;

  // Throws config_range for more than one thread.
  explicit team(u32 threads = 1, const hints& = {}) {
    if (threads != 1) throw Error(errc::config_range, {}, "threads", "1: this build has no others", concat({threads}));
  }
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  u32 size() const { return 1; }
  template <class F> void run(F&& body) { body(0); }
  template <class F> void run_fitting(F&& body, u32 = 1) { body(0); }
  void barrier() {}
  void wait_while(const std::atomic<u32>&, u32) const {}

  struct range {
    u32 first, last;
  };
  range slice(u32, u32 units) const { return {0, units}; }
  template <class F> void share(u32, u32 units, F&& f) {
    for (u32 i = 0; i < units; ++i) f(i);
  }
  template <class F> void share(u32 thread, u32 units, u32, F&& f) { share(thread, units, f); }
};

}  // namespace cke::runtime
#endif
