// SPDX-License-Identifier: MIT
// idefics3.hpp: images in prompts of Idefics 3 and SmolVLM: each tile after its place, then the whole image.
#pragma once

#include "markup_reader.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

inline image_markup idefics3_markup(const markup_reader& in) {
  image_markup m;
  m.token = in.id_of({"image_token_id"}, "<image>");
  m.placeholder = m.alone = in.token(m.token);
  m.words = [row = m.placeholder, mark = in.named("fake_image_token", "<fake_token_around_image>"),
             whole = in.named("global_image_token", "<global-img>")](const image_outline& image) {
    std::string out;
    for (u32 r = 0; r < image.rows; ++r) {
      for (u32 c = 0; c < image.cols; ++c)
        out += concat(
            {mark, "<row_", r + 1, "_col_", c + 1, ">", repeated(row, image.tiles.at(r * image.cols + c).rows())});
      out += '\n';
    }
    if (image.rows > 0) out += '\n';
    return out + mark + whole + repeated(row, image.tiles.back().rows()) + mark;
  };
  return m;
}

}  // namespace cke::io
CKE_COLD_END
