// SPDX-License-Identifier: MIT
// cpu.cpp: what the CPU answers.
#include "check.hpp"

namespace device_check {

std::string cpu_name() { return std::string(isa::native::name); }
bool cpu_has_the_order() { return std::is_same_v<isa::native, isa::avx512_vnni>; }
random_model::tensors random_weights() { return random_model::tensors::of<program<M, F32>>(); }
answer cpu_answer_q8_0(const random_model::tensors& t, std::span<const u32> prompt, u32 count) {
  return ask(load<machine<Q8_0, isa::native>>(t, 512), prompt, count);
}
answer cpu_answer_bf16(const random_model::tensors& t, std::span<const u32> prompt, u32 count) {
  return ask(load<machine<BF16, isa::native>>(t, 512), prompt, count);
}

}  // namespace device_check
