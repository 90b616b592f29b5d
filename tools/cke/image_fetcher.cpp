// SPDX-License-Identifier: MIT
// image_fetcher.cpp: see image_fetcher.hpp. It is compiled with the program, not among the parts that programs share.
#include "image_fetcher.hpp"

#ifdef CKE_FETCH
#include <cke/fetch/http_fetch.hpp>
#endif

namespace cke::tool {

std::function<std::string(const std::string& url)> image_fetcher([[maybe_unused]] std::size_t most_bytes) {
#ifdef CKE_FETCH
  return [most_bytes](const std::string& url) { return fetch::get(url, {.bytes = most_bytes}); };
#else
  return {};
#endif
}

}  // namespace cke::tool
