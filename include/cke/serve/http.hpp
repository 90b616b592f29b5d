// SPDX-License-Identifier: MIT
// http.hpp: Boost.Asio and Boost.Beast, as far as the server uses them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <charconv>

#include "../core/types.hpp"
#include "api_error.hpp"

namespace cke::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

using http_request = http::request<http::string_body>;
using http_response = http::response<http::string_body>;

inline std::string_view view(beast::string_view s) { return {s.data(), s.size()}; }

// The path of a request's target, with its percent-encoding decoded. Throws api_error.
inline std::string path_of(std::string_view target) {
  std::string path;
  target = target.substr(0, target.find('?'));
  for (std::size_t at = 0; at < target.size(); ++at) {
    char c = target[at];
    if (c == '%') {
      const std::string_view digits = target.substr(at + 1, 2);
      u8 byte = 0;
      if (const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
          digits.size() < 2 || ec != std::errc() || end != digits.data() + 2)
        throw bad_request("expected two hexadecimal digits after each % of the address", {}, "bad_http");
      c = static_cast<char>(byte), at += 2;
    }
    path += c;
  }
  return path;
}

// Whether a Content-Type is JSON's.
inline bool is_json(std::string_view type) {
  std::string plain(type.substr(0, type.find(';')));
  while (plain.ends_with(' ')) plain.pop_back();
  for (char& c : plain) c = static_cast<char>(c | 0x20);
  return plain == "application/json";
}

// Headers of every response. Nothing of the request is repeated in them.
inline void set_common(http_response& r, std::string_view type, bool keep_alive) {
  const auto field = [&](const char* name, std::string_view value) {
    r.set(name, beast::string_view(value.data(), value.size()));
  };
  field("Content-Type", type);
  field("Cache-Control", "no-store");
  field("X-Content-Type-Options", "nosniff");
  r.keep_alive(keep_alive);
}

inline http_response refusal(const api_error& e, unsigned version, bool keep_alive) {
  http_response r(static_cast<http::status>(e.status), version, dump(e.body()));
  set_common(r, "application/json", keep_alive);
  if (e.retry_after) r.set(http::field::retry_after, std::to_string(e.retry_after));
  if (e.status == 401) r.set(http::field::www_authenticate, "Bearer");
  return r;
}

// The error to send if reading a request has failed; null: the client, or after a timeout the connection, has gone.
inline std::optional<api_error> read_error(const error_code& ec) {
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow)
    return api_error(431, "invalid_request_error", "the header is too large", {}, "header_too_large");
  if (ec == http::error::body_limit)
    return api_error(413, "invalid_request_error", "the body is too large", {}, "body_too_large");
  const bool malformed = ec.category() == http::make_error_code(http::error::bad_method).category();
  if (malformed && ec != http::error::end_of_stream && ec != http::error::partial_message)
    return bad_request("not an HTTP request: " + ec.message(), {}, "bad_http");
  return {};
}

}  // namespace cke::serve
