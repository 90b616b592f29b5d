// SPDX-License-Identifier: MIT
// image_markup.hpp: how prompts of a Hugging Face model contain images.
#pragma once

#include "../text/chat/chat.hpp"
#include "hf_checkpoint.hpp"

namespace cke::io {

// A template writes `placeholder` for an image; before tokenizing it becomes `before`, `row` once for each row of the
// image's features, and `after`. Without a template, `alone` may stand for an image.
struct image_markup {
  u32 token{};  // the id of `row`
  std::string placeholder, before, row, after, alone;

  // The text with its placeholders expanded, those of images [next, ...) in order. Throws usage if the text has more
  // placeholders than there are images.
  std::string expand(std::string_view text, std::span<const u32> rows, u32& next) const {
    std::string out;
    for (std::size_t at; (at = text.find(placeholder)) != text.npos; text.remove_prefix(at + placeholder.size())) {
      if (next == rows.size())
        throw Error(errc::usage, {}, "images", concat({"one for each ", placeholder, " of the prompt"}),
                    concat({u64{rows.size()}}));
      out += text.substr(0, at), out += before;
      for (u32 r = 0; r < rows[next]; ++r) out += row;
      out += after, ++next;
    }
    return out += text;
  }
  // The same of what a chat template has written; what users wrote stays as it is.
  void expand(std::span<text::chat_segment> prompt, std::span<const u32> rows) const {
    u32 next = 0;
    for (text::chat_segment& s : prompt)
      if (s.trusted) s.text = expand(s.text, rows, next);
    if (next != rows.size())
      throw Error(errc::usage, {}, "images", concat({u64{next}, ", as the prompt has places for images"}),
                  concat({u64{rows.size()}}));
  }
};

// Of a directory whose model sees images. Throws file, malformed, unsupported.
inline image_markup read_image_markup(const std::string& dir, const text::vocabulary& tokens) {
  const std::string file = dir + "/config.json";
  const nlohmann::json config = detail::checked_object(read_hf_files(dir).config, file);
  const auto id_of = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys)
      if (const auto id = config.find(key);
          id != config.end() && id->is_number_unsigned() && *id < tokens.tokens.size())
        return id->get<u32>();
    throw Error(errc::malformed, file, concat({"config key ", *keys.begin()}),
                concat({"an id below ", u64{tokens.tokens.size()}}), "none");
  };
  const auto text_of = [&](std::initializer_list<const char*> keys) { return tokens.tokens[id_of(keys)]; };
  const std::string type = config.value("model_type", std::string());
  image_markup m;
  if (type == "gemma3") {
    const std::string begin = text_of({"boi_token_index"}), end = text_of({"eoi_token_index"});
    m = {id_of({"image_token_index", "image_token_id"}), begin, "\n\n" + begin, {}, end + "\n\n", begin};
  } else if (type == "gemma4") {
    m.token = id_of({"image_token_id"}), m.placeholder = m.alone = tokens.tokens[m.token];
    m.before = text_of({"boi_token_id"}), m.after = text_of({"eoi_token_id"});
  } else if (type.starts_with("qwen")) {
    m.token = id_of({"image_token_id"}), m.placeholder = tokens.tokens[m.token];
    m.alone = text_of({"vision_start_token_id"}) + m.placeholder + text_of({"vision_end_token_id"});
  } else {
    throw Error(errc::unsupported, file, "images in prompts of model type", "gemma3, gemma4, qwen3_vl or alike", type);
  }
  m.row = tokens.tokens[m.token];
  return m;
}

}  // namespace cke::io
