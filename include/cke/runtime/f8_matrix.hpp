// SPDX-License-Identifier: MIT
// f8_matrix.hpp: a matrix of 8-bit floats with a scale per block of 128 x 128, as DeepSeek-V3 and Qwen3 publish it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "../core/tensor_source.hpp"
#include "../kernels/formats/convert.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// The name of the tensor with the scales.
inline std::string f8_scales_name(std::string_view tensor) { return concat({tensor, "_scale_inv"}); }

struct f8_matrix {
  static constexpr u64 block = 128;
  std::span<const std::byte> codes, scales;  // (rows, columns); (blocks down, blocks across)
  dtype scale_type{};
  u64 columns{};

  // Reads `count` numbers of a row from column `first` on. Each is its code times the scale of its block, rounded once.
  void read(u64 row, u64 first, u64 count, float* out) const {
    const u64 across = (columns + block - 1) / block, item = info(scale_type).bytes;
    float scale{};
    for (u64 c = first; c < first + count; ++c) {
      if (c == first || c % block == 0)
        kernels::to_f32(scale_type, scales.data() + (row / block * across + c / block) * item, 1, &scale);
      out[c - first] = from_f8_e4m3(static_cast<u8>(codes[row * columns + c])) * scale;
    }
  }
};

// A tensor of type f8_e4m3 in `from`, with its scales. Throws tensor_shape, tensor_missing, tensor_dtype.
inline f8_matrix f8_matrix_of(const tensor_source& from, std::string_view file, const source_tensor& t) {
  const auto blocks = [](u64 n) { return (n + f8_matrix::block - 1) / f8_matrix::block; };
  const std::string scales = f8_scales_name(t.name), about = concat({"tensor ", scales});
  if (t.shape.size() != 2)
    throw Error(errc::tensor_shape, file, concat({"tensor ", t.name}), "two dimensions in f8_e4m3",
                concat({t.shape.size()}));
  const u64 number = from.number_of(scales);
  if (number == from.none) throw Error(errc::tensor_missing, file, about, "this tensor", "none of this name");
  const source_tensor s = from.tensor(number);
  if (s.type != dtype::f32 && s.type != dtype::bf16)
    throw Error(errc::tensor_dtype, file, about, "f32 or bf16", "another type");
  if (s.shape.size() != 2 || s.shape[0] != blocks(t.shape[0]) || s.shape[1] != blocks(t.shape[1]))
    throw Error(errc::tensor_shape, file, about, concat({"shape [", blocks(t.shape[0]), ", ", blocks(t.shape[1]), "]"}),
                "another");
  return {t.bytes, s.bytes, s.type, t.shape[1]};
}

}  // namespace cke::runtime
CKE_COLD_END
