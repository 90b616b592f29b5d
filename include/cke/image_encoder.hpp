// SPDX-License-Identifier: MIT
// image_encoder.hpp: ImageEncoder, which turns the patches of an image into rows of features; the public API of vision
// towers.
#pragma once

#include <memory>
#include <string>

#include "config_check.hpp"
#include "io/checkpoint.hpp"
#include "models/config.hpp"
#include "runtime/compile_program.hpp"
#include "runtime/default_kv.hpp"
#include "runtime/loaded_tower.hpp"

CKE_COLD_BEGIN
namespace cke {

using runtime::image_values, runtime::patch_grid, runtime::tower_options;

// M: a tower with `config` and `family` or `names`. Formats: how weights are stored in memory. KV: of keys and values.
template <class M, class Formats = BF16, dtype KV = runtime::default_kv<Formats>,
          class Isa = isa::native> class ImageEncoder {
 public:
  using program = graph::program<M, Formats>;
  using loaded = runtime::loaded_tower;
  static_assert(program::is_tower, "cke: tower: the type is no tower; begin with tower<patch_embedding<...>, ...>");
  // Numbers of a row of features: of the last letters, then of each deepstack letter.
  static constexpr u32 width = runtime::feature_width(program::data);

  // Throws Error, which names the file, the tensor or key, what was expected and what was found.
  static ImageEncoder load(const io::checkpoint& from, const tower_options& options = {}) {
    options.validate();
    match_config<M>(from, key_block);
    return ImageEncoder(std::make_shared<loaded>(compiled, from.tensors, from.name, from.as, names_of<M>(), options));
  }

  // Rows of features of a grid of patches. Throws usage for a grid that the tower cannot take.
  static u32 rows_of(patch_grid g) { return loaded::rows_of(program::data, g); }

  // Writes the features of an image, [rows_of(grid)][width]. Throws usage.
  void encode(const image_values& image, std::span<float> features) const { loaded_->encode(image, features); }

  u64 weight_bytes() const { return loaded_->weight_bytes(); }
  u64 activation_bytes() const { return loaded_->activation_bytes(); }
  u32 threads() const { return loaded_->threads(); }

 private:
  static constexpr const runtime::compiled_program& compiled =
      runtime::compiled_program_of<program, KV, Isa, runtime::by_tables>;

  explicit ImageEncoder(std::shared_ptr<loaded> l) : loaded_(std::move(l)) {}

  std::shared_ptr<loaded> loaded_;
};

}  // namespace cke
CKE_COLD_END
