// SPDX-License-Identifier: MIT
// any_vision.hpp: what reads images for a model's prompts, whichever types tower and model have; and prompts with
// images.
#pragma once

#include <string>
#include <vector>

#include "any_model.hpp"
#include "io/markups/markup.hpp"
#include "text/tokenizer/tokenizer.hpp"

namespace cke {

// An image as the model's processor leaves it: decoded, resized and cut, and not encoded yet. A copy shares the pixels.
struct read_image {
  std::string name;           // of the file, for messages
  image_key key{};            // of the file's bytes, and of how they were read
  io::image_outline outline;  // tells what the image becomes in a prompt
  std::vector<runtime::image_values> frames{};
  std::shared_ptr<const void> pixels{};  // which the frames refer to

  u64 rows() const {
    u64 all = 0;
    for (const io::feature_grid& tile : outline.tiles) all += tile.rows();
    return all;
  }
};

// A frame of a video, as an image file.
struct frame_file {
  std::span<const std::byte> bytes;
  std::string name;  // for messages
};

struct read_options {
  u64 owner = 0;    // equal images of different owners have different keys
  u32 longest = 0;  // pixels of the longer side: a larger image is made smaller first; 0: it is not
};

// An image that a model holds: its parts in the order in which a prompt has their rows.
struct shown_image {
  std::vector<held_image> parts;
  u32 encoded = 0;  // frames that the tower had to encode: those that the model did not have
};

// The ids of a prompt, and the images in it, which a session takes over when it is fed.
struct image_prompt {
  std::vector<u32> ids;
  std::vector<held_image> held{};

  operator std::span<const u32>() const { return ids; }
};

// Replaces each run of the tokens that stand for rows by the ids of the images, in order. Throws usage unless they fit.
inline std::vector<u32> with_images(std::span<const u32> ids, const io::image_markup& markup,
                                    std::span<const held_image> images) {
  std::vector<u32> out;
  std::size_t next = 0;
  const auto fail = [&](u64 found) {
    u64 all = 0;
    for (const held_image& h : images) all += h.rows;
    throw Error(errc::usage, {}, "ids",
                concat({"as many of id ", markup.token, " as the images have rows, ", all, ", image by image"}),
                concat({found}));
  };
  for (std::size_t at = 0; at < ids.size();) {
    if (!markup.is_row(ids[at])) {
      out.push_back(ids[at++]);
      continue;
    }
    u64 run = 0;
    while (at < ids.size() && markup.is_row(ids[at])) ++at, ++run;
    for (u64 left = run; left > 0; left -= images[next++].rows) {
      if (next == images.size() || images[next].rows > left) fail(run);
      for (u32 r = 0; r < images[next].rows; ++r) out.push_back(images[next].first + r);
    }
  }
  if (next != images.size()) fail(0);
  return out;
}

inline std::vector<io::image_outline> outlines_of(std::span<const read_image> images) {
  std::vector<io::image_outline> out;
  for (const read_image& image : images) out.push_back(image.outline);
  return out;
}

// The types of the parts of a message that begins with these images.
inline std::vector<std::string_view> types_of(std::span<const io::image_outline> images) {
  std::vector<std::string_view> types;
  for (const io::image_outline& image : images) types.push_back(image.is_video() ? "video" : "image");
  return types;
}

// The text with the images in their places, or before it if it has none. Throws usage.
inline std::string with_places(std::string text, const io::image_markup& markup,
                               std::span<const io::image_outline> images) {
  if (images.empty()) return text;
  if (!markup.has_place(text)) {
    std::string before;
    for (const io::image_outline& image : images) before += markup.place_of(image).alone;
    text.insert(0, before);
  }
  u32 next = 0;
  std::string out = markup.expand(text, images, next);
  if (next != images.size())
    throw Error(errc::usage, {}, "images", concat({next, ", as the prompt has places for images"}),
                concat({u64{images.size()}}));
  return out;
}

// May be used from several threads.
class any_vision {
 public:
  virtual ~any_vision() = default;

  // How prompts of the model contain images.
  virtual const io::image_markup& markup() const = 0;
  // Decodes and cuts an image. `name`: for messages. Throws what image::decode and image::process throw.
  virtual read_image read(std::span<const std::byte> file, const std::string& name,
                          const read_options& options = {}) const = 0;
  // The frames of a video, all of one size, so many a second of it: each is taken. Throws what read throws, usage for a
  // model that takes no videos, config_range for too few frames.
  virtual read_image read_video([[maybe_unused]] std::span<const frame_file> frames, const std::string& name,
                                [[maybe_unused]] double per_second,
                                [[maybe_unused]] const read_options& options = {}) const {
    throw Error(errc::usage, name, "video", "a model that takes videos", "one that takes images");
  }
  // The image in the model, encoded unless the model has it. Throws what ImageEncoder::encode and Model::add_image
  // throw.
  virtual shown_image show(const read_image& image) const = 0;

  // The ids of a prompt whose placeholders are expanded, with those of the images in their places. Throws usage.
  image_prompt place(std::span<const u32> ids, std::span<const read_image> images) const {
    image_prompt out;
    for (const read_image& image : images)
      for (held_image& part : show(image).parts) out.held.push_back(std::move(part));
    out.ids = with_images(ids, markup(), out.held);
    return out;
  }
  // A text as it stands, where control tokens may be spelled, with the images in the places that it has for them, else
  // before it.
  image_prompt prompt(const text::tokenizer& tokens, std::string text, std::span<const read_image> images,
                      bool add_special = true) const {
    const auto ids = tokens.encode(with_places(std::move(text), markup(), outlines_of(images)),
                                   {.parse_special = true, .add_special = add_special});
    return place(ids, images);
  }
  // A conversation in a chat form (text/jinja/chat_form.hpp), whose messages have as many parts of type "image".
  template <class Form, class Conversation>
  image_prompt prompt(const Form& form, const Conversation& talk, std::span<const read_image> images) const {
    auto rendered = form.render(talk);
    if (!images.empty()) markup().expand(rendered, outlines_of(images));
    return place(form.encode(rendered), images);
  }
};

}  // namespace cke
