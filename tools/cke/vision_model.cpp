// SPDX-License-Identifier: MIT
// vision_model.cpp: see vision_model.hpp.
#include "vision_model.hpp"

#include <filesystem>

#include <cke/image/gguf_processor.hpp>
#include <cke/io/gguf_image_markup.hpp>
#include <cke/io/hf_vision.hpp>

#include "cache.hpp"
#include "mmproj.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "tower_unit.hpp"

namespace cke::tool {
namespace {

// Checked before a tower is compiled.
const model_args& of_a_model_that_sees(const model_args& args, const loaded_model& model) {
  if (is_gguf_file(args.path)) mmproj_of(args.path, args.mmproj);  // says which file is missing
  if (model.engine->image_width() == 0)
    throw Error(errc::usage, args.path, "--image", "a model that sees images", model.family);
  if (!model.tokens) throw Error(errc::usage, args.path, "tokenizer", "one in the checkpoint, for --image", "none");
  return args;
}

}  // namespace

bool has_tower(const model_args& args) { return !is_gguf_file(args.path) || has_mmproj(args.path, args.mmproj); }

vision_model::vision_model(const model_args& args, const image::decode_limits& limits, bool pooled) : path_(args.path) {
  checkpoint from;
  image::processor processor;
  if (is_gguf_file(args.path)) {
    const io::gguf file = io::gguf::read(mmproj_of(args.path, args.mmproj));
    from = io::gguf_vision(file);
    processor = image::gguf_processor(file);
    gguf_family_ = from.model_type;
  } else {
    if (args.mmproj)
      throw Error(errc::usage, args.path, "--mmproj", "a .gguf MODEL: a directory has its tower", "no .gguf file");
    from = io::hf_vision(args.path, pooled ? io::tower_part::pooled : io::tower_part::features);
    processor = image::load_processor(args.path);
  }
  const unit u = make_tower_unit(from, args.numbers);
  tower_.emplace(library_of(u, made_for::this_command).door, from, args.threads);
  facts_ = tower_->facts();
  reader_ = {std::move(processor),
             {facts_.patch, facts_.merge, [this](patch_grid grid) { return tower_->rows_of(grid); }},
             limits};
}

io::image_markup vision_model::markup(const text::vocabulary& tokens) const {
  return gguf_family_.empty() ? io::read_image_markup(path_, tokens)
                              : io::gguf_image_markup(gguf_family_, path_, tokens);
}

read_image vision_model::read(const std::string& path) const {
  const io::mapped_file file(path);
  return reader_.read(file.bytes(), path);
}

model_vision::model_vision(const model_args& args, const loaded_model& model, const image::decode_limits& limits)
    : model_(*model.engine), eyes_(of_a_model_that_sees(args, model), limits) {
  if (eyes_.width() != model_.image_width())
    throw Error(errc::config_mismatch, args.path, "tower",
                std::to_string(model_.image_width()) + " numbers a row, as the text model reads",
                std::to_string(eyes_.width()));
  markup_ = eyes_.markup(model.tokens->vocabulary());
}

read_image model_vision::read(std::span<const std::byte> file, const std::string& name,
                              const read_options& options) const {
  return eyes_.reader().read(file, name, options);
}

shown_image model_vision::show(const read_image& image) const {
  struct holder {
    const any_model& model;
    held_image find(const image_key& key, patch_grid grid) const { return model.find_image(key, grid); }
    held_image add(const image_key& key, patch_grid grid, std::span<const float> features) const {
      return model.add_image(key, grid, features);
    }
  };
  const std::lock_guard turn(busy_);  // an image is encoded once, whoever else wants it at the same time
  return eyes_.reader().show(
      image, markup_.lines, [&](const runtime::image_values& frame) { return eyes_.encode(frame); }, holder{model_});
}

void prompt_images::add(const model_args& args, const loaded_model& model, const std::string& file) {
  if (!eyes_) {
    eyes_ = std::make_shared<const model_vision>(args, model);
    markup = eyes_->markup();
  }
  const read_image image = eyes_->eyes().read(file);
  images.push_back(image.outline);
  for (held_image& part : eyes_->show(image).parts) held.push_back(std::move(part));
}

prompt_images show_images(const model_args& args, const loaded_model& model, std::span<const std::string> files) {
  prompt_images out;
  for (const std::string& file : files) out.add(args, model, file);
  return out;
}

}  // namespace cke::tool
