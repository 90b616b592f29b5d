// SPDX-License-Identifier: MIT
// rank_watch.hpp: notices a rank that has ended, or does not answer, while others wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <cke/core/types.hpp>

#include "../mpi/transport.h"
#include "rooms.hpp"

namespace cke::tool {

// On rank 0 it ends the process with a message that names the lost rank; mpirun then ends the others. A process whose
// mpirun is gone ends too.
class watch_over_ranks {
 public:
  explicit watch_over_ranks(const cke_transport& mpi);
  ~watch_over_ranks();

  void all_gather(const void* mine, void* all, const u64* bytes);
  [[noreturn]] void fail(const std::string& why) const;

 private:
  void watch();
  std::string missing() const;

  const cke_transport& mpi_;
  const u64 limit_;            // ns that an all-gather may take
  std::atomic<u64> since_{0};  // when the current one began; 0: there is none
  std::mutex busy_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread watcher_;
};

}  // namespace cke::tool
