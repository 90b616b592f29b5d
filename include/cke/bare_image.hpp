// SPDX-License-Identifier: MIT
// bare_image.hpp: writes the image of a bare_model, on a machine that has the weights.
#pragma once

#include "bare.hpp"
#include "core/plain_list.hpp"
#include "runtime/packed_formats.hpp"
#include "runtime/rope_cache.hpp"
#include "runtime/weights.hpp"

namespace cke {

// The image of a bare_model Bare from packed weights of its program. The bytes may be moved to any multiple of 64.
// Throws usage for weights of another program or isa.
template <class Bare> plain_list<std::byte> bare_image(const runtime::weights& from) {
  using plan = typename Bare::plan;
  if (const auto& ours = runtime::packed_layout_of<typename Bare::program, typename Bare::isa>;
      from.layout().program != ours.program || from.layout().formats.data() != ours.formats.data())
    throw Error(errc::usage, {}, "weights", "those of the bare model's program, packed for its isa", "others");
  plain_list<std::byte> image(plan::image_bytes);
  std::byte* const to = image.data();
  std::memcpy(to + sizeof(runtime::bare_header), from.memory().data(), plan::weight_bytes);
  for (u32 r = 0; r < plan::ropes; ++r) {
    const auto& turned = plan::straight::ropes.all[r];
    const auto angles = kernels::rope_frequencies::of(*turned.rope, turned.head_dim, Bare::context);
    plain_list<float> row(2 * u64{plan::rope_row(r)});
    for (u32 position = 0; position < Bare::context; ++position) {
      float* const sin = row.data() + plan::rope_row(r);
      angles.row(position, row.data(), sin);
      const u64 bytes = u64{plan::rope_row(r)} * sizeof(float), at = plan::table_offset(r) + position * bytes;
      std::memcpy(to + at, row.data(), bytes);
      std::memcpy(to + at + plan::table_bytes(r), sin, bytes);
    }
  }
  runtime::bare_header h{.magic = runtime::bare_header::right_magic,
                         .bytes = plan::image_bytes,
                         .model = plan::fingerprint,
                         .sum = xxh64::of(std::span<const std::byte>(image.data(), image.size()).subspan(sizeof h))};
  std::memcpy(to, &h, sizeof h);
  return image;
}

}  // namespace cke
