// SPDX-License-Identifier: MIT
// vision_model.cpp: see vision_model.hpp.
#include "vision_model.hpp"

#include <algorithm>
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
  std::function<image::qwen_video_processor()> videos;  // empty for GGUF: an mmproj file says nothing of videos
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
    if (image::takes_videos(from.model_type)) videos = [dir = args.path] { return image::load_video_processor(dir); };
  }
  const unit u = make_tower_unit(from, args.numbers);
  tower_.emplace(library_of(u, made_for::this_command).door, from, args.threads);
  facts_ = tower_->facts();
  reader_ = {std::move(processor),
             {facts_.patch, facts_.merge, [this](patch_grid grid) { return tower_->rows_of(grid); }},
             limits,
             std::move(videos)};
}

io::image_markup vision_model::markup(const text::vocabulary& tokens) const {
  return gguf_family_.empty() ? io::read_image_markup(path_, tokens)
                              : io::gguf_image_markup(gguf_family_, path_, tokens);
}

read_image vision_model::read(const shown_file& file, double per_second) const {
  if (!file.video) return reader_.read(io::mapped_file(file.path).bytes(), file.path);
  std::error_code wrong;
  std::vector<std::string> frames;
  for (const auto& entry : std::filesystem::directory_iterator(file.path, wrong))
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.'))
      frames.push_back(entry.path().string());
  if (frames.empty())
    throw Error(errc::file, file.path, "video", "a folder with frames, which are image files",
                wrong ? wrong.message() : "none in it");
  std::ranges::sort(frames);
  return read_video(frames, file.path, per_second);
}
read_image vision_model::read_video(std::span<const std::string> files, const std::string& name,
                                    double per_second) const {
  std::vector<io::mapped_file> mapped;
  std::vector<frame_file> frames;
  mapped.reserve(files.size());
  for (const std::string& file : files) frames.push_back({mapped.emplace_back(file).bytes(), file});
  return reader_.read_video(frames, name, per_second);
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

read_image model_vision::read_video(std::span<const frame_file> frames, const std::string& name, double per_second,
                                    const read_options& options) const {
  return eyes_.reader().read_video(frames, name, per_second, options);
}

shown_image model_vision::show(const read_image& image) const {
  struct holder {
    const any_model& model;
    held_image find(const image_key& key, patch_grid grid) const { return model.find_image(key, grid); }
    held_image add(const image_key& key, patch_grid grid, std::span<const float> features, frame_time time) const {
      return model.add_image(key, grid, features, time);
    }
  };
  const std::lock_guard turn(busy_);  // an image is encoded once, whoever else wants it at the same time
  return eyes_.reader().show(
      image, markup_, [&](const runtime::image_values& frame) { return eyes_.encode(frame); }, holder{model_});
}

void prompt_images::add(const model_args& args, const loaded_model& model, const shown_file& file, double per_second) {
  if (!eyes_) {
    eyes_ = std::make_shared<const model_vision>(args, model);
    markup = eyes_->markup();
  }
  const read_image image = eyes_->eyes().read(file, per_second);
  shown_image shown = eyes_->show(image);  // nothing is added if it throws
  images.push_back(image.outline);
  for (held_image& part : shown.parts) held.push_back(std::move(part));
}

prompt_images show_images(const model_args& args, const loaded_model& model, const image_args& shown) {
  prompt_images out;
  for (const shown_file& file : shown.files) out.add(args, model, file, shown.fps);
  return out;
}

}  // namespace cke::tool
