// SPDX-License-Identifier: MIT
// block_check.cpp: see block_check.hpp.
#include "block_check.hpp"

#include <sys/mman.h>

#include <algorithm>

#include <cke/core/xxh64.hpp>

#include "rooms.hpp"

namespace cke::tool {
namespace {

// Maps the pages of a part that begins with one: a call for all of them takes a third of the time of their faults.
// Where the system cannot do that, reading does.
void map_pages(std::span<const std::byte> part) {
#ifdef MADV_POPULATE_READ
  ::madvise(const_cast<std::byte*>(part.data()), part.size(), MADV_POPULATE_READ);
#else
  static_cast<void>(part);
#endif
}
u64 sum_of_block(std::span<const std::byte> mapped, u64 block, u64 number) {
  const auto part = mapped.subspan(number * block, std::min(block, mapped.size() - number * block));
  map_pages(part);
  return xxh64::of(part);
}

}  // namespace

block_check::block_check(std::span<const std::byte> mapped, u64 block, std::span<const u64> sums, u32 threads)
    : mapped_(mapped), block_(block), sums_(sums) {
  const u64 count = std::min<u64>(threads, sums.size());
  for (u64 i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}
block_check::~block_check() {
  next_ = sums_.size();
  for (std::thread& t : threads_) t.join();
}

void block_check::work() {
  for (u64 i; (i = next_++) < sums_.size();) {
    const u64 found = sum_of_block(mapped_, block_, i);
    if (found == sums_[i]) continue;
    const std::lock_guard one(busy_);
    if (bad_.empty()) bad_.push_back({i, found});
    else if (i < bad_[0].number) bad_[0] = {i, found};
  }
}

const std::vector<block_check::bad_block>& block_check::finish() {
  work();  // the caller has nothing better to do
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  return bad_;
}

std::vector<u64> sums_of_blocks(std::span<const std::byte> mapped, u64 block, u32 threads) {
  std::vector<u64> sums(mapped.size() / block + (mapped.size() % block != 0));
  std::atomic<u64> next = 0;
  std::vector<std::thread> team;
  for (u32 t = 0; t < std::max(threads, 1u); ++t)
    team.emplace_back([&] {
      for (u64 i; (i = next++) < sums.size();) sums[i] = sum_of_block(mapped, block, i);
    });
  for (std::thread& t : team) t.join();
  return sums;
}

}  // namespace cke::tool
