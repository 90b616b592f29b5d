// SPDX-License-Identifier: MIT
// rank_watch.hpp: notices a rank that is lost while others wait for it.
#pragma once

#include <string>

#include "../mpi/transport.h"
#include "rooms.hpp"

namespace cke::tool {

class watch_over_ranks {
 public:
  explicit watch_over_ranks(const cke_transport& mpi) : mpi_(mpi) {}

  void all_gather(const void* mine, void* all, const u64* bytes) {
    mpi_.all_gather(const_cast<cke_transport*>(&mpi_), mine, all, bytes);
  }
  [[noreturn]] void fail(const std::string& why) const {
    std::fprintf(stderr, "cke: rank %u: %s\n", mpi_.rank, why.c_str());
    std::_Exit(1);
  }

 private:
  const cke_transport& mpi_;
};

}  // namespace cke::tool
