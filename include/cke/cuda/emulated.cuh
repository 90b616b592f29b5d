// SPDX-License-Identifier: MIT
// emulated.cuh: a device that is the host: the same launches, fiber by fiber, with every access checked.
#pragma once

#include <functional>

#include "../runtime/team.hpp"
#include "kernel.cuh"

namespace cke::cuda {

// Which order things happen in; every new device takes it as it is then.
inline u64 emulation_seed = 0;

template <class Arch> class emulated {
 public:
  static constexpr std::string_view name = "emulated";
  using graph = std::vector<std::function<void()>>;

  emulated() : machine_(std::make_unique<host_run::machine>(emulation_seed)) {}

  std::byte* allocate(u64 bytes) { return machine_->allocate(bytes); }
  void free(std::byte* p) noexcept { machine_->free(p); }
  void write(std::byte* to, const void* from, u64 bytes) { machine_->write(to, from, bytes); }
  void read(void* to, const std::byte* from, u64 bytes) { machine_->read(to, from, bytes); }
  void copy(std::byte* to, const std::byte* from, u64 bytes) { machine_->copy(to, from, bytes); }

  template <class Kernel> void launch(launch_shape g, const step& s) {
    const auto run = [this, g, s] {
      const kernel_float_mode mode;
      machine_->launch({g.x, g.y, g.z}, block_threads, g.shared_bytes, [&] { Kernel::template on<Arch>::run(s); });
    };
    if (recording_) recording_->push_back(run);
    else run();
  }
  // What f launches is kept, to be run again and again.
  template <class F> graph record(F&& f) {
    graph g;
    recording_ = &g;
    f();
    recording_ = nullptr;
    return g;
  }
  void replay(const graph& g) {
    for (const auto& run : g) run();
  }

 private:
  std::unique_ptr<host_run::machine> machine_;
  graph* recording_{};
};

}  // namespace cke::cuda
