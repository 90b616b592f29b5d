// SPDX-License-Identifier: MIT
// vision_model.hpp: the tower of a checkpoint, and the images of a prompt.
#pragma once

#include <optional>

#include <cke/any_model.hpp>
#include <cke/image/processor.hpp>
#include <cke/io/image_markup.hpp>

#include "source.hpp"

namespace cke::tool {

// An image file, as its processor leaves it.
struct read_image {
  std::string path;
  image_key key;  // of the file's bytes
  std::vector<image::pixels> tiles;
  u32 rows = 0, cols = 0;  // of tiles; 0 x 0: the image was not cut
};

class vision_model {
 public:
  // Compiles the tower if necessary, and loads it. `pooled`: with the head that makes one row of an image. Throws Error.
  explicit vision_model(const model_args& args, bool pooled = false);

  u32 width() const { return facts_.width; }
  // How prompts contain images; `tokens`: the model's.
  io::image_markup markup(const text::vocabulary& tokens) const;
  read_image read(const std::string& path) const;

  // The frames of one tensor of a processor, each with its grid and its order of rows.
  std::vector<runtime::image_values> frames_of(const image::pixels& tile) const;
  patch_grid merged(patch_grid grid) const { return {grid.height / facts_.merge, grid.width / facts_.merge}; }
  patch_grid features_of(patch_grid grid) const;  // the rows of features, in lines
  io::image_outline outline_of(const read_image& image) const;
  std::vector<float> encode(const runtime::image_values& frame) const { return tower_->encode(frame); }
  const cke_tower_facts& facts() const { return facts_; }

  // Gives an image to a model that sees with this tower: each tile, or each line of its features, is an image to it.
  std::vector<held_image> show(const any_model& model, const read_image& image, bool lines) const;

 private:
  std::string path_;         // of the model
  std::string gguf_family_;  // of the tower, from an mmproj file; empty: from a directory
  std::optional<tower_model> tower_;
  cke_tower_facts facts_{};
  image::processor processor_;
};

// Replaces each run of `token` in a prompt by the ids of the images, in order. Throws usage unless they fit.
std::vector<u32> with_images(std::span<const u32> ids, u32 token, std::span<const held_image> images);

// The images of a prompt or a conversation.
struct prompt_images {
  io::image_markup markup;
  std::vector<held_image> held;           // what a session has not been fed yet lives here
  std::vector<io::image_outline> images;  // one for each file

  // Reads, encodes and shows an image file; the first one loads the tower. Throws usage for a model that sees no
  // images.
  void add(const model_args& args, const loaded_model& model, const std::string& file);

  // A prompt with the images in their places; before it if it has none. Throws usage.
  std::string expand(std::string prompt) const;
  // The ids of a prompt with those of the images in place of the placeholders. Throws usage.
  std::vector<u32> in(std::vector<u32> ids) const;

 private:
  std::shared_ptr<const vision_model> eyes_;
};
prompt_images show_images(const model_args& args, const loaded_model& model, std::span<const std::string> files);

}  // namespace cke::tool
