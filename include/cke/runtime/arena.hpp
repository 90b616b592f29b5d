// SPDX-License-Identifier: MIT
// arena.hpp: one block of memory, in huge pages if possible, handed out in 64-byte steps and freed as a whole.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "../core/concat.hpp"
#include "../core/error.hpp"
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

// Zeroed memory. Pages become resident when first touched, so the thread that fills a part
// decides on which NUMA node it lies.
class arena {
 public:
  arena() = default;

  // `used`: how many of these bytes will be touched at most. Throws out_of_memory: more than memory_limit(), or the
  // system refuses.
  explicit arena(u64 bytes, bool huge_pages = true, u64 used = ~u64{}) {
    const u64 limit = memory_limit();
    if (std::min(bytes, used) > limit) refuse(std::min(bytes, used), concat({limit, " bytes of memory"}));
    if (bytes == 0) return;
    const u64 wanted = align_up(bytes, huge_page), mapped = wanted + huge_page;
    void* const raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) refuse(bytes, "a refusal by the system");
    // Keep the 2 MiB-aligned middle.
    auto* const start = static_cast<std::byte*>(raw);
    const u64 lead = align_up(reinterpret_cast<std::uintptr_t>(raw), huge_page) - reinterpret_cast<std::uintptr_t>(raw);
    if (lead) munmap(start, lead);
    if (huge_page - lead) munmap(start + lead + wanted, huge_page - lead);
    base_ = start + lead;
    size_ = wanted;
    madvise(base_, size_, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // may fail: the arena is then only slower
  }

  arena(arena&& other) noexcept { swap(other); }
  arena& operator=(arena&& other) noexcept {
    arena moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~arena() {
    if (base_) munmap(base_, size_);
  }

  // The next `bytes`, aligned to 64. Throws out_of_memory when the arena is exhausted.
  std::byte* take(u64 bytes) {
    if (!fits(used_, bytes, size_)) refuse(bytes, concat({size_ - used_, " bytes left in the arena"}));
    std::byte* const part = base_ + used_;
    used_ = std::min(size_, used_ + align_up(bytes));
    return part;
  }
  // `count` zeroed objects of a type for which all bits zero are a valid value.
  template <class T> T* take(u64 count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);
    u64 bytes{};
    if (!checked_mul(count, sizeof(T), bytes)) refuse(count, "a size beyond 64 bits");
    return reinterpret_cast<T*>(take(bytes));
  }

  std::byte* data() const { return base_; }
  u64 size() const { return size_; }
  u64 used() const { return used_; }

 private:
  static constexpr u64 huge_page = u64{2} << 20;

  [[noreturn]] static void refuse(u64 bytes, std::string_view found) {
    throw Error(errc::out_of_memory, {}, "arena", concat({bytes, " bytes"}), found);
  }
  void swap(arena& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(used_, other.used_);
  }

  std::byte* base_{};
  u64 size_{}, used_{};
};

}  // namespace cke::runtime
CKE_COLD_END
