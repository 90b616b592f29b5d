// SPDX-License-Identifier: MIT
// bundle_file.hpp: a bundle as bytes, to be damaged, and signed again where the damage is to look like a bundle.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>

#include <cke/core/xxh64.hpp>

#include "command.hpp"

namespace command {

struct bundle_file {
  static constexpr std::size_t header_bytes = 48, manifest_at = header_bytes;

  std::string bytes;
  explicit bundle_file(const fs::path& path) : bytes(content(path)) { REQUIRE(bytes.size() > header_bytes); }

  cke::u64 number(std::size_t at) const {
    cke::u64 n;
    std::memcpy(&n, bytes.data() + at, sizeof n);
    return n;
  }
  void set(std::size_t at, cke::u64 n) { std::memcpy(bytes.data() + at, &n, sizeof n); }
  static cke::u64 sum(std::string_view part) { return cke::xxh64::of(std::as_bytes(std::span(part))); }

  std::size_t manifest_bytes() const { return number(24); }
  std::string manifest_text() const { return bytes.substr(manifest_at, manifest_bytes()); }
  nlohmann::json manifest() const { return nlohmann::json::parse(manifest_text()); }
  std::size_t vocabulary_at() const { return manifest()["vocabulary"]["offset"]; }
  std::size_t weights_at() const { return manifest()["weights"]["offset"]; }

  // The header of what the file is now.
  void sign() {
    set(16, bytes.size());
    set(32, sum(std::string_view(bytes).substr(manifest_at, manifest_bytes())));
    set(40, sum(std::string_view(bytes).substr(0, 40)));
  }
  // Another manifest, which must fit before the parts.
  void put_manifest(const std::string& text) {
    const std::size_t room = vocabulary_at() - manifest_at;
    REQUIRE(text.size() <= room);
    bytes.replace(manifest_at, room, text + std::string(room - text.size(), '\0'));
    set(24, text.size());
    sign();
  }
};

}  // namespace command
