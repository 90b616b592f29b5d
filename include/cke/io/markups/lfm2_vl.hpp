// SPDX-License-Identifier: MIT
// lfm2_vl.hpp: images in prompts of LFM2-VL: one tensor, or each tile after its place and perhaps a thumbnail.
#pragma once

#include "markup_reader.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

inline image_markup lfm2_vl_markup(const markup_reader& in) {
  image_markup m;
  m.token = in.id_of({"image_token_id", "image_token_index"}, "<image>");
  m.placeholder = m.alone = in.token(m.token);
  m.words = [row = m.placeholder, begin = in.named("image_start_token", "<|image_start|>"),
             thumbnail = in.named("image_thumbnail_token", "<|img_thumbnail|>"),
             end = in.named("image_end_token", "<|image_end|>"),
             marked = in.flag("use_image_special_tokens", true)](const image_outline& image) {
    std::string out;
    const auto add = [&](const feature_grid& tile, std::string_view mark) {
      if (marked) out += mark;
      out += repeated(row, tile.rows());
    };
    const u32 cut = image.rows * image.cols;
    for (u32 i = 0; i < cut && cut > 1; ++i)
      add(image.tiles.at(i), concat({"<|img_row_", i / image.cols + 1, "_col_", i % image.cols + 1, "|>"}));
    if (cut <= 1) add(image.tiles.at(0), {});
    else if (image.tiles.size() > cut) add(image.tiles[cut], thumbnail);
    return marked ? begin + out + end : out;
  };
  return m;
}

}  // namespace cke::io
CKE_COLD_END
