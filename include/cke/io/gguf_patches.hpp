// SPDX-License-Identifier: MIT
// gguf_patches.hpp: the matrix of a tower's patches, which GGUF keeps as convolutions, in the order of the tower's
// rows.
#pragma once

#include <utility>
#include <vector>

#include "tensor_index.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

// The order of the numbers of a patch. A convolution of a file is [rows, channels, height, width].
enum class patch_order : u8 {
  planes,  // as the convolution: channel, row, column
  frames,  // channel, frame, row, column; the file has a convolution for each of two frames
  pixels,  // row, column, channel
};

namespace detail {

// Bytes that a checkpoint keeps as if they were a file's.
struct kept_bytes {
  std::vector<std::byte> bytes;
  mapped_file view;
  kept_bytes(const std::string& name, std::size_t size) : bytes(size), view(name, bytes) {}
};

// The matrix of convolutions of one shape, which are its frames.
inline tensor_ref patch_matrix(std::span<const tensor_ref> frames, patch_order order) {
  const tensor_ref& first = frames[0];
  const u64 rows = first.shape[0], channels = first.shape[1], pixels = first.shape[2] * first.shape[3];
  const std::size_t size = info(first.type).bytes, count = frames.size();
  const auto kept = std::make_shared<kept_bytes>(first.file->name(), first.bytes.size() * count);
  std::byte* to = kept->bytes.data();
  const auto put = [&](const tensor_ref& from, u64 number, u64 many) {
    std::memcpy(to, from.bytes.data() + number * size, many * size);
    to += many * size;
  };
  for (u64 row = 0; row < rows; ++row) {
    if (order == patch_order::frames)
      for (u64 c = 0; c < channels; ++c)
        for (const tensor_ref& frame : frames) put(frame, (row * channels + c) * pixels, pixels);
    else
      for (u64 at = 0; at < pixels; ++at)
        for (u64 c = 0; c < channels; ++c) put(first, (row * channels + c) * pixels + at, 1);
  }
  tensor_ref matrix = first;
  matrix.shape = {rows, channels * pixels * count};
  matrix.bytes = kept->bytes;
  matrix.file = {kept, &kept->view};
  return matrix;
}

}  // namespace detail

// Puts one matrix in place of the convolutions. Throws tensor_missing, tensor_shape, tensor_dtype.
inline void order_patches(std::vector<tensor_ref>& tensors, patch_order order, const std::string& file) {
  if (order == patch_order::planes) return;
  std::vector<tensor_ref> frames;
  for (const char* const name : {"v.patch_embd.weight", "v.patch_embd.weight.1"}) {
    if (order == patch_order::pixels && !frames.empty()) break;
    const std::string about = concat({"tensor ", name});
    const auto at = std::ranges::find(tensors, name, &tensor_ref::name);
    if (at == tensors.end()) throw Error(errc::tensor_missing, file, about, "this tensor", "none of this name");
    if (at->shape.size() != 4 || (!frames.empty() && at->shape != frames[0].shape))
      throw Error(errc::tensor_shape, file, about,
                  frames.empty() ? "shape [rows, channels, height, width]" : "shape " + shape_text(frames[0].shape),
                  shape_text(at->shape));
    const bool number = at->type == dtype::f32 || at->type == dtype::f16 || at->type == dtype::bf16;
    if (!number || (!frames.empty() && at->type != frames[0].type))
      throw Error(errc::tensor_dtype, file, about, frames.empty() ? "f32, f16 or bf16" : frames[0].stored, at->stored);
    frames.push_back(std::move(*at));
    tensors.erase(at);
  }
  tensors.push_back(detail::patch_matrix(frames, order));
}

}  // namespace cke::io
CKE_COLD_END
