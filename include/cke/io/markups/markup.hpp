// SPDX-License-Identifier: MIT
// markup.hpp: what stands in a prompt for an image, and what the text has to know of the image for it.
#pragma once

#include <functional>
#include <span>

#include "../../core/concat.hpp"
#include "../../text/chat/chat.hpp"

namespace cke::io {

// Rows of features, in lines.
struct feature_grid {
  u32 height{}, width{};
  u64 rows() const { return u64{height} * width; }
};
// An image as a text sees it: what the tower made of each tensor that the processor cut it into.
struct image_outline {
  std::vector<feature_grid> tiles{};  // line by line; one more may show the whole image
  u32 rows = 0, cols = 0;             // of tiles; 0 x 0: the image was not cut
};

// A template writes `placeholder` for an image; before tokenizing it becomes words(image). Without a template, `alone`
// may stand for an image.
struct image_markup {
  u32 token{};  // stands for each row of features
  std::string placeholder{}, alone{};
  std::function<std::string(const image_outline&)> words{};
  bool lines{};  // other tokens stand between the lines of a tile's features

  // The text with its placeholders expanded, those of images [next, ...) in order. Throws usage if the text has more
  // placeholders than there are images.
  std::string expand(std::string_view text, std::span<const image_outline> images, u32& next) const {
    std::string out;
    for (std::size_t at; (at = text.find(placeholder)) != text.npos; text.remove_prefix(at + placeholder.size())) {
      if (next == images.size())
        throw Error(errc::usage, {}, "images", concat({"one for each ", placeholder, " of the prompt"}),
                    concat({u64{images.size()}}));
      out += text.substr(0, at), out += words(images[next++]);
    }
    return out += text;
  }
  // The same of what a chat template has written; what users wrote stays as it is.
  void expand(std::span<text::chat_segment> prompt, std::span<const image_outline> images) const {
    u32 next = 0;
    for (text::chat_segment& s : prompt)
      if (s.trusted) s.text = expand(s.text, images, next);
    if (next != images.size())
      throw Error(errc::usage, {}, "images", concat({u64{next}, ", as the prompt has places for images"}),
                  concat({u64{images.size()}}));
  }
};

inline std::string repeated(std::string_view text, u64 times) {
  std::string out;
  while (times-- > 0) out += text;
  return out;
}

}  // namespace cke::io
