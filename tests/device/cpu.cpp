// SPDX-License-Identifier: MIT
// cpu.cpp: what the CPU answers. Compiled once for each instruction set, with CPU_HALF as the name of its half; all
// else in it is hidden from the other one (CMakeLists.txt), because both have functions of the same names.
#include "check.hpp"

namespace device_check {

namespace {

template <class Formats> void ask(const random_model::tensors& t, answer& a) {
  const auto model = load<machine<Formats, isa::native>>(t, 512);
  sequence s(model);
  u32 rows = 0;
  const auto keep = [&](std::span<const float> row) { std::ranges::copy(row, a.logits[rows++]); };
  s.feed_all(prompt_ids(), [&](u32, std::span<const float> row) { keep(row); });
  for (u32& id : a.greedy) {
    id = best(s.logits());
    s.feed(id);
    keep(s.logits());
  }
  a.asked = 1;
}

}  // namespace

}  // namespace device_check

extern "C" const device_check::cpu_half CPU_HALF;
const device_check::cpu_half CPU_HALF{cke::isa::native::name.data(),
                                      std::is_same_v<cke::isa::native, cke::isa::avx512_vnni>,
                                      device_check::ask<cke::graph::Q8_0>, device_check::ask<cke::graph::BF16>};
