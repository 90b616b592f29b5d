// SPDX-License-Identifier: MIT
// counters.hpp: how often each opcode has been dispatched; readable from other threads while a pass runs.
#pragma once

#include <array>
#include <atomic>

#include "../core/opcode.hpp"

namespace cke::runtime {

class dispatch_counters {
 public:
  void count(opcode op) {
    per_opcode_[static_cast<u8>(op)].fetch_add(1, std::memory_order_relaxed);
    total_.fetch_add(1, std::memory_order_relaxed);
  }
  u64 of(opcode op) const { return per_opcode_[static_cast<u8>(op)].load(std::memory_order_relaxed); }
  u64 total() const { return total_.load(std::memory_order_relaxed); }
  void reset() {
    for (auto& n : per_opcode_) n.store(0, std::memory_order_relaxed);
    total_.store(0, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<u64>, 256> per_opcode_{};
  std::atomic<u64> total_{};
};

}  // namespace cke::runtime
