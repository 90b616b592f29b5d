// SPDX-License-Identifier: MIT
// served.hpp: a loaded model as serve::service needs it.
#pragma once

#include <optional>
#include <string>

#include <cke/serve/request.hpp>

#include "rooms.hpp"
#include "source.hpp"
#include "vision_model.hpp"

namespace cke::tool {

struct served_options {
  std::optional<std::string> id{};       // absent: the last component of the path
  std::optional<std::string> pooling{};  // absent: as the checkpoint says
  bool slide = false;                    // answers continue past the context
  u64 image_pixels = 1 << 25;            // of one image
};

// Refers to `of`.
struct served_parts {
  served_parts(const model_args& args, const loaded_model& of, const served_options& o);
  served_parts(const served_parts&) = delete;
  served_parts& operator=(const served_parts&) = delete;

  std::optional<model_vision> eyes;  // none: the model sees no images
  std::optional<chat_form> form;     // none: no chat template
  serve::served_model model;
};

// The body of GET /facts: the model, and how its memory is used.
std::string served_facts(const loaded_model& m, const served_parts& parts, u32 slots, u64 image_pixels,
                         const serve::request_limits& limits);

}  // namespace cke::tool
