// SPDX-License-Identifier: MIT
// charsmap.hpp: SentencePiece's precompiled_charsmap: a table of texts and their replacements.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../../core/concat.hpp"
#include "../../../core/error.hpp"

namespace cke::text {

// Format: u32 size in bytes, a double-array trie (Darts) of that size, then the replacements, each terminated by NUL. A
// unit of the array holds the byte that leads to it, whether a text ends there, and where its children are.
class charsmap {
 public:
  struct hit {
    u32 size;  // bytes that match
    std::string_view becomes;
  };

  // Throws Error{malformed}. An empty table changes nothing.
  charsmap(std::string_view blob, const std::string& file, std::string_view subject) {
    if (blob.empty()) return;
    u32 size = 0;
    const auto fail = [&](std::string_view expected, std::size_t found) {
      throw Error(errc::malformed, file, subject, expected, concat({found}));
    };
    if (blob.size() < sizeof size) fail("a size and a table", blob.size());
    std::memcpy(&size, blob.data(), sizeof size);
    blob.remove_prefix(sizeof size);
    if (size > blob.size() || size % sizeof(u32) != 0)
      fail(concat({"a table of at most ", blob.size(), " bytes, in fours"}), size);
    units_.resize(size / sizeof(u32));
    if (size != 0) std::memcpy(units_.data(), blob.data(), size);
    results_ = blob.substr(size);
  }

  // What another one can be made of.
  std::string blob() const {
    const auto size = static_cast<u32>(units_.size() * sizeof(u32));
    if (size == 0 && results_.empty()) return {};
    std::string all(sizeof size + size, '\0');
    std::memcpy(all.data(), &size, sizeof size);
    if (size != 0) std::memcpy(all.data() + sizeof size, units_.data(), size);
    return all + results_;
  }

  // The shortest prefix of the text that is in the table, or the longest.
  std::optional<hit> find(std::string_view text, bool longest) const {
    std::optional<hit> best;
    if (units_.empty()) return best;
    u32 node = offset(units_[0]);
    const std::size_t most = std::min(text.size(), std::size_t{256});  // a damaged table may lead in a circle
    for (u32 i = 0; i < most && text[i] != '\0'; ++i) {
      const u32 byte = static_cast<u8>(text[i]);
      node ^= byte;
      if (node >= units_.size() || (units_[node] & (1u << 31 | 0xFF)) != byte) break;
      const bool ends = (units_[node] >> 8 & 1) != 0;
      node ^= offset(units_[node]);
      if (!ends || node >= units_.size()) continue;
      const std::size_t at = units_[node] & ~(1u << 31);
      const std::string_view rest = std::string_view(results_).substr(std::min(at, results_.size()));
      best = hit{i + 1, rest.substr(0, rest.find('\0'))};
      if (!longest) break;
    }
    return best;
  }

 private:
  static u32 offset(u32 unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }

  std::vector<u32> units_;
  std::string results_;
};

}  // namespace cke::text
