// SPDX-License-Identifier: MIT
// similarity.hpp: how well images and texts fit by a contrastive model: SigLIP's score of two pooled rows.
#pragma once

#include <cmath>
#include <cstring>
#include <span>

#include "core/concat.hpp"
#include "core/dtype.hpp"
#include "core/error.hpp"
#include "io/tensor_index.hpp"

namespace cke {

struct similarity {
  double scale{}, bias{};  // e^logit_scale and logit_bias of a checkpoint

  // The logit that an image and a text belong together: the cosine of their rows, scaled and shifted. Throws usage for
  // rows of different widths.
  double logit(std::span<const float> image, std::span<const float> text) const {
    if (image.size() != text.size())
      throw Error(errc::usage, {}, "row of a text", concat({image.size(), " numbers, as that of the image"}),
                  concat({text.size()}));
    double both = 0, one = 0, other = 0;
    for (std::size_t i = 0; i < image.size(); ++i) {
      const double a = image[i], b = text[i];
      both += a * b, one += a * a, other += b * b;
    }
    return one > 0 && other > 0 ? both / std::sqrt(one * other) * scale + bias : bias;
  }
  // SigLIP looks at each pair alone: this is no share among several texts.
  static double probability(double logit) { return 1 / (1 + std::exp(-logit)); }
};

// Reads logit_scale and logit_bias. Throws tensor_missing, tensor_shape and tensor_dtype.
inline similarity read_similarity(const io::tensor_index& tensors, std::string_view file) {
  const auto number = [&](std::string_view name) -> double {
    const auto* const t = tensors.find(name);
    if (!t) throw Error(errc::tensor_missing, file, concat({"tensor ", name}), "one number", "none");
    u64 count = 1;
    for (const u64 n : t->shape) count *= n;
    if (count != 1) throw Error(errc::tensor_shape, file, concat({"tensor ", name}), "one number", concat({count}));
    const auto read = [&](auto bits) { return std::memcpy(&bits, t->bytes.data(), sizeof bits), bits; };
    if (t->type == dtype::f32) return double{read(0.f)};
    if (t->type == dtype::f16) return double{from_f16(read(u16{}))};
    if (t->type == dtype::bf16) return double{from_bf16(read(u16{}))};
    throw Error(errc::tensor_dtype, file, concat({"tensor ", name}), "f32, f16 or bf16", t->stored);
  };
  return {std::exp(number("logit_scale")), number("logit_bias")};
}

}  // namespace cke
