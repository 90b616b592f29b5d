// SPDX-License-Identifier: MIT
// packed_layout.hpp: how a program's weights are packed for an isa, and how many bytes they take.
#pragma once

#include <span>

#include "../graph/program_data.hpp"
#include "../kernels/formats/any_file_rows.hpp"
#include "../kernels/kernel.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// kernels::packed of one format, for code that knows the format at load.
struct packed_format {
  dtype type;
  bool sized;                         // whether the bytes of a matrix follow from its shape
  u64 (*bytes)(u32 units, u32 cols);  // at most
  bool (*is_whole)(const std::byte* matrix, u64 size, u32 units, u32 cols);
  u64 (*pack)(std::byte* matrix, u32 units, u32 cols, function_ref<void(kernels::unit_packer)> each_unit);
};
struct packed_layout {
  const program_data* program;
  std::span<const packed_format> formats;  // of its matrices

  constexpr const packed_format& format(dtype t) const {
    const packed_format* f = formats.data();
    while (f->type != t) ++f;
    return *f;
  }
  static constexpr u64 vector_bytes(const weight& w) { return align_up(w.slot.elements() * sizeof(float)); }
  // Bytes of a packed weight: an upper bound, as in some formats they depend on the numbers.
  constexpr u64 room_for(const weight& w) const {
    return w.slot.quantisable ? format(w.as).bytes(units_of_slot(w.slot), w.slot.cols) : vector_bytes(w);
  }
  // Whether they are known for all of the program.
  constexpr bool sized() const {
    bool all = true;
    for (const packed_format& f : formats) all &= f.sized;
    return all;
  }
};

}  // namespace cke::runtime
CKE_COLD_END
