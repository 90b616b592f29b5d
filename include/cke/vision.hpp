// SPDX-License-Identifier: MIT
// vision.hpp: Vision, which puts files of images and videos into prompts of a Hugging Face model: decoder, processor,
// tower and markup in one object. Programs that include it link cke::image.
#pragma once

#include <mutex>

#include "image_encoder.hpp"
#include "image_reader.hpp"
#include "io/hf_vision.hpp"
#include "io/image_markup.hpp"
#include "io/mapped_file.hpp"
#include "model.hpp"

namespace cke {

// M: the tower, as for ImageEncoder. A copy shares everything.
template <class M, class Formats = BF16, dtype KV = runtime::default_kv<Formats>, class Isa = isa::native> class Vision
    final : public any_vision {
 public:
  using encoder = ImageEncoder<M, Formats, KV, Isa>;

  // The tower, processor and markup of a directory, for prompts of `model`. Throws Error, as Model::load does.
  template <class Model> static Vision load(const std::string& dir, const Model& model, tower_options options = {}) {
    static_assert(Model::program::sees_images, "cke: Vision: the model sees no images");
    static_assert(!Model::program::sees_images || encoder::width == Model::program::image_width,
                  "cke: Vision: the tower's rows are not as wide as those that the model reads");
    const checkpoint from = io::hf_vision(dir);
    std::function<image::qwen_video_processor()> videos;
    if (image::takes_videos(from.model_type)) videos = [dir] { return image::load_video_processor(dir); };
    return Vision(std::make_shared<const parts>(
        encoder::load(from, options), model.tokens(), io::read_image_markup(dir, model.tokens().vocabulary()),
        image_reader(image::load_processor(dir),
                     {encoder::program::patch_width, encoder::program::merge_side, encoder::rows_of}, {},
                     std::move(videos)),
        [model](const image_key& key, patch_grid) { return held(model.find_image(key)); },
        [model](const image_key& key, patch_grid grid, std::span<const float> features, frame_time time) {
          return held(model.add_image(key, grid, features, time));
        }));
  }

  const io::image_markup& markup() const override { return parts_->markup; }
  read_image read(std::span<const std::byte> file, const std::string& name,
                  const read_options& options = {}) const override {
    return parts_->reader.read(file, name, options);
  }
  read_image read(const std::string& path, const read_options& options = {}) const {
    return read(io::mapped_file(path).bytes(), path, options);
  }
  read_image read_video(std::span<const frame_file> frames, const std::string& name, double per_second,
                        const read_options& options = {}) const override {
    return parts_->reader.read_video(frames, name, per_second, options);
  }
  shown_image show(const read_image& image) const override {
    const std::lock_guard turn(parts_->busy);  // an image is encoded once, whoever else wants it at the same time
    return parts_->reader.show(
        image, parts_->markup,
        [&](const image_values& frame) {
          std::vector<float> features(std::size_t{encoder::rows_of(frame.grid)} * encoder::width);
          parts_->tower.encode(frame, features);
          return features;
        },
        *parts_);
  }

  // What session.generate takes: a text, with the images in the places that it has for them, else before it.
  using any_vision::prompt;
  image_prompt prompt(std::string text, const std::vector<read_image>& images, bool add_special = true) const {
    return prompt(parts_->tokens, std::move(text), images, add_special);
  }

 private:
  struct parts {
    encoder tower;
    text::tokenizer tokens;
    io::image_markup markup;
    image_reader reader;
    std::function<held_image(const image_key&, patch_grid)> find;
    std::function<held_image(const image_key&, patch_grid, std::span<const float>, frame_time)> add;
    mutable std::mutex busy{};

    parts(encoder t, text::tokenizer words, io::image_markup m, image_reader r, decltype(find) f, decltype(add) a)
        : tower(std::move(t)),
          tokens(std::move(words)),
          markup(std::move(m)),
          reader(std::move(r)),
          find(std::move(f)),
          add(std::move(a)) {}
  };
  explicit Vision(std::shared_ptr<const parts> p) : parts_(std::move(p)) {}

  static held_image held(const runtime::image_ref& of) {
    return of ? held_image{of->first, of->rows(), of} : held_image{};
  }

  std::shared_ptr<const parts> parts_;
};

}  // namespace cke
