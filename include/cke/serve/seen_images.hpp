// SPDX-License-Identifier: MIT
// seen_images.hpp: the images of a conversation, read and encoded, and their places in its prompt.
#pragma once

#include "metrics.hpp"
#include "request.hpp"

namespace cke::serve {

struct seen_images {
  std::vector<io::image_outline> outlines{};
  std::vector<held_image> held{};
};

namespace detail {

inline std::vector<held_image> encoded(const read_image& image, const any_vision& vision, metrics& count) {
  try {
    const auto begun = clock::now();
    shown_image out = vision.show(image);
    ++count.images, count.images_encoded += out.encoded > 0;
    if (out.encoded) count.image_seconds.add(std::chrono::duration<double>(clock::now() - begun).count());
    return std::move(out.parts);
  } catch (const Error& e) {
    const bool theirs = e.code == errc::usage;
    throw api_error(theirs ? 400 : 500, theirs ? "invalid_request_error" : "server_error", image.name + ": " + e.what(),
                    image.name, "image_not_encoded");
  }
}

}  // namespace detail

// Reads images one after the other, and encodes those that the model does not have; this may take seconds. Throws
// api_error that names the field, and what need_client throws: no further image is then begun.
inline seen_images see(std::span<const wanted_image> images, const served_model& model, const request_limits& limits,
                       u32 owner, metrics& count, const std::atomic<bool>* gone) {
  seen_images out;
  u64 rows = 0;
  for (const wanted_image& wanted : images) {
    const read_image image = read_source(wanted, *model.vision, limits, model.fetch, owner, gone);
    // A prompt that cannot fit is refused before the rest of its images is read.
    if ((rows += image.rows()) > model.context) detail::need_fits(rows, model, "messages");
    out.outlines.push_back(image.outline);
    need_client(gone);
    for (held_image& part : detail::encoded(image, *model.vision, count)) out.held.push_back(std::move(part));
  }
  return out;
}

// Puts images into the places that the template has written for them. Throws api_error if there are fewer, or more.
inline void put_images(std::vector<chat_segment>& prompt, std::span<const io::image_outline> images,
                       const served_model& model) {
  if (images.empty()) return;
  try {
    model.vision->markup().expand(prompt, images);
  } catch (const Error& e) {
    throw bad_request(
        "the model's chat template does not take these images: expected " + e.expected + ", found " + e.found,
        "messages", "invalid_value");
  }
}

}  // namespace cke::serve
