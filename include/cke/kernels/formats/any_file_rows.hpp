// SPDX-License-Identifier: MIT
// any_file_rows.hpp: rows of a file for the units of a matrix, where the format is known at run time only.
#pragma once

#include "../../core/dtype.hpp"
#include "../../core/function_ref.hpp"

namespace cke::kernels {

// As file_rows: up to 32 rows, each in the encoding `source`.
struct any_file_rows {
  u32 present;
  const std::byte* const* row;  // [present]
  dtype source;
};
using unit_packer = function_ref<void(u32 unit, const any_file_rows&)>;

// Increment when the bytes of a packed matrix change: bundles have them in files.
inline constexpr u32 packed_layout = 1;

}  // namespace cke::kernels
