// SPDX-License-Identifier: MIT
// sampling.hpp: the sampling settings.
#pragma once

#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "../../core/error.hpp"
#include "../../core/types.hpp"

CKE_COLD_BEGIN
namespace cke::text {

// Added to the logit of `id`; -infinity bans the token. Entries with the same id add up.
struct token_bias {
  u32 id;
  float bias;
};

// The defaults are greedy decoding. Settings apply in the order of transformers' logits processors, each to the result
// of the one before: logit_bias, repetition_penalty, frequency_penalty, presence_penalty, temperature, top_k, top_p,
// min_p, typical_p.
struct sampling {
  float temperature = 0;  // [0, inf); 0 is greedy: the highest logit, ties to the lowest id
  u32 top_k = 0;          // keep the k highest and ties with the k-th; 0 is off
  float top_p = 1;        // [0, 1]; keep the fewest most probable tokens that reach top_p; 1 is off
  float min_p = 0;        // [0, 1]; keep tokens of at least min_p times the highest probability; 0 is off
  float typical_p = 1;    // (0, 1]; keep the fewest most typical tokens that reach it; 1 is off
  // For tokens among the last repeat_last_n of the history: logit / repetition_penalty (times, if negative), minus
  // frequency_penalty per occurrence, minus presence_penalty once.
  float repetition_penalty = 1;  // (0, 100]; 1 is off
  float frequency_penalty = 0;   // [-2, 2]; 0 is off
  float presence_penalty = 0;    // [-2, 2]; 0 is off
  u32 repeat_last_n = 64;        // 0: no penalties; ~0u: the whole history, as in transformers
  std::vector<token_bias> logit_bias{};
  u64 seed = 0;

  // Throws errc::config_range, naming the first field that is out of range.
  void validate() const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const auto check = [](bool good, const char* field, const char* range, float found) {
      if (good) return;
      char text[32];
      std::snprintf(text, sizeof text, "%g", static_cast<double>(found));
      throw Error(errc::config_range, "", std::string("sampling.") + field, range, text);
    };
    const auto in = [](float x, float low, float high) { return x >= low && x <= high; };
    for (const auto& [id, bias] : logit_bias) check(bias < infinity, "logit_bias", "a number or -inf", bias);
    check(repetition_penalty > 0 && repetition_penalty <= 100, "repetition_penalty", "a number in (0, 100]",
          repetition_penalty);
    check(in(frequency_penalty, -2, 2), "frequency_penalty", "a number in [-2, 2]", frequency_penalty);
    check(in(presence_penalty, -2, 2), "presence_penalty", "a number in [-2, 2]", presence_penalty);
    check(temperature >= 0 && temperature < infinity, "temperature", "a number in [0, inf)", temperature);
    check(in(top_p, 0, 1), "top_p", "a number in [0, 1]", top_p);
    check(in(min_p, 0, 1), "min_p", "a number in [0, 1]", min_p);
    check(typical_p > 0 && typical_p <= 1, "typical_p", "a number in (0, 1]", typical_p);
  }
};

}  // namespace cke::text
CKE_COLD_END
