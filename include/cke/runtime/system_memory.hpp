// SPDX-License-Identifier: MIT
// system_memory.hpp: memory of the system, in huge pages if possible.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "cgroup.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// Bytes that this process can hold at most: physical memory, or the cgroup's limit if that is lower.
inline u64 memory_limit(const std::string& root = {}) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  u64 least = pages > 0 && page > 0 ? static_cast<u64>(pages) * static_cast<u64>(page) : ~u64{};
  for (const auto& lines :
       {cgroup_lines("", "memory.max", root), cgroup_lines("memory", "memory.limit_in_bytes", root)})
    for (const std::string& line : lines)
      if (const auto bytes = cgroup_number(line)) least = std::min(least, *bytes);
  return least;
}

// Zeroed memory of at least that many bytes, aligned to 2 MiB; empty if the system refuses.
inline std::span<std::byte> system_memory(u64 bytes, bool huge_pages) {
  constexpr u64 huge_page = u64{2} << 20;
  const u64 wanted = align_up(bytes, huge_page), mapped = wanted + huge_page;
  void* const raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return {};
  // Keep the 2 MiB-aligned middle.
  auto* const start = static_cast<std::byte*>(raw);
  const u64 lead = align_up(reinterpret_cast<std::uintptr_t>(raw), huge_page) - reinterpret_cast<std::uintptr_t>(raw);
  if (lead) munmap(start, lead);
  if (huge_page - lead) munmap(start + lead + wanted, huge_page - lead);
  madvise(start + lead, wanted, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // may fail: it is then only slower
  return {start + lead, wanted};
}
inline void give_back(std::span<std::byte> memory) { munmap(memory.data(), memory.size()); }

}  // namespace cke::runtime
CKE_COLD_END
