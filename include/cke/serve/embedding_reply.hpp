// SPDX-License-Identifier: MIT
// embedding_reply.hpp: the answer of /v1/embeddings.
#pragma once

#include <bit>

#include "../text/number_text.hpp"
#include "reply.hpp"

namespace cke::serve {

namespace detail {

inline std::string base64(std::span<const unsigned char> bytes) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    u32 group = 0;
    const std::size_t n = std::min<std::size_t>(bytes.size() - i, 3);
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < n ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace detail

class embedding_reply final : public reply {
 public:
  // Text i belongs to order i % orders; an order delivers its texts in order.
  embedding_reply(const served_model& model, std::size_t texts, std::size_t orders, bool as_base64)
      : model_(model), base64_(as_base64), vectors_(texts), told_(orders), counts_(orders) {}

  std::string take(std::size_t i, delivery d) override {
    counts_[i] = d.counts;
    for (const piece& p : d.pieces)
      vectors_[i + told_.size() * told_[i]++] =
          base64_ ? base64_text(p.embedding) : '[' + numbers_text(p.embedding, ",") + ']';
    return {};
  }
  std::string whole() override {
    u64 tokens = 0;
    for (const token_counts& c : counts_) tokens += c.prompt;
    std::string out = R"({"object":"list","data":[)";
    for (std::size_t i = 0; i < vectors_.size(); ++i)
      out += (i ? "," : "") + (R"({"object":"embedding","index":)" + std::to_string(i)) + R"(,"embedding":)" +
          std::exchange(vectors_[i], {}) + '}';
    return out + R"(],"model":)" + dump(model_.id) + R"(,"usage":)" +
        dump({{"prompt_tokens", tokens}, {"total_tokens", tokens}}) + '}';
  }

 private:
  // The bytes of little-endian f32, as numpy reads them.
  static std::string base64_text(std::span<const float> numbers) {
    static_assert(std::endian::native == std::endian::little);
    return '"' + detail::base64({reinterpret_cast<const unsigned char*>(numbers.data()), numbers.size_bytes()}) + '"';
  }

  const served_model& model_;
  const bool base64_;
  std::vector<std::string> vectors_;  // as JSON
  std::vector<std::size_t> told_;     // vectors delivered by each order
  std::vector<token_counts> counts_;
};

}  // namespace cke::serve
