// SPDX-License-Identifier: MIT
// gguf_image_markup.hpp: how prompts of a GGUF model contain images: by the tokens that published models have.
#pragma once

#include <algorithm>

#include "image_markup.hpp"

namespace cke::io {

// Of a model that sees with a tower of this family. `file`: of the tokens. Throws malformed for a vocabulary without
// the tokens, unsupported for a family whose prompts cke does not know.
inline image_markup gguf_image_markup(std::string_view tower, const std::string& file, const text::vocabulary& tokens) {
  const auto id_of = [&](const std::string& token) {
    const auto at = std::ranges::find(tokens.tokens, token);
    if (at == tokens.tokens.end())
      throw Error(errc::malformed, file, "key tokenizer.ggml.tokens", concat({"the token ", token, ", for images"}),
                  "none of this name");
    return static_cast<u32>(at - tokens.tokens.begin());
  };
  std::string begin, end;
  image_markup m;
  if (tower == "gemma3_vision") {
    begin = "<start_of_image>", end = "<end_of_image>", m.row = "<image_soft_token>";
    m.placeholder = m.alone = begin, m.before = "\n\n" + begin, m.after = end + "\n\n";
  } else if (tower == "gemma4_vision") {
    begin = "<|image>", end = "<image|>", m.row = "<|image|>";
    m.placeholder = m.alone = m.row, m.before = begin, m.after = end;
  } else if (tower.starts_with("qwen")) {
    begin = "<|vision_start|>", end = "<|vision_end|>", m.row = "<|image_pad|>";
    m.placeholder = m.row, m.alone = begin + m.row + end;
  } else {
    throw Error(errc::unsupported, file, "images in prompts of the tower", "that of Gemma 3, Gemma 4 or a Qwen", tower);
  }
  id_of(begin), id_of(end);
  m.token = id_of(m.row);
  return m;
}

}  // namespace cke::io
