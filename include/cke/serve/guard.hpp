// SPDX-License-Identifier: MIT
// guard.hpp: access control: host names (against DNS rebinding), origins, API keys.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../core/error.hpp"

namespace cke::serve {

struct guard_options {
  std::vector<std::string> hosts;  // names that a browser may use for this server, besides the loopback's
  std::vector<std::string> keys;   // none: no key is needed
  std::string cors_origin;         // whose pages may read answers; empty: this server's alone
};

// The keys in a file's text, one a line. Throws Error{config_range} for a key that is too easy to guess, for one that
// is there twice, since a key's number is what its prompts and images are kept under, and for no key.
inline std::vector<std::string> parse_keys(std::string_view text, const std::string& file) {
  std::vector<std::string> keys;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const bool visible = std::ranges::all_of(line, [](char c) { return c > 32 && c < 127; });
    if (!visible || line.size() < 16 || line.size() > 256)
      throw Error(errc::config_range, file, "API key " + std::to_string(keys.size() + 1),
                  "16 to 256 visible ASCII characters", std::to_string(line.size()) + " bytes");
    if (const auto same = std::ranges::find(keys, line); same != keys.end())
      throw Error(errc::config_range, file, "API key " + std::to_string(keys.size() + 1), "one that is not there yet",
                  "key " + std::to_string(same - keys.begin() + 1) + " again");
    keys.emplace_back(line);
  }
  if (keys.empty()) throw Error(errc::config_range, file, "API keys", "at least one line", "none");
  return keys;
}

// For Access-Control-Allow-Headers of an origin that is allowed: the headers that requests need here, and of those that
// a preflight asks for the ones whose names are HTTP's tokens, as far as 1 KiB goes. OpenAI's client sends some of its
// own.
inline std::string allowed_headers(std::string_view asked) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  const auto in_name = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || marks.find(c) != marks.npos;
  };
  std::string all = "authorization, content-type";
  while (!asked.empty()) {
    const std::size_t end = std::min(asked.find(','), asked.size());
    std::string_view name = asked.substr(0, end);
    asked.remove_prefix(std::min(end + 1, asked.size()));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (all.size() + 2 + name.size() > 1024) break;
    if (!name.empty() && std::ranges::all_of(name, in_name)) (all += ", ") += name;
  }
  return all;
}

class guard {
 public:
  explicit guard(guard_options options) : options_(std::move(options)) {
    for (std::string& host : options_.hosts) host = lower(host);
  }

  bool asks_for_keys() const { return !options_.keys.empty(); }

  // A page of evil.com whose name now resolves to this machine still sends "Host: evil.com".
  bool knows_host(std::string_view header) const {
    if (header.ends_with(']') == false)  // [::1] has colons of its own
      if (const std::size_t colon = header.rfind(':'); colon != header.npos) {
        const std::string_view port = header.substr(colon + 1);
        if (port.empty() || port.find_first_not_of("0123456789") != port.npos) return false;
        header = header.substr(0, colon);
      }
    const std::string name = lower(header);
    return name == "localhost" || name == "127.0.0.1" || name == "[::1]" ||
        std::ranges::find(options_.hosts, name) != options_.hosts.end();
  }

  bool allows_origin(std::string_view origin) const {
    return !options_.cors_origin.empty() && origin == options_.cors_origin;
  }

  // The number of the key in "Bearer KEY", 1 for the first; 0 if no key is needed. Takes the same time for every wrong
  // key.
  std::optional<u32> key_of(std::string_view authorization) const {
    if (!asks_for_keys()) return 0;
    constexpr std::string_view scheme = "bearer ";
    const bool bearer = authorization.size() > scheme.size() && lower(authorization.substr(0, scheme.size())) == scheme;
    const padded given(bearer ? authorization.substr(scheme.size()) : std::string_view{});
    u32 found = 0;
    for (u32 i = 0; i < options_.keys.size(); ++i) {
      const u32 same = given.equals(padded(options_.keys[i]));
      found |= (0 - same) & (i + 1);
    }
    return found ? std::optional(found) : std::nullopt;
  }

 private:
  // A key padded to a fixed size, so that comparisons take constant time.
  struct padded {
    std::array<unsigned char, 257> bytes{};
    std::size_t size;
    explicit padded(std::string_view key) : size(key.size()) {
      std::copy_n(key.begin(), std::min(key.size(), bytes.size()), bytes.begin());
    }
    // 1 or 0, without a branch on the bytes
    u32 equals(const padded& other) const {
      std::size_t differ = size ^ other.size;
      for (std::size_t i = 0; i < bytes.size(); ++i) differ |= static_cast<std::size_t>(bytes[i] ^ other.bytes[i]);
      asm volatile("" : "+r"(differ));  // keeps the compiler from leaving the loop early
      return static_cast<u32>(((differ | (0 - differ)) >> (8 * sizeof differ - 1)) ^ 1);
    }
  };
  static std::string lower(std::string_view s) {
    std::string out(s);
    for (char& c : out)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    return out;
  }

  guard_options options_;
};

}  // namespace cke::serve
