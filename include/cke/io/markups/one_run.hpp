// SPDX-License-Identifier: MIT
// one_run.hpp: the families in which the rows of an image stand side by side: Gemma 3, Gemma 4, Qwen.
#pragma once

#include <charconv>

#include "markup_reader.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

// The rows of one tensor, between two texts.
inline std::string one_run(const feature_grid& tile, std::string_view before, std::string_view row,
                           std::string_view after) {
  return concat({before, repeated(row, tile.rows()), after});
}

// Of an image that was cut, the whole comes first, and then its crops.
inline image_markup gemma3_markup(const markup_reader& in) {
  image_markup m;
  m.token = in.id_of({"image_token_index", "image_token_id"}, "<image_soft_token>");
  m.placeholder = m.alone = in.token_of({"boi_token_index"}, "<start_of_image>");
  m.words = [before = "\n\n" + m.placeholder, row = in.token(m.token),
             after = in.token_of({"eoi_token_index"}, "<end_of_image>") + "\n\n"](const image_outline& image) {
    std::string out = one_run(image.tiles.at(0), before, row, after);
    if (image.tiles.size() == 1) return out;
    out = "Here is the original image " + out + " and here are some crops to help you see better";
    for (std::size_t i = 1; i < image.tiles.size(); ++i) out += " " + one_run(image.tiles[i], before, row, after);
    return out;
  };
  return m;
}

inline image_markup gemma4_markup(const markup_reader& in) {
  image_markup m;
  m.token = in.id_of({"image_token_id"}, "<|image|>");
  m.placeholder = m.alone = in.token(m.token);
  m.words = [before = in.token_of({"boi_token_id"}, "<|image>"), row = m.placeholder,
             after = in.token_of({"eoi_token_id"}, "<image|>")](const image_outline& image) {
    return one_run(image.tiles.at(0), before, row, after);
  };
  return m;
}

// The template writes what stands around the rows.
inline image_markup qwen_markup(const markup_reader& in) {
  image_markup m;
  m.token = in.id_of({"image_token_id"}, "<|image_pad|>");
  m.placeholder = in.token(m.token);
  m.alone = in.token_of({"vision_start_token_id"}, "<|vision_start|>") + m.placeholder +
      in.token_of({"vision_end_token_id"}, "<|vision_end|>");
  m.words = [row = m.placeholder](const image_outline& image) { return one_run(image.tiles.at(0), {}, row, {}); };
  return m;
}
// A place for a video, without its words.
inline image_place qwen_video(const markup_reader& in, std::string_view before, std::string_view after) {
  image_place clip{.token = in.id_of({"video_token_id"}, "<|video_pad|>")};
  clip.placeholder = in.token(clip.token);
  clip.alone = concat({before, clip.placeholder, after});
  return clip;
}
// Qwen2.5-VL. All rows of a video are one run, and their places on the axis of time say when they are shown.
inline image_markup qwen2_5_markup(const markup_reader& in) {
  image_markup m = qwen_markup(in);
  image_place clip = qwen_video(in, in.token_of({"vision_start_token_id"}, "<|vision_start|>"),
                                in.token_of({"vision_end_token_id"}, "<|vision_end|>"));
  clip.words = [row = clip.placeholder](const image_outline& video) {
    std::string out;
    for (const feature_grid& tile : video.tiles) out += one_run(tile, {}, row, {});
    return out;
  };
  m.video = std::move(clip);
  m.time_step = in.vision_number("tokens_per_second", 4);
  return m;
}
// From Qwen3-VL on. A video's frames have their time before them, and begin and end as images do, inside of what the
// template writes around the video.
inline image_markup qwen3_markup(const markup_reader& in) {
  image_markup m = qwen_markup(in);
  const std::string before = in.token_of({"vision_start_token_id"}, "<|vision_start|>"),
                    after = in.token_of({"vision_end_token_id"}, "<|vision_end|>");
  image_place clip = qwen_video(in, before, after);
  clip.words = [before, row = clip.placeholder, after](const image_outline& video) {
    std::string out;
    for (std::size_t i = 0; i < video.tiles.size(); ++i) {
      char time[320];  // room for any double
      const auto end = std::to_chars(time, std::end(time), video.seconds.at(i), std::chars_format::fixed, 1).ptr;
      out += concat({"<", std::string_view(time, end), " seconds>"}) + one_run(video.tiles[i], before, row, after);
    }
    return out;
  };
  m.video = std::move(clip);
  return m;
}

}  // namespace cke::io
CKE_COLD_END
