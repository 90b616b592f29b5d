// SPDX-License-Identifier: MIT
// system_memory_wasm.hpp: system_memory.hpp inside the one memory that a WebAssembly module has.
#pragma once

#include <cstdlib>
#include <cstring>
#include <span>

#include "../core/types.hpp"

#ifdef CKE_ALONE
namespace cke::runtime {

// What 32-bit addresses reach.
inline u64 memory_limit() { return (u64{1} << 32) - 1; }

// Zeroed memory of at least that many bytes, aligned to 64; empty if the module's memory cannot grow so far.
inline std::span<std::byte> system_memory(u64 bytes, bool) {
  const u64 wanted = align_up(bytes);
  if (wanted > memory_limit()) return {};
  const auto size = static_cast<std::size_t>(wanted);
  void* const memory = std::aligned_alloc(64, size);
  if (!memory) return {};
  std::memset(memory, 0, size);
  return {static_cast<std::byte*>(memory), size};
}
inline void give_back(std::span<std::byte> memory) { std::free(memory.data()); }

}  // namespace cke::runtime
#endif
