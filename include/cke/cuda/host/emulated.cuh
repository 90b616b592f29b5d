// SPDX-License-Identifier: MIT
// emulated.cuh: a device emulated on the host: it runs the same launches as fibers and checks every access.
#pragma once

#include <functional>

#include "../../runtime/team.hpp"
#include "../kernel.cuh"

namespace cke::cuda {

// Seed of the scheduler; co-resident blocks; of a cluster (1: none); of a group with a counter (0: none); seconds that
// a launch may take (0: any); injected faults. A new device copies the current values.
inline u64 emulation_seed = 0;
inline u32 emulation_blocks = 4, emulation_cluster = 1, emulation_group = 0;
inline double emulation_launch_limit = 0;
inline host_run::faults emulation_faults{};

template <class Arch> class emulated {
 public:
  static constexpr std::string_view name = "emulated";
  static inline u64 launched_together = 0;  // launches of persistent kernels
  using graph = std::vector<std::function<void()>>;

  emulated()
      : machine_(std::make_unique<host_run::machine>(emulation_seed, emulation_faults)),
        live_{emulation_blocks, has_clusters<Arch> ? emulation_cluster : 1, emulation_group},
        launch_limit_(emulation_launch_limit) {}

  std::byte* allocate(u64 bytes) { return machine_->allocate(bytes); }
  void free(std::byte* p) noexcept { machine_->free(p); }
  void write(std::byte* to, const void* from, u64 bytes) { machine_->write(to, from, bytes); }
  void read(void* to, const std::byte* from, u64 bytes) { machine_->read(to, from, bytes); }
  void copy(std::byte* to, const std::byte* from, u64 bytes) { machine_->copy(to, from, bytes); }

  template <class Kernel> void launch(launch_shape g, const step& s) {
    const auto run = [this, g, s, bytes = bytes_of_launch<Kernel>(s)] {
      const kernel_float_mode mode;
      machine_->launch({g.x, g.y, g.z}, block_threads, bytes, [&] { Kernel::template on<Arch>::run(s, dev::block()); });
    };
    if (recording_) recording_->push_back(run);
    else run();
  }
  // Zeroed words that the host and a launch share.
  u32* host_words(u32 count) {
    std::byte* const p = allocate(u64{count} * sizeof(u32));
    const std::vector<u32> zeros(count);
    write(p, zeros.data(), u64{count} * sizeof(u32));
    return reinterpret_cast<u32*>(p);
  }
  void free_host_words(u32* p) noexcept { free(reinterpret_cast<std::byte*>(p)); }

  // The number of co-resident blocks for this much shared memory. Throws unsupported if there are none.
  template <class Kernel> residents room_for(u32, u32 heads) const {
    return heads > 0 ? live_ : residents{live_.blocks};
  }
  double launch_limit() const { return launch_limit_; }
  u32 block_memory() const { return Arch::shared_memory; }
  // Returns when the launch has ended; until then the host calls `meanwhile` repeatedly.
  template <class Kernel, class Call, class F> void launch_together(residents live, u32 shared_bytes, const Call& call,
                                                                    F meanwhile) {
    const kernel_float_mode mode;
    ++launched_together;
    machine_->launch_together(
        live.blocks, block_threads, shared_bytes, [&] { Kernel::template on<Arch>::run(call); }, meanwhile,
        live.cluster);
  }

  // Records the launches that f makes, for replay.
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
  residents live_;
  double launch_limit_;
  graph* recording_{};
};

}  // namespace cke::cuda
