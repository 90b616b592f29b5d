// SPDX-License-Identifier: MIT
// fake_vision.hpp: eyes for fake::model: "IMAGE:" and a digit is an image file of so many rows.
#pragma once

#include <map>
#include <thread>

#include <cke/any_vision.hpp>

#include "fake_model.hpp"

namespace fake {

inline constexpr u32 first_image = 1000, row_token = 1;
inline constexpr const char* seeing_template =
    "{% for m in messages %}<|{{ m.role }}|>{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}{% if p.type == 'image' %}{% if m.role != 'system' %}[I]{% endif %}"
    "{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}";

class eyes final : public any_vision {
 public:
  eyes() {
    markup_.token = row_token, markup_.placeholder = markup_.alone = "[I]";
    markup_.words = [](const image_outline& image) { return "<" + repeated("\x01", image.tiles.at(0).rows()) + ">"; };
  }

  const image_markup& markup() const override { return markup_; }
  read_image read(std::span<const std::byte> file, const std::string& name,
                  const read_options& options = {}) const override {
    const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
    if (!text.starts_with("IMAGE:")) throw Error(errc::unsupported, name, "image", "PNG or the like", "another format");
    if (text.size() < 7) throw Error(errc::malformed, name, "rows", "a digit", "none");
    if (text[6] == '9') throw Error(errc::config_range, name, "size", "fewer pixels", "9");
    const auto rows = options.longest ? 1 : static_cast<u32>(text[6] - '0');
    return {.name = name,
            .key = {std::hash<std::string>{}(text) + options.longest, options.owner},
            .outline = {.tiles = {{1, rows}}}};
  }
  shown_image show(const read_image& image) const override {
    const std::lock_guard turn(busy_);
    if (const auto known = firsts_.find(image.key); known != firsts_.end())
      return {{{known->second, static_cast<u32>(image.rows()), held_}}, 0};
    std::this_thread::sleep_for(takes);
    const u32 first = std::exchange(next_, next_ + static_cast<u32>(image.rows()));
    firsts_.emplace(image.key, first);
    return {{{first, static_cast<u32>(image.rows()), held_}}, 1};
  }

  std::chrono::milliseconds takes{0};  // to encode an image

 private:
  image_markup markup_;
  std::shared_ptr<const void> held_ = std::make_shared<int>(0);
  mutable std::mutex busy_;
  mutable std::map<image_key, u32> firsts_;
  mutable u32 next_ = first_image;
};

}  // namespace fake
