// SPDX-License-Identifier: MIT
// checked_memory.cuh: a device's memory, emulated on the host: its allocations, and the state of each word in them.
#pragma once

#include <map>
#include <memory>

#include "shadow.cuh"

namespace cke::host_run {

class checked_memory {
 public:
  struct allocation {
    std::unique_ptr<std::byte[]> memory;
    u64 bytes;
    shadow known;
  };
  struct found {
    allocation* part;
    u64 offset;
  };

  // ---- for the host, between launches

  std::byte* allocate(u64 bytes) {
    auto part = std::make_unique<std::byte[]>(bytes);
    std::memset(part.get(), 0xff, bytes);  // poison: NaN
    std::byte* const at = part.get();
    parts_.emplace(at, allocation{std::move(part), bytes, shadow(bytes)});
    return at;
  }
  void free(std::byte* p) noexcept { last_ = nullptr, parts_.erase(p); }
  void write(std::byte* to, const void* from, u64 bytes) {
    if (bytes == 0) return;
    std::memcpy(to, from, bytes);
    const auto [part, offset] = find(to, bytes);
    part->known.fill(offset, bytes, true);
  }
  void read(void* to, const std::byte* from, u64 bytes) {
    if (bytes == 0) return;
    const auto [part, offset] = find(from, bytes);
    part->known.read(offset, bytes, {}, {});
    std::memcpy(to, from, bytes);
  }
  void copy(std::byte* to, const std::byte* from, u64 bytes) {
    const auto [target, to_offset] = find(to, bytes);
    const auto [source, from_offset] = find(from, bytes);
    std::memcpy(to, from, bytes);
    target->known.copy(to_offset, source->known, from_offset, bytes);
  }

  // ---- for device code

  found find(const void* p, u64 bytes) {
    const auto* const at = static_cast<const std::byte*>(p);
    if (!last_ || at < last_->memory.get() || at >= last_->memory.get() + last_->bytes) {
      auto next = parts_.upper_bound(at);
      if (next == parts_.begin()) fault("an access", "memory of the device");
      last_ = &(--next)->second;
    }
    const u64 offset = static_cast<u64>(at - last_->memory.get());
    if (!fits(offset, bytes, last_->bytes)) fault("an access", "memory of the device");
    return {last_, offset};
  }

 private:
  std::map<const std::byte*, allocation> parts_;
  allocation* last_{};
};

}  // namespace cke::host_run
