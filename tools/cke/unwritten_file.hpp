// SPDX-License-Identifier: MIT
// unwritten_file.hpp: a file as it will be, in memory, before any of it is written.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include <cke/core/error.hpp>

#include "rooms.hpp"

namespace cke::tool {

// Bytes that nobody puts are zeros and take no memory, so that a file may be larger than what there is.
class unwritten_file {
 public:
  // Throws out_of_memory.
  explicit unwritten_file(u64 size) : bytes_(static_cast<std::byte*>(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), size) {
    if (bytes_.data() == MAP_FAILED) fail();
  }
  ~unwritten_file() { ::munmap(bytes_.data(), bytes_.size()); }
  unwritten_file(const unwritten_file&) = delete;
  unwritten_file& operator=(const unwritten_file&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

  // Only what may be written counts as memory that is taken: the pages of this part.
  void put(u64 offset, std::span<const std::byte> part) {
    const u64 page = static_cast<u64>(::sysconf(_SC_PAGESIZE)), first = offset / page * page;
    if (::mprotect(bytes_.data() + first, offset + part.size() - first, PROT_READ | PROT_WRITE) != 0) fail();
    std::ranges::copy(part, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

 private:
  [[noreturn]] void fail() const { throw Error(errc::out_of_memory, {}, "a file to be written", "an address space for it", std::strerror(errno)); }

  std::span<std::byte> bytes_;
};

}  // namespace cke::tool
