// SPDX-License-Identifier: MIT
// gguf_image_markup.hpp: how prompts of a GGUF model contain images: by the tokens that published models have.
#pragma once

#include "image_markup.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

namespace detail {

inline constexpr family_markup markups_of_towers[] = {
    {"gemma3_vision", gemma3_markup},   {"gemma4_vision", gemma4_markup},   {"qwen2_5_vl_vision", qwen_markup},
    {"qwen3_vl_vision", qwen_markup},   {"qwen3_5_vision", qwen_markup},    {"idefics3_vision", idefics3_markup},
    {"lfm2_vl_vision", lfm2_vl_markup}, {"pixtral_vision", pixtral_markup}, {"mistral3_vision", pixtral_markup},
};

}  // namespace detail

// Of a model that sees with a tower of this family. `file`: of the tokens. Throws malformed for a vocabulary without
// the tokens, unsupported for a family whose prompts cke does not know.
inline image_markup gguf_image_markup(std::string_view tower, const std::string& file, const text::vocabulary& tokens) {
  std::string known;
  for (const auto& of : detail::markups_of_towers) {
    if (of.model_type == tower) return of.read(markup_reader::by_name(file, tokens));
    known += (known.empty() ? "" : ", ") + std::string(of.model_type);
  }
  throw Error(errc::unsupported, file, "images in prompts of the tower", "one of " + known, tower);
}

}  // namespace cke::io
CKE_COLD_END
