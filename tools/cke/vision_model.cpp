// SPDX-License-Identifier: MIT
// vision_model.cpp: see vision_model.hpp.
#include "vision_model.hpp"

#include <charconv>

#include <cke/image/decode.hpp>
#include <cke/image/gguf_processor.hpp>
#include <cke/io/gguf_image_markup.hpp>
#include <cke/io/hf_vision.hpp>

#include "cache.hpp"
#include "mmproj.hpp"
#include "rooms.hpp"
#include "sha256.hpp"
#include "terminal.hpp"
#include "tower_unit.hpp"

namespace cke::tool {
namespace {

image_key key_of(std::string_view bytes) {
  sha256 sum;
  sum.add(bytes);
  const std::string hex = sum.hex();
  image_key key;
  std::from_chars(hex.data(), hex.data() + 16, key.high, 16);
  std::from_chars(hex.data() + 16, hex.data() + 32, key.low, 16);
  return key;
}

}  // namespace

vision_model::vision_model(const model_args& args) : path_(args.path) {
  checkpoint from;
  if (is_gguf_file(args.path)) {
    const io::gguf file = io::gguf::read(mmproj_of(args.path, args.mmproj));
    from = io::gguf_vision(file);
    processor_ = image::gguf_processor(file);
    gguf_family_ = from.model_type;
  } else {
    if (args.mmproj)
      throw Error(errc::usage, args.path, "--mmproj", "a .gguf MODEL: a directory has its tower", "no .gguf file");
    from = io::hf_vision(args.path);
    processor_ = image::load_processor(args.path);
  }
  const unit u = make_tower_unit(from, args.numbers);
  tower_.emplace(library_of(u, made_for::this_command).door, from, args.threads);
  facts_ = tower_->facts();
}

io::image_markup vision_model::markup(const text::vocabulary& tokens) const {
  return gguf_family_.empty() ? io::read_image_markup(path_, tokens)
                              : io::gguf_image_markup(gguf_family_, path_, tokens);
}

read_image vision_model::read(const std::string& path) const {
  const io::mapped_file file(path);
  read_image out{path, key_of({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}), {}};
  out.tiles = image::process(processor_, image::decode(file.bytes(), path), path).tiles;
  return out;
}

std::vector<runtime::image_values> vision_model::frames_of(const image::pixels& tile) const {
  std::vector<runtime::image_values> frames;
  if (tile.shape.size() == 3) {  // [channels, height, width]
    const u32 side = whole_root(facts_.patch / std::max(tile.shape[0], 1u));
    const u32 block = std::max(side, 1u);
    frames.push_back({.grid = {tile.shape[1] / block, tile.shape[2] / block},
                      .pixels = tile.values,
                      .channels = tile.shape[0],
                      .height = tile.shape[1],
                      .width = tile.shape[2],
                      .side = block});
    return frames;
  }
  const patch_grid grid{tile.grid_h, tile.grid_w};
  // These processors leave patches in raster order, and padding after the last.
  const bool raster = std::holds_alternative<image::gemma4_processor>(processor_) ||
      std::holds_alternative<image::lfm2_vl_processor>(processor_);
  const u64 numbers = tile.shape.empty() ? 0 : u64{grid.patches()} * tile.shape.back(), all = tile.grid_t * numbers;
  if (all == 0 || (raster ? all > tile.values.size() : all != tile.values.size()))
    throw Error(errc::usage, {}, "patches", std::to_string(all) + " numbers, as the grid has",
                std::to_string(tile.values.size()));
  for (u32 t = 0; t < tile.grid_t; ++t)
    frames.push_back({.grid = grid, .rows = std::span(tile.values).subspan(t * numbers, numbers), .raster = raster});
  return frames;
}

u32 vision_model::rows_of(const read_image& image) const {
  u32 rows = 0;
  for (const image::pixels& tile : image.tiles)
    for (const auto& frame : frames_of(tile)) rows += tower_->rows_of(frame.grid);
  return rows;
}

std::vector<held_image> vision_model::show(const any_model& model, std::span<const read_image> images) const {
  std::vector<held_image> held;
  for (const read_image& image : images) {
    u64 part = 0;
    for (const image::pixels& tile : image.tiles)
      for (const auto& frame : frames_of(tile)) {
        const image_key key{image.key.high, image.key.low + part++};
        const u32 rows = tower_->rows_of(frame.grid);
        // A tower that does not merge squares, but pools or drops, has its rows in one line.
        const patch_grid grid = merged(frame.grid).patches() == rows ? merged(frame.grid) : patch_grid{1, rows};
        held_image known = model.find_image(key, grid);
        held.push_back(known.held ? known : model.add_image(key, grid, encode(frame)));
      }
  }
  return held;
}

std::vector<u32> with_images(std::span<const u32> ids, u32 token, std::span<const held_image> images) {
  std::vector<u32> out;
  std::size_t next = 0;
  const auto fail = [&](u64 found) {
    u64 all = 0;
    for (const held_image& h : images) all += h.rows;
    throw Error(errc::usage, {}, "ids",
                "as many of id " + std::to_string(token) + " as the images have rows, " + std::to_string(all) +
                    ", image by image",
                std::to_string(found));
  };
  for (std::size_t at = 0; at < ids.size();) {
    if (ids[at] != token) {
      out.push_back(ids[at++]);
      continue;
    }
    u64 run = 0;
    while (at < ids.size() && ids[at] == token) ++at, ++run;
    for (u64 left = run; left > 0; left -= images[next++].rows) {
      if (next == images.size() || images[next].rows > left) fail(run);
      for (u32 r = 0; r < images[next].rows; ++r) out.push_back(images[next].first + r);
    }
  }
  if (next != images.size()) fail(0);
  return out;
}

std::string prompt_images::expand(std::string prompt) const {
  if (rows.empty()) return prompt;
  if (prompt.find(markup.placeholder) == prompt.npos)
    for (std::size_t i = 0; i < rows.size(); ++i) prompt.insert(0, markup.alone);
  u32 next = 0;
  std::string out = markup.expand(prompt, rows, next);
  if (next != rows.size())
    throw Error(errc::usage, {}, "--image", std::to_string(next) + ", as the prompt has places for images",
                std::to_string(rows.size()));
  return out;
}

std::vector<u32> prompt_images::in(std::vector<u32> ids) const {
  return rows.empty() ? ids : with_images(ids, markup.token, held);
}

void prompt_images::add(const model_args& args, const loaded_model& model, const std::string& file) {
  if (!eyes_) {
    if (is_gguf_file(args.path)) mmproj_of(args.path, args.mmproj);  // says what is missing
    if (model.engine->image_width() == 0)
      throw Error(errc::usage, args.path, "--image", "a model that sees images", model.family);
    if (!model.tokens) throw Error(errc::usage, args.path, "tokenizer", "one in the checkpoint, for --image", "none");
    const auto eyes = std::make_shared<const vision_model>(args);
    if (eyes->width() != model.engine->image_width())
      throw Error(errc::config_mismatch, args.path, "tower",
                  std::to_string(model.engine->image_width()) + " numbers a row, as the text model reads",
                  std::to_string(eyes->width()));
    markup = eyes->markup(model.tokens->vocabulary());
    eyes_ = eyes;
  }
  const read_image image = eyes_->read(file);
  rows.push_back(eyes_->rows_of(image));
  for (held_image& h : eyes_->show(*model.engine, {&image, 1})) held.push_back(std::move(h));
}

prompt_images show_images(const model_args& args, const loaded_model& model, std::span<const std::string> files) {
  prompt_images out;
  for (const std::string& file : files) out.add(args, model, file);
  return out;
}

}  // namespace cke::tool
