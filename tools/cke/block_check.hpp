// SPDX-License-Identifier: MIT
// block_check.hpp: compares the checksums of a file's blocks, on threads of its own.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <cke/core/types.hpp>

#include "rooms.hpp"

namespace cke::tool {

// The XXH64 of each block of so many bytes. The thread that checks a block is the first to touch its pages, and has
// them mapped in one call.
std::vector<u64> sums_of_blocks(std::span<const std::byte> mapped, u64 block, u32 threads);

// Checks the blocks of a mapped file while the caller does something else.
class block_check {
 public:
  // All arguments outlive this.
  block_check(std::span<const std::byte> mapped, u64 block, std::span<const u64> sums, u32 threads);
  ~block_check();
  block_check(const block_check&) = delete;
  block_check& operator=(const block_check&) = delete;

  // Waits. The first block that has another sum, or one for each block: there is none.
  struct bad_block {
    u64 number, found;
  };
  const std::vector<bad_block>& finish();

 private:
  void work();

  std::span<const std::byte> mapped_;
  const u64 block_;
  std::span<const u64> sums_;
  std::atomic<u64> next_ = 0;
  std::mutex busy_;
  std::vector<bad_block> bad_;  // at most one, that of the lowest number
  std::vector<std::thread> threads_;
};

}  // namespace cke::tool
