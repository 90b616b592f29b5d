// SPDX-License-Identifier: MIT
// markup.hpp: what stands in a prompt for an image or a video, and what the text has to know of it.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "../../core/concat.hpp"
#include "../../text/chat/chat.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

// Rows of features, in lines.
struct feature_grid {
  u32 height{}, width{};
  u64 rows() const { return u64{height} * width; }
};
// An image as a text sees it: what the tower made of each tensor that the processor cut it into. Or a video.
struct image_outline {
  std::vector<feature_grid> tiles{};  // line by line; one more may show the whole image
  u32 rows = 0, cols = 0;             // of tiles; 0 x 0: the image was not cut
  std::vector<double> seconds{};      // of a video: when each tile is shown; empty: an image
  double interval{};                  // of a video: seconds from one tile to the next

  bool is_video() const { return !seconds.empty(); }
};

// What stands for one kind of images: a template writes `placeholder`, which becomes words(image) before tokenizing.
// Without a template, `alone` may stand for one.
struct image_place {
  u32 token{};  // stands for each row of features
  std::string placeholder{}, alone{};
  std::function<std::string(const image_outline&)> words{};
};
struct image_markup : image_place {
  bool lines{};                        // other tokens stand between the lines of a tile's features
  std::optional<image_place> video{};  // none: the model's prompts have no videos
  std::optional<double> time_step{};   // of rope, for each second of a video whose rows are one run; none: frames are
                                       // images to the text

  bool is_row(u32 id) const { return id == token || (video && id == video->token); }
  bool has_place(std::string_view text) const {
    return text.find(placeholder) != text.npos || (video && text.find(video->placeholder) != text.npos);
  }
  // Throws usage for a video if prompts have none.
  const image_place& place_of(const image_outline& image) const {
    if (!image.is_video()) return *this;
    if (!video) throw Error(errc::usage, {}, "video", "a model whose prompts have videos", "one that sees images");
    return *video;
  }

  // The text with its placeholders expanded, those of images [next, ...) in order. Throws usage if the text has more
  // placeholders than there are images, or an image's where a video is next.
  std::string expand(std::string_view text, std::span<const image_outline> images, u32& next) const {
    std::string out;
    for (;;) {
      const std::size_t image = text.find(placeholder),
                        clip = video ? text.find(video->placeholder) : std::string_view::npos;
      if (image == text.npos && clip == text.npos) return out += text;
      const image_place& here = image < clip ? static_cast<const image_place&>(*this) : *video;
      if (next == images.size())
        throw Error(errc::usage, {}, "images", concat({"one for each ", here.placeholder, " of the prompt"}),
                    concat({u64{images.size()}}));
      if (images[next].is_video() != (clip < image))
        throw Error(errc::usage, {}, "images",
                    concat({clip < image ? "a video" : "an image", " for ", here.placeholder}),
                    images[next].is_video() ? "a video" : "an image");
      out += text.substr(0, std::min(image, clip)), out += here.words(images[next++]);
      text.remove_prefix(std::min(image, clip) + here.placeholder.size());
    }
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
CKE_COLD_END
