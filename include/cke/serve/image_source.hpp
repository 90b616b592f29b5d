// SPDX-License-Identifier: MIT
// image_source.hpp: the bytes of an image that a request has in it, or names.
#pragma once

#include <atomic>
#include <functional>

#include "../any_vision.hpp"
#include "api_error.hpp"
#include "base64.hpp"
#include "limits.hpp"

namespace cke::serve {

// An image as a request asks for it.
struct wanted_image {
  std::string field;  // for messages: messages[1].content[0].image_url.url
  std::string url;
  u32 longest = 0;  // see read_options
};

// Gets what is at an http or https address. Throws Error.
using fetch_function = std::function<std::string(const std::string& url)>;

namespace detail {

inline bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x | 0x20 : x) == y; });
}
inline bool has_scheme(std::string_view url, std::string_view scheme) {
  return url.size() > scheme.size() && same_letters(url.substr(0, scheme.size()), scheme);
}
inline bool is_remote(std::string_view url) { return has_scheme(url, "http://") || has_scheme(url, "https://"); }

inline api_error bad_image(const wanted_image& image, const std::string& why, std::string_view code) {
  return bad_request(image.field + ": " + why, image.field, code);
}
inline std::string too_large(std::size_t most, std::string_view found) {
  return "expected an image of at most " + std::to_string(most) + " bytes, found " + std::string(found);
}

// The bytes of a data: URI (RFC 2397). Its media type is ignored: an image's first bytes say what it is.
inline std::string data_of(const wanted_image& image, const request_limits& limits) {
  constexpr std::string_view scheme = "data:", coding = ";base64";
  std::string_view rest = std::string_view(image.url).substr(scheme.size());
  const std::size_t comma = rest.find(',');
  const std::string_view about = rest.substr(0, std::min(comma, rest.size()));
  if (comma == rest.npos || about.size() < coding.size() ||
      !same_letters(about.substr(about.size() - coding.size()), coding))
    throw bad_image(image, "expected data:TYPE;base64,BYTES", "invalid_image_url");
  rest.remove_prefix(comma + 1);
  if (base64_bytes(rest) > limits.image_bytes + 3)
    throw bad_image(image, too_large(limits.image_bytes, "more"), "image_too_large");
  auto bytes = from_base64(rest);
  if (!bytes) throw bad_image(image, "expected base64 after the comma", "invalid_base64_image");
  return std::move(*bytes);
}

}  // namespace detail

// Throws api_error for an address that cannot be an image's here; nothing is decoded or fetched.
inline void check_source(const wanted_image& image, const fetch_function& fetch) {
  using namespace detail;
  if (has_scheme(image.url, "data:")) return;
  if (!is_remote(image.url))
    throw bad_image(
        image,
        "expected a data: URI" + std::string(fetch ? ", or an http or https URL" : "") + ", found " + quote(image.url),
        "invalid_image_url");
  if (!fetch)
    throw bad_image(image,
                    "expected a data: URI: this server fetches no images, unless it is started with "
                    "--allow-image-urls",
                    "invalid_image_url");
}

// The bytes of a checked source. Throws api_error.
inline std::string bytes_of(const wanted_image& image, const request_limits& limits, const fetch_function& fetch) {
  using namespace detail;
  std::string bytes;
  if (is_remote(image.url)) {
    try {
      bytes = fetch(image.url);
    } catch (const Error& e) { throw bad_image(image, e.what(), "failed_to_download_image"); }
  } else {
    bytes = data_of(image, limits);
  }
  if (bytes.size() > limits.image_bytes)
    throw bad_image(image, too_large(limits.image_bytes, std::to_string(bytes.size())), "image_too_large");
  return bytes;
}

// Throws api_error if nobody waits for the request any more; null: somebody does.
inline void need_client(const std::atomic<bool>* gone) {
  if (gone && *gone)
    throw api_error(503, "unavailable_error", "the request was given up: its client has gone, or the server ends", {},
                    "cancelled");
}

// Throws api_error that names the field, and what need_client throws.
inline read_image read_source(const wanted_image& image, const any_vision& vision, const request_limits& limits,
                              const fetch_function& fetch, u64 owner, const std::atomic<bool>* gone) {
  need_client(gone);
  const std::string bytes = bytes_of(image, limits, fetch);
  try {
    return vision.read(std::as_bytes(std::span(bytes)), image.field, {.owner = owner, .longest = image.longest});
  } catch (const Error& e) {
    throw bad_request(e.what(), image.field,
                      e.code == errc::unsupported        ? "invalid_image_format"
                          : e.code == errc::config_range ? "image_too_large"
                                                         : "image_parse_error");
  }
}

}  // namespace cke::serve
