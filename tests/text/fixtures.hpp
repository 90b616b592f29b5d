// SPDX-License-Identifier: MIT
// fixtures.hpp: reads tests/data/tokenizers, and makes small vocabularies by hand.
#pragma once

#include <doctest/doctest.h>

#include <cke/text/tokenizer/tokenizer.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace fixtures {

using cke::u32;

inline std::string path(const std::string& name) { return std::string(CKE_TEST_DATA "/tokenizers/") + name; }

inline std::string content(const std::string& name) {
  std::ifstream in(path(name), std::ios::binary);
  REQUIRE_MESSAGE(in.good(), path(name));
  return {std::istreambuf_iterator<char>(in), {}};
}

// Little-endian numbers and strings, one after the other.
class reader {
 public:
  explicit reader(std::string bytes) : bytes_(std::move(bytes)) {}
  bool done() const { return at_ == bytes_.size(); }
  u32 number() {
    u32 n = 0;
    REQUIRE(bytes_.size() - at_ >= sizeof n);
    std::memcpy(&n, bytes_.data() + at_, sizeof n);
    at_ += sizeof n;
    return n;
  }
  std::string text() {
    const u32 size = number();
    REQUIRE(bytes_.size() - at_ >= size);
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

struct encoding {
  cke::text::encode_options options;
  std::string text;
  std::vector<u32> ids;
};

inline std::vector<encoding> encodings(const std::string& name) {
  std::vector<encoding> all;
  for (reader in(content(name)); !in.done();) {
    const u32 flags = in.number();
    encoding e{{.parse_special = (flags & 1) != 0, .add_special = (flags & 2) != 0}, in.text(), {}};
    e.ids.resize(in.number());
    for (u32& id : e.ids) id = in.number();
    all.push_back(std::move(e));
  }
  REQUIRE(all.size() > 100);
  return all;
}

// Adds a token and returns its id.
inline u32 add(cke::text::vocabulary& v, std::string_view text,
               cke::text::token_type type = cke::text::token_type::normal) {
  v.tokens.emplace_back(text);
  v.types.push_back(type);
  return static_cast<u32>(v.tokens.size() - 1);
}

inline void add_merge(cke::text::vocabulary& v, std::string_view left, std::string_view right) {
  const auto id = [&](std::string_view text) {
    const auto at = std::ranges::find(v.tokens, text);
    return at != v.tokens.end() ? static_cast<u32>(at - v.tokens.begin()) : add(v, text);
  };
  const u32 a = id(left), b = id(right);
  v.merges.push_back({a, b, id(std::string(left) + std::string(right))});
}

// Byte-level BPE in which id b is the byte b, and nothing merges yet.
inline cke::text::vocabulary bytes_only() {
  cke::text::vocabulary v;
  for (u32 b = 0; b < 256; ++b) add(v, std::string(1, static_cast<char>(b)));
  return v;
}

// What went wrong in f(): the error's text, or "" when nothing did.
template <class F> std::string error_of(F&& f) {
  try {
    f();
    return {};
  } catch (const cke::Error& e) { return e.what(); }
}

}  // namespace fixtures
