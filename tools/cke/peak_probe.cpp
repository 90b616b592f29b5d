// SPDX-License-Identifier: MIT
// peak_probe.cpp: implements peak_probe.hpp; compiled at -O3, or it would measure the compiler.
#include "peak_probe.hpp"

#include <memory>

namespace cke::tool {
namespace {

template <class Isa = isa::native> peak_probe probe_of(std::string_view isa, u32 threads, u64 bytes) {
  if constexpr (!std::is_void_v<typename Isa::base>)
    if (isa != Isa::name) return probe_of<typename Isa::base>(isa, threads, bytes);
  auto shared = std::make_shared<machine_probe<Isa>>(threads, bytes);
  return {[shared] { return shared->measure(); }, [shared] { return shared->read_turn(); }};
}

}  // namespace

peak_probe peak_probe_of(std::string_view isa, u32 threads) {
  return probe_of(isa, threads, machine_probe<>::default_bytes);
}
double f32_peak_of(std::string_view isa, u32 threads) {
  return probe_of(isa, threads, machine_probe<>::piece).measure().f32_gops;
}

}  // namespace cke::tool
