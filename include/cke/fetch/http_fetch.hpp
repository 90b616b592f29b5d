// SPDX-License-Identifier: MIT
// http_fetch.hpp: what is at an http or https address that a stranger named. Programs that include it link cke::fetch.
#pragma once

#include <curl/curl.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "../core/concat.hpp"
#include "../core/error.hpp"
#include "public_address.hpp"

namespace cke::fetch {

struct fetch_limits {
  std::size_t bytes = std::size_t{20} << 20;
  std::chrono::milliseconds time{10'000}, connect{4'000};  // for all of it, redirects included; for one connection
  u32 redirects = 3;
};

namespace detail {

// One transfer, as libcurl's callbacks see it.
struct transfer {
  const fetch_limits& limits;
  const address_rule& allowed;
  std::string bytes{};
  bool too_large = false, refused = false;

  static std::size_t take(char* data, std::size_t one, std::size_t count, void* self) {
    auto& t = *static_cast<transfer*>(self);
    t.too_large = count > t.limits.bytes - t.bytes.size();
    if (t.too_large) return CURL_WRITEFUNC_ERROR;
    t.bytes.append(data, count);
    return one * count;
  }
  // Called with the address that is about to be connected to, after names were resolved, for each redirect too.
  static curl_socket_t open(void* self, curlsocktype, curl_sockaddr* to) {
    auto& t = *static_cast<transfer*>(self);
    if (!t.allowed(to->addr)) {
      t.refused = true;
      return CURL_SOCKET_BAD;
    }
    return ::socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
  }
};

inline void begin_once() {
  static const CURLcode began = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (began != CURLE_OK) throw Error(errc::file, {}, "libcurl", "to begin", curl_easy_strerror(began));
}

}  // namespace detail

// Connects to addresses that `allowed` takes, and to no proxy, whatever the environment says. Throws Error{file} that
// says why, and names no address.
inline std::string get(const std::string& url, const fetch_limits& limits = {},
                       const address_rule& allowed = is_public) {
  detail::begin_once();
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl_easy_init(), curl_easy_cleanup);
  if (!handle) throw Error(errc::out_of_memory, {}, "libcurl", "a handle", "none");
  detail::transfer t{limits, allowed};
  CURLcode status = CURLE_OK;
  const auto set = [&](CURLoption option, auto value) {
    if (status == CURLE_OK) status = curl_easy_setopt(handle.get(), option, value);
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, static_cast<long>(limits.redirects));
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(limits.time.count()));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect.count()));
  set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(limits.bytes));
  set(CURLOPT_USERAGENT, "cke");
  set(CURLOPT_OPENSOCKETFUNCTION, detail::transfer::open);
  set(CURLOPT_OPENSOCKETDATA, &t);
  set(CURLOPT_WRITEFUNCTION, detail::transfer::take);
  set(CURLOPT_WRITEDATA, &t);
  if (status == CURLE_OK) status = curl_easy_perform(handle.get());
  if (status == CURLE_OK) return std::move(t.bytes);
  if (t.refused) throw Error(errc::file, {}, "URL", "an address on the public network", "another");
  if (t.too_large || status == CURLE_FILESIZE_EXCEEDED)
    throw Error(errc::file, {}, "URL", concat({"at most ", u64{limits.bytes}, " bytes"}), "more");
  if (status == CURLE_HTTP_RETURNED_ERROR) {
    long code = 0;
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &code);
    throw Error(errc::file, {}, "URL", "an answer with status 200", concat({"status ", i64{code}}));
  }
  throw Error(errc::file, {}, "URL", "an answer", curl_easy_strerror(status));
}

}  // namespace cke::fetch
