// SPDX-License-Identifier: MIT
// routes.hpp: every route of the server, with the fields of its body.
#pragma once

#include "fields.hpp"

namespace cke::serve {

enum class action : u8 {
  page,
  health,
  models,
  model,
  completions,
  chat,
  embeddings,
  tokenize,
  detokenize,
  apply_template,
  metrics,
  slots,
  facts,
  openapi,
};

struct route {
  std::string_view method, path;  // a path that ends in '/' is a prefix; a model's id follows it
  action does;
  std::span<const field> body{};  // of a POST
  bool open = false;              // needs no API key
  std::string_view type;          // of its response
  std::string_view about;
};

inline constexpr std::string_view json_type = "application/json",
                                  text_type = "text/plain; version=0.0.4; charset=utf-8",
                                  html_type = "text/html; charset=utf-8", event_type = "text/event-stream";

inline constexpr route routes[] = {
    {"GET", "/", action::page, {}, true, html_type, "A page to talk with the model."},
    {"GET",
     "/health",
     action::health,
     {},
     true,
     json_type,
     "Whether requests are taken: 200, or 503 while shutting down."},
    {"GET", "/v1/models", action::models, {}, false, json_type, "The served model, in a list."},
    {"GET", "/v1/models/", action::model, {}, false, json_type, "The served model."},
    {"POST", "/v1/completions", action::completions, fields::completion, false, json_type, "Continues a text."},
    {"POST", "/v1/chat/completions", action::chat, fields::chat, false, json_type, "Answers a conversation."},
    {"POST", "/v1/embeddings", action::embeddings, fields::embeddings, false, json_type,
     "Vectors that texts of like meaning have alike."},
    {"POST", "/tokenize", action::tokenize, fields::tokenize, false, json_type, "Text to token ids."},
    {"POST", "/detokenize", action::detokenize, fields::detokenize, false, json_type, "Token ids to text."},
    {"POST", "/apply-template", action::apply_template, fields::apply_template, false, json_type,
     "The prompt that the model's template makes of a conversation."},
    {"GET", "/metrics", action::metrics, {}, false, text_type, "Counters, as Prometheus reads them."},
    {"GET", "/slots", action::slots, {}, false, json_type, "What runs in each slot."},
    {"GET", "/facts", action::facts, {}, false, json_type, "The model and its memory."},
    {"GET", "/openapi.json", action::openapi, {}, true, json_type, "This interface, as an OpenAPI document."},
};

constexpr bool matches(const route& r, std::string_view path) {
  if (r.path.size() > 1 && r.path.ends_with('/')) return path.starts_with(r.path) && path.size() > r.path.size();
  return path == r.path;
}

}  // namespace cke::serve
