// SPDX-License-Identifier: MIT
// rank_group.hpp: the processes that mpirun has started for one command.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cke/runtime/rank_link.hpp>

#include "../mpi/transport.h"
#include "rooms.hpp"

namespace cke::tool {

class watch_over_ranks;  // rank_watch.hpp

class rank_group {
 public:
  // Null: mpirun has not started several. The first call joins them. Throws unsupported without libcke_mpi.so.
  static rank_group* of_this_run();
  ~rank_group();

  u32 rank() const { return link_.rank; }
  u32 count() const { return link_.count; }
  // Of a model: calls go to the other ranks and are watched: where a rank is lost, this process ends with a message.
  const rank_link& link() const { return link_; }

  // Every rank's text, on every rank.
  std::vector<std::string> gather(const std::string& mine) const;
  // Rank 0's numbers, on every rank.
  void broadcast(std::vector<u32>& numbers) const;
  // Throws unsupported: it needs one rank.
  [[noreturn]] void refuse(const char* what) const;
  // Ends the job, whatever the other ranks do.
  [[noreturn]] void fail(const std::string& why) const;

 private:
  rank_group();

  std::shared_ptr<void> library_;
  const cke_transport* mpi_ = nullptr;
  rank_link link_;
  std::unique_ptr<watch_over_ranks> watch_;
};

}  // namespace cke::tool
