// SPDX-License-Identifier: MIT
// dump.hpp: a register as floats, and as a CKDMP record for parity tools.
#pragma once

#include <cstring>
#include <ostream>
#include <vector>

#include "../graph/contract.hpp"
#include "../kernels/kernel.hpp"
#include "../kernels/operand.hpp"

namespace cke::runtime {

// The values [tokens][width] of a register of any type; quantised ones as they were rounded.
template <class Isa> std::vector<float> values_of(const view& v, u32 tokens) {
  std::vector<float> out(u64{tokens} * v.width);
  auto tiles = [&]<dtype T>() {
    using operand = kernels::operand<T, Isa>;
    for (u32 t = 0; t < tokens; ++t) {
      const auto [first, count] = kernels::tile_at(tokens, t, operand::max_tile);
      const std::byte* tile = v.data + first * operand::token_bytes(v.width);
      for (u32 i = 0; i < v.width; ++i) out[u64{t} * v.width + i] = operand::get(tile, 0, count, t - first, i);
    }
  };
  switch (v.as) {
    case dtype::bf16: tiles.template operator()<dtype::bf16>(); break;
    case dtype::q8_0: tiles.template operator()<dtype::q8_0>(); break;
    default:
      for (u32 t = 0; t < tokens; ++t)
        std::memcpy(out.data() + u64{t} * v.width, v.row(t), u64{v.width} * sizeof(float));
  }
  return out;
}

// 128 bytes, followed by the values as raw float32. All fields are little-endian, as this machine is.
struct ckdmp_header {
  char magic[8] = {'C', 'K', 'D', 'M', 'P'};
  u32 version = 1;
  i32 layer = -1;  // -1: before or after the layers
  char op[32]{};
  u32 type = static_cast<u32>(dtype::f32), rank{};
  i64 shape[4]{};
  u32 elements{};
  i32 token{};  // position of the first row
  char reserved[32]{};
};
static_assert(sizeof(ckdmp_header) == 128 && std::endian::native == std::endian::little);

// Throws usage if shape and number of values differ, unsupported_rank.
inline void write_ckdmp(std::ostream& to, i32 layer, std::string_view op, i32 token, std::span<const u32> shape,
                        std::span<const float> values) {
  const view_desc v = describe_view(dtype::f32, shape);
  ckdmp_header h;
  h.layer = layer, h.token = token, h.rank = v.rank;
  u64 elements = 1;
  for (u32 i = 0; i < v.rank; ++i) h.shape[i] = v.shape[i], elements *= v.shape[i];
  if (elements != values.size())
    throw Error(errc::usage, {}, "dump", std::to_string(elements) + " values", std::to_string(values.size()));
  h.elements = static_cast<u32>(elements);
  op.copy(h.op, sizeof h.op - 1);
  to.write(reinterpret_cast<const char*>(&h), sizeof h);
  to.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
}

}  // namespace cke::runtime
