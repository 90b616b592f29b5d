// SPDX-License-Identifier: MIT
// pixtral.hpp: images in prompts of Pixtral and Mistral 3: lines of rows, with a token after each of them.
#pragma once

#include "markup_reader.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

inline image_markup pixtral_markup(const markup_reader& in) {
  image_markup m;
  m.token = in.id_of({"image_token_index", "image_token_id"}, "[IMG]"), m.lines = true;
  m.placeholder = m.alone = in.token(m.token);
  m.words = [row = m.placeholder, after = in.named("image_break_token", "[IMG_BREAK]"),
             end = in.named("image_end_token", "[IMG_END]")](const image_outline& image) {
    const feature_grid tile = image.tiles.at(0);
    std::string out;
    for (u32 y = 0; y < tile.height; ++y) out += repeated(row, tile.width) + (y + 1 < tile.height ? after : end);
    return out;
  };
  return m;
}

}  // namespace cke::io
CKE_COLD_END
