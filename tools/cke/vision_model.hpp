// SPDX-License-Identifier: MIT
// vision_model.hpp: the tower of a checkpoint, and the images of a prompt.
#pragma once

#include <mutex>
#include <optional>

#include <cke/image_reader.hpp>
#include <cke/io/image_markup.hpp>

#include "image_args.hpp"
#include "source.hpp"
#include "tower_model.hpp"

namespace cke::tool {

// Whether the checkpoint has a tower: a file of a text model alone has none, although its model could see.
bool has_tower(const model_args& args);

class vision_model {
 public:
  // Compiles the tower if necessary, and loads it. `pooled`: with the head that makes one row of an image. Throws
  // Error.
  explicit vision_model(const model_args& args, const image::decode_limits& limits = {}, bool pooled = false);

  u32 width() const { return facts_.width; }
  const image_reader& reader() const { return reader_; }
  // How prompts contain images; `tokens`: the model's.
  io::image_markup markup(const text::vocabulary& tokens) const;
  // per_second: frames of a video. Throws file for a folder without any.
  read_image read(const shown_file& file, double per_second) const;
  read_image read_video(std::span<const std::string> files, const std::string& name, double per_second) const;
  std::vector<float> encode(const runtime::image_values& frame) const { return tower_->encode(frame); }
  const cke_tower_facts& facts() const { return facts_; }

 private:
  std::string path_;         // of the model
  std::string gguf_family_;  // of the tower, from an mmproj file; empty: from a directory
  std::optional<tower_model> tower_;
  cke_tower_facts facts_{};
  image_reader reader_;
};

// The same for prompts of a model.
class model_vision final : public any_vision {
 public:
  // Throws usage for a model that sees no images; it outlives this.
  model_vision(const model_args& args, const loaded_model& model, const image::decode_limits& limits = {});

  const io::image_markup& markup() const override { return markup_; }
  read_image read(std::span<const std::byte> file, const std::string& name,
                  const read_options& options = {}) const override;
  read_image read_video(std::span<const frame_file> frames, const std::string& name, double per_second,
                        const read_options& options = {}) const override;
  shown_image show(const read_image& image) const override;
  const vision_model& eyes() const { return eyes_; }

 private:
  const any_model& model_;
  vision_model eyes_;
  io::image_markup markup_;
  mutable std::mutex busy_;
};

// The images and videos of a prompt or a conversation.
struct prompt_images {
  io::image_markup markup;
  std::vector<held_image> held;           // what a session has not been fed yet lives here
  std::vector<io::image_outline> images;  // one for each image or video

  // Reads, encodes and shows a file; the first one loads the tower. Throws usage for a model that sees no images, or
  // takes no videos.
  void add(const model_args& args, const loaded_model& model, const shown_file& file, double per_second);

  // A prompt with the images in their places; before it if it has none. Throws usage.
  std::string expand(std::string prompt) const { return with_places(std::move(prompt), markup, images); }
  // The ids of a prompt with those of the images in place of the placeholders. Throws usage.
  std::vector<u32> in(std::vector<u32> ids) const { return images.empty() ? ids : with_images(ids, markup, held); }

 private:
  std::shared_ptr<const model_vision> eyes_;
};
prompt_images show_images(const model_args& args, const loaded_model& model, const image_args& shown);

}  // namespace cke::tool
