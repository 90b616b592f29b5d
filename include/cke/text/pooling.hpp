// SPDX-License-Identifier: MIT
// pooling.hpp: pools the hidden states of a text's tokens into one vector, its embedding.
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
  last,  // the last token's, for which causal models are trained
  mean,  // the mean over all tokens
  cls,   // the first token's
};
inline constexpr std::string_view pooling_names[] = {"last", "mean", "cls"};

struct embed_options {
  text::pooling pooling = text::pooling::last;
  u32 dimensions = 0;      // truncate to this length, for models trained for it; 0: all
  bool normalised = true;  // scale to length 1
};

// Collects the rows of one text, in order, and sums them in double precision.
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

  // The embedding of all rows. Throws config_range if a number is not finite.
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
