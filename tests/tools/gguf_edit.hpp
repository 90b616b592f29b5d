// SPDX-License-Identifier: MIT
// gguf_edit.hpp: the metadata of a GGUF file taken apart, changed and put together again, right or wrong.
#pragma once

#include <cstdint>
#include <cstring>

#include "command.hpp"

namespace command {

enum class gguf_kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

template <class T> std::string bytes_of(T value) {
  std::string out(sizeof value, 0);
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}
inline std::string gguf_string(std::string_view text) { return bytes_of(std::uint64_t{text.size()}).append(text); }

struct gguf_edit {
  struct entry {
    std::string key;
    gguf_kind kind{};
    std::string value;  // its bytes
  };
  std::vector<entry> entries;

  explicit gguf_edit(const fs::path& path) : bytes_(content(path)) {
    at_ = 8;
    tensors_ = take<std::uint64_t>();
    const auto count = take<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) {
      entry e;
      const auto size = take<std::uint64_t>();
      e.key = bytes_.substr(at_, size), at_ += size;
      e.kind = take<gguf_kind>();
      const std::size_t begin = at_;
      skip(e.kind);
      e.value = bytes_.substr(begin, at_ - begin);
      entries.push_back(std::move(e));
    }
    infos_ = at_;
    for (std::uint64_t i = 0; i < tensors_; ++i) {
      skip(gguf_kind::string);
      const auto rank = take<std::uint32_t>();
      at_ += 8 * rank + 4 + 8;
    }
    infos_end_ = at_;
  }

  std::string text() const {
    std::string out = bytes_.substr(0, 8) + bytes_of(tensors_) + bytes_of(std::uint64_t{entries.size()});
    for (const entry& e : entries) out += gguf_string(e.key) + bytes_of(e.kind) + e.value;
    out += bytes_.substr(infos_, infos_end_ - infos_);
    out.resize((out.size() + 31) / 32 * 32);
    return out += bytes_.substr((infos_end_ + 31) / 32 * 32);
  }

 private:
  template <class T> T take() {
    REQUIRE(at_ + sizeof(T) <= bytes_.size());
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  void skip(gguf_kind kind) {
    static constexpr unsigned sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (kind == gguf_kind::string) {
      const auto size = take<std::uint64_t>();
      at_ += size;
    } else if (kind == gguf_kind::array) {
      const auto of = take<gguf_kind>();
      for (auto n = take<std::uint64_t>(); n > 0; --n) skip(of);
    } else {
      at_ += sizes[static_cast<unsigned>(kind)];
    }
  }

  std::string bytes_;
  std::size_t at_ = 0, infos_ = 0, infos_end_ = 0;
  std::uint64_t tensors_ = 0;
};

}  // namespace command
