// SPDX-License-Identifier: MIT
// file_pages.hpp: a file's bytes in memory: mapped, or read where there are no maps.
#pragma once

#ifndef CKE_ALONE
#include <sys/mman.h>
#endif
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>

#include "../core/types.hpp"

CKE_COLD_BEGIN
namespace cke::io::file_pages {

#ifdef CKE_ALONE

// All `size` bytes of an open file; empty, with errno, if there is no memory for them or they cannot be read.
inline std::span<const std::byte> map(int fd, u64 size) {
  auto* const at = size < ~u32{} ? static_cast<std::byte*>(std::malloc(static_cast<std::size_t>(size))) : nullptr;
  if (!at) return {};
  for (std::size_t read = 0; read < size;) {
    const ssize_t more = ::read(fd, at + read, static_cast<std::size_t>(size) - read);
    if (more <= 0) return std::free(at), std::span<const std::byte>{};
    read += static_cast<std::size_t>(more);
  }
  return {at, static_cast<std::size_t>(size)};
}
inline void unmap(std::span<const std::byte> bytes) { std::free(const_cast<std::byte*>(bytes.data())); }
inline void drop(std::span<const std::byte>, u64, u64) {}

#else

// All `size` bytes of an open file, mapped privately; empty, with errno, if the system refuses.
inline std::span<const std::byte> map(int fd, u64 size) {
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) return {};
  return {static_cast<const std::byte*>(at), size};
}
inline void unmap(std::span<const std::byte> bytes) { ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size()); }
// Releases the pages that lie wholly inside a part, and the last one of the file.
inline void drop(std::span<const std::byte> all, u64 offset, u64 bytes) {
  const u64 page = static_cast<u64>(::sysconf(_SC_PAGESIZE));
  const u64 first = align_up(offset, page), end = offset + bytes;
  const u64 last = end == all.size() ? align_up(end, page) : end / page * page;
  if (first < last) ::madvise(const_cast<std::byte*>(all.data()) + first, last - first, MADV_DONTNEED);
}

#endif

}  // namespace cke::io::file_pages
CKE_COLD_END
