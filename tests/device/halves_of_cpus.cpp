// SPDX-License-Identifier: MIT
// halves_of_cpus.cpp: which half of the CPU's this one can run, and the weights that all are asked about.
#include "check.hpp"

extern "C" const device_check::cpu_half cpu_avx512_vnni, cpu_avx2;

namespace device_check {

const cpu_half* this_cpu() {
  const auto has = [](auto... ok) { return (ok && ...); };
  if (has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"), __builtin_cpu_supports("avx512dq"),
          __builtin_cpu_supports("avx512vl"), __builtin_cpu_supports("avx512vnni"),
          __builtin_cpu_supports("avx512bf16"), __builtin_cpu_supports("avx512ifma"),
          __builtin_cpu_supports("avx512vbmi"), __builtin_cpu_supports("avx512vbmi2"), __builtin_cpu_supports("gfni")))
    return &cpu_avx512_vnni;
  if (has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"), __builtin_cpu_supports("f16c")))
    return &cpu_avx2;
  return nullptr;
}

// Of the sizes that random_model has, by splitmix64, which takes seconds where Philox takes a minute.
random_model::tensors random_weights() {
  random_model::tensors t;
  u64 drawn = 0;
  program<M, F32>::for_each_weight([&](const weight& w) {
    const bool matrix = w.slot.quantisable || w.slot.rows > 1;
    const float middle = matrix ? 0.f : 1.f, size = matrix ? std::sqrt(3.f / static_cast<float>(w.slot.cols)) : 0.5f;
    std::vector<float> numbers(u64{w.slot.rows} * w.slot.cols);
    for (float& x : numbers) {
      u64 z = drawn += 0x9e3779b97f4a7c15u;
      z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u, z = (z ^ z >> 27) * 0x94d049bb133111ebu;
      x = middle + size * static_cast<float>(static_cast<i32>(z >> 32)) * 0x1p-31f;
    }
    const spelling& rule = name_of(names_of<M>(), w.where, w.slot).hf[0];
    t.add(tensor_name(rule, w.slot.bias, w.layer, 0),
          matrix ? tensor_shape{w.slot.rows, w.slot.cols} : tensor_shape{w.slot.cols}, numbers);
  });
  return t;
}

}  // namespace device_check
