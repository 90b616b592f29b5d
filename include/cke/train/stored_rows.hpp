// SPDX-License-Identifier: MIT
// stored_rows.hpp: rows of a file's tensors as f32, whatever format they are in.
#pragma once

#include "../kernels/formats/packed.hpp"
#include "../runtime/weight_tensors.hpp"

CKE_COMPILED_ONCE
namespace cke::train {

template <dtype F> void unpack_row(const std::byte* row, u32 count, float* out) {
  using layout = kernels::layout<F, isa::scalar>;
  std::byte file[bytes_of(F, layout::block)], packed[layout::block_bytes];
  float numbers[layout::block];
  for (u32 first = 0; first < count; first += layout::block) {
    const u32 n = std::min(layout::block, count - first);
    std::memset(file, 0, sizeof file), std::memset(packed, 0, sizeof packed);
    std::memcpy(file, row + bytes_of(F, first), bytes_of(F, n));
    layout::pack(packed, 0, file), layout::unpack(packed, 0, numbers);
    std::copy_n(numbers, n, out + first);
  }
}

// The first `count` numbers of row `row` of a tensor whose rows have `count` numbers.
CKE_OUT_OF_LINE inline void read_row(const weight_tensor& t, u64 row, u32 count, float* out) {
  if (t.type == dtype::f8_e4m3 || kernels::convertible(t.type)) return t.read_row(row, count, out);
  const std::byte* const at = t.bytes.data() + row * bytes_of(t.type, count);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (
        [&] {
          constexpr dtype F = dtypes[I].type;
          if constexpr (kernels::packable<F, isa::scalar> && !kernels::is_row_wise(F))
            if (t.type == F) unpack_row<F>(at, count, out);
        }(),
        ...);
  }(std::make_index_sequence<std::size(dtypes)>{});
}

}  // namespace cke::train
