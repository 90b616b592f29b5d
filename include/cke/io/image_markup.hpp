// SPDX-License-Identifier: MIT
// image_markup.hpp: how prompts of a Hugging Face model contain images, whichever family it is.
#pragma once

#include "markups/idefics3.hpp"
#include "markups/lfm2_vl.hpp"
#include "markups/one_run.hpp"
#include "markups/pixtral.hpp"

CKE_COLD_OPTIONAL_BEGIN
namespace cke::io {

namespace detail {

struct family_markup {
  std::string_view model_type;
  image_markup (*read)(const markup_reader&);
};
inline constexpr family_markup markups_of_families[] = {
    {"gemma3", gemma3_markup},     {"gemma4", gemma4_markup},      {"qwen2_5_vl", qwen2_5_markup},
    {"qwen3_vl", qwen3_markup},    {"qwen3_vl_moe", qwen3_markup}, {"qwen3_5", qwen3_markup},
    {"qwen3_5_moe", qwen3_markup}, {"idefics3", idefics3_markup},  {"smolvlm", idefics3_markup},
    {"lfm2_vl", lfm2_vl_markup},   {"llava", pixtral_markup},      {"mistral3", pixtral_markup},
};

}  // namespace detail

// Of a directory whose model sees images. Throws file, malformed, unsupported.
inline image_markup read_image_markup(const std::string& dir, const text::vocabulary& tokens) {
  const markup_reader in(dir, tokens);
  const std::string type = in.model_type();
  std::string known;
  for (const auto& of : detail::markups_of_families) {
    if (of.model_type == type) return of.read(in);
    known += (known.empty() ? "" : ", ") + std::string(of.model_type);
  }
  throw Error(errc::unsupported, in.file(), "images in prompts of model type", "one of " + known,
              type.empty() ? "none" : type);
}

}  // namespace cke::io
CKE_COLD_END
