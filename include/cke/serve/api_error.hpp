// SPDX-License-Identifier: MIT
// api_error.hpp: an error in the form of OpenAI's API: an HTTP status and {"error": {...}}.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cke::serve {

using json = nlohmann::ordered_json;

struct api_error : std::runtime_error {
  unsigned status;
  std::string type, param, code;  // param and code: null where empty
  unsigned retry_after = 0;       // seconds; 0: trying again makes no sense

  api_error(unsigned http, std::string_view kind, const std::string& message, std::string_view of = {},
            std::string_view why = {})
      : std::runtime_error(message), status(http), type(kind), param(of), code(why) {}

  json body() const {
    const auto text = [](const std::string& s) { return s.empty() ? json(nullptr) : json(s); };
    return {{"error", {{"message", what()}, {"type", type}, {"param", text(param)}, {"code", text(code)}}}};
  }
};

// The request is at fault: `param` is the field, as a path.
inline api_error bad_request(const std::string& message, std::string_view param = {}, std::string_view code = {}) {
  return {400, "invalid_request_error", message, param, code};
}
inline api_error overloaded(const std::string& message) {
  api_error e(429, "rate_limit_error", message, {}, "queue_full");
  e.retry_after = 1;
  return e;
}
inline api_error draining() {
  api_error e(503, "unavailable_error", "the server is shutting down", {}, "shutting_down");
  e.retry_after = 5;
  return e;
}

// Text of a client for a message: cut, and on one line.
inline std::string quote(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string out = "'";
  for (const char c : text.substr(0, most)) out += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return out += text.size() > most ? "...'" : "'";
}

// JSON to send. Model output is valid UTF-8 already; names of files may not be.
inline std::string dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace cke::serve
