// SPDX-License-Identifier: MIT
// pooling.hpp: the hidden states of a text's tokens as one vector, its embedding.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "../core/error.hpp"
#include "../core/row_sink.hpp"

namespace cke::text {

enum class pooling : u8 {
  last,  // the last token's: what causal models are trained for
  mean,  // of all tokens
  cls,   // the first token's
};
inline constexpr std::string_view pooling_names[] = {"last", "mean", "cls"};

struct embed_options {
  text::pooling pooling = text::pooling::last;
  u32 dimensions = 0;      // only the first so many, for models that were trained for it; 0: all
  bool normalised = true;  // of length 1
};

// Gathers the rows of one text, in order. Sums are of double precision, so that an embedding depends on
// nothing but its rows.
class pooled {
 public:
  // For `tokens` rows of `dim` numbers.
  pooled(const embed_options& how, u32 tokens, u32 dim) : how_(how), tokens_(tokens), sum_(dim) {}

  void add(const float* row) {
    ++taken_;
    const bool wanted = how_.pooling == pooling::mean || taken_ == (how_.pooling == pooling::cls ? 1 : tokens_);
    if (!wanted) return;
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += static_cast<double>(row[i]);
  }
  row_sink sink() {
    return {[](void* user, u32, const float* row) { static_cast<pooled*>(user)->add(row); }, this};
  }

  // Of all rows. Throws config_range where a model's numbers are no longer finite.
  std::vector<float> embedding() const {
    const std::size_t kept = how_.dimensions ? std::min<std::size_t>(how_.dimensions, sum_.size()) : sum_.size();
    const double count = how_.pooling == pooling::mean ? tokens_ : 1;
    double square = 0;
    for (std::size_t i = 0; i < kept; ++i) square += (sum_[i] / count) * (sum_[i] / count);
    if (!std::isfinite(square)) throw Error(errc::config_range, {}, "embedding", "finite numbers", "others");
    const double length = how_.normalised ? std::max(std::sqrt(square), 1e-12) : 1;
    std::vector<float> out(kept);
    for (std::size_t i = 0; i < kept; ++i) out[i] = static_cast<float>(sum_[i] / count / length);
    return out;
  }

 private:
  embed_options how_;
  u32 tokens_, taken_ = 0;
  std::vector<double> sum_;
};

}  // namespace cke::text
