// SPDX-License-Identifier: MIT
// layout.cuh: the isa tag of a device, and how weights are packed for it.
#pragma once

#include "../kernels/formats/packed_bf16.hpp"
#include "format_plain.cuh"

namespace cke::cuda {

// As the `Isa` of a model, this makes its passes run on a Device. In packed matrices a lane holds a row.
template <class Device> struct isa : cke::isa::scalar {
  using base = cke::isa::scalar;
  using device = Device;
  static constexpr u32 lanes = 1;
  static constexpr std::string_view name = Device::name;
};
template <class Isa> concept on_device = requires { typename Isa::device; };

}  // namespace cke::cuda

namespace cke {

template <class Device> inline constexpr bool simd::is_scalar<cuda::isa<Device>> = true;

namespace kernels {

template <class Isa>
  requires cuda::on_device<Isa>
struct layout<dtype::q8_0, Isa> : cuda::layout_of<dtype::q8_0> {
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 b = 0; b < 2; ++b, in += 34) {
      for (u32 k = 0; k < 32; k += 16) std::memcpy(out + code(row, 32 * b + k), in + 2 + k, 16);
      std::memcpy(out + scales + (b * unit_rows + row) * 2, in, 2);
    }
  }
};
template <class Isa>
  requires cuda::on_device<Isa>
struct layout<dtype::q4_k, Isa> : cuda::layout_of<dtype::q4_k> {
  using at = cuda::layout_of<dtype::q4_k>;
  static_assert(at::codes == k_scales::bytes && at::d == k_scales::d && at::dmin == k_scales::dmin &&
                at::high == k_scales::high);
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    k_scales::pack(out, row, in);
    for (u32 s = 0; s < 8; ++s)
      nibbles<Isa>::pack(out + at::codes + s * nibbles<Isa>::bytes, row, in + 16 + s / 2 * 32, s % 2 * 4);
  }
};
template <dtype F> struct plain_device_layout : cuda::layout_of<F> {
  using at = cuda::layout_of<F>;
  static void pack(std::byte* out, u32 row, const std::byte* in) {
    for (u32 k = 0; k < at::block; k += at::of_quad) std::memcpy(out + at::quad(row, k), in + k * at::bytes, 16);
  }
};
template <class Isa>
  requires cuda::on_device<Isa>
struct layout<dtype::bf16, Isa> : plain_device_layout<dtype::bf16> {};
template <class Isa>
  requires cuda::on_device<Isa>
struct layout<dtype::f16, Isa> : plain_device_layout<dtype::f16> {};
template <class Isa>
  requires cuda::on_device<Isa>
struct layout<dtype::f32, Isa> : plain_device_layout<dtype::f32> {};

}  // namespace kernels
}  // namespace cke
