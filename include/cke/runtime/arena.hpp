// SPDX-License-Identifier: MIT
// arena.hpp: one block of memory, in huge pages if possible, handed out in 64-byte steps and freed as a whole.
#pragma once

#include <algorithm>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#ifdef CKE_ALONE
#include "system_memory_wasm.hpp"
#else
#include "system_memory.hpp"
#endif

CKE_COLD_BEGIN
namespace cke::runtime {

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
    const std::span<std::byte> memory = system_memory(bytes, huge_pages);
    if (memory.empty()) refuse(bytes, "a refusal by the system");
    base_ = memory.data();
    size_ = memory.size();
  }

  arena(arena&& other) noexcept { swap(other); }
  arena& operator=(arena&& other) noexcept {
    arena moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~arena() {
    if (base_) give_back({base_, static_cast<std::size_t>(size_)});
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
