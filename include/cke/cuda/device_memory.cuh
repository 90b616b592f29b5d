// SPDX-License-Identifier: MIT
// device_memory.cuh: a device's allocations, freed together.
#pragma once

#include "../core/mutex.hpp"
#include "../runtime/page_pool.hpp"

namespace cke::cuda {

// Safe to use from several threads: pages are taken for a new session while a pass runs.
template <class Device> class device_memory final : public page_memory {
 public:
  explicit device_memory(Device& d) : device_(d) {}
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  ~device_memory() {
    for (std::byte* p : parts_) device_.free(p);
  }
  std::byte* take(u64 bytes) override {
    const std::lock_guard ours(busy_);
    parts_.reserve(parts_.size() + 1);
    parts_.push_back(device_.allocate(align_up(bytes ? bytes : 1)));
    bytes_ += align_up(bytes);
    return parts_.back();
  }
  void copy(std::byte* to, const std::byte* from, u64 bytes) override { device_.copy(to, from, bytes); }
  u64 bytes() const {
    const std::lock_guard ours(busy_);
    return bytes_;
  }

 private:
  Device& device_;
  mutable mutex busy_;
  std::vector<std::byte*> parts_;
  u64 bytes_{};
};

}  // namespace cke::cuda
