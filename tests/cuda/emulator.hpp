// SPDX-License-Identifier: MIT
// emulator.hpp: small device code, run on the host.
#pragma once

#include <cke/cuda/dev.cuh>

#include <doctest/doctest.h>

#include <functional>
#include <string>

namespace emulator {

using namespace cke;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

inline constexpr u32 threads = 64;

struct device {
  host_run::machine machine;
  u32* memory;  // [threads], zeros
  explicit device(u64 seed = 0) : machine(seed), memory(reinterpret_cast<u32*>(machine.allocate(threads * 4))) {
    const std::vector<u32> zeros(threads);
    machine.write(reinterpret_cast<std::byte*>(memory), zeros.data(), threads * 4);
  }
  void run(const std::function<void(u32*)>& body, host_run::grid g = {}, u32 shared_bytes = 1024) {
    machine.launch(g, threads, shared_bytes, [&] { body(memory); });
  }
  std::vector<u32> numbers() {
    std::vector<u32> all(threads);
    machine.read(all.data(), reinterpret_cast<std::byte*>(memory), threads * 4);
    return all;
  }
};

// Whether it is found whoever runs first, and called by its name.
inline bool finds(const std::string& name, const std::function<void(u32*)>& body, host_run::grid g = {}) {
  for (u64 seed = 0; seed < 20; ++seed) {
    try {
      device(seed).run(body, g);
      return false;
    } catch (const Error& e) {
      INFO(e.what());
      CHECK(std::string(e.what()).find(name) != std::string::npos);
    }
  }
  return true;
}

}  // namespace emulator
