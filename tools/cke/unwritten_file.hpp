// SPDX-License-Identifier: MIT
// unwritten_file.hpp: an in-memory image of a file to be written.
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

// Bytes that are not put are zero and take no memory, so the file may exceed the machine's memory.
class unwritten_file {
 public:
  // Throws out_of_memory.
  explicit unwritten_file(u64 size)
      : bytes_(static_cast<std::byte*>(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), size) {
    if (bytes_.data() == MAP_FAILED) fail();
  }
  ~unwritten_file() { ::munmap(bytes_.data(), bytes_.size()); }
  unwritten_file(const unwritten_file&) = delete;
  unwritten_file& operator=(const unwritten_file&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

  // Makes only the pages of this part writable, so that only they count as memory.
  void put(u64 offset, std::span<const std::byte> part) {
    const u64 page = static_cast<u64>(::sysconf(_SC_PAGESIZE)), first = offset / page * page;
    if (::mprotect(bytes_.data() + first, offset + part.size() - first, PROT_READ | PROT_WRITE) != 0) fail();
    std::ranges::copy(part, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(errc::out_of_memory, {}, "a file to be written", "an address space for it", std::strerror(errno));
  }

  std::span<std::byte> bytes_;
};

}  // namespace cke::tool
