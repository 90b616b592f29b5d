// SPDX-License-Identifier: MIT
// content.hpp: the parts of a message: texts, and images as a template knows them.
#pragma once

#include "request.hpp"

namespace cke::serve::detail {

inline bool is_image(const json& part) { return part["type"] == "image_url" || part["type"] == "input_image"; }

// Throws api_error unless the part has what its type needs, and nothing else.
inline void check_part(const json& part, const std::string& path) {
  const bool image = is_image(part);
  const char* const needed = image ? "image_url" : "text";
  if (!given(part, needed))
    throw bad_request("the field '" + std::string(needed) + "' is missing", path + '.' + needed,
                      "missing_required_parameter");
  for (const char* name : {"text", "image_url", "detail"})
    if (given(part, name) && image == (name == std::string_view("text")))
      throw bad_request(path + '.' + name + ": not in a part of type " + part["type"].get_ref<const std::string&>(),
                        path + '.' + name, "invalid_value");
}

inline wanted_image image_of(const json& part, const std::string& path) {
  constexpr u32 low_detail = 512;  // pixels of the longer side, as OpenAI says
  const json& at = part["image_url"];
  const bool alone = at.is_string();
  const json* const inner = alone ? nullptr : given(at, "detail");
  const json* const detail = inner ? inner : given(part, "detail");
  return {.field = path + (alone ? ".image_url" : ".image_url.url"),
          .url = (alone ? at : at["url"]).get_ref<const std::string&>(),
          .longest = detail && *detail == "low" ? low_detail : 0};
}

// Text parts become lines; with an image among them all stay parts, in their order.
inline json content_of(const json& content, const std::string& path, std::vector<wanted_image>& images) {
  if (!content.is_array()) return content;
  std::size_t i = 0;
  bool sees = false;
  json parts = json::array();
  std::string lines;
  for (const json& part : content) {
    const std::string here = path + '[' + std::to_string(i++) + ']';
    check_part(part, here);
    if (is_image(part)) {
      sees = true;
      images.push_back(image_of(part, here));
      parts.push_back({{"type", "image"}});
    } else {
      (lines += lines.empty() ? "" : "\n") += part["text"].get_ref<const std::string&>();
      parts.push_back({{"type", "text"}, {"text", part["text"]}});
    }
  }
  return sees ? parts : json(std::move(lines));
}

}  // namespace cke::serve::detail
