// SPDX-License-Identifier: MIT
// logprobs.cpp: log-probabilities against their definition, evaluated in double.
#include <cke/text/sampling/logprobs.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <vector>

using namespace cke;
using namespace cke::text;
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST_CASE("log_probabilities: the full softmax, and the best in order") {
  const std::vector<float> logits{2.5f, -infinity, 7.25f, 2.5f, -40, 7, 2.5f, 0.125f};
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  const auto expected = [&](u32 id) { return static_cast<double>(logits[id]) - std::log(sum); };

  for (u32 id = 0; id < logits.size(); ++id) {
    const double found = static_cast<double>(log_probabilities(logits, id, {}));
    if (id == 1) {
      CHECK(found == -std::numeric_limits<double>::infinity());
    } else {
      CHECK(found == doctest::Approx(expected(id)).epsilon(1e-6));
    }
  }

  const std::vector<u32> order{2, 5, 0, 3, 6, 7, 4, 1};  // ties by id
  for (std::size_t n = 0; n <= order.size(); ++n) {
    std::vector<token_logprob> top(n);
    log_probabilities(logits, 0, top);
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(top[i].id == order[i]);
      CHECK(top[i].logprob == log_probabilities(logits, order[i], {}));
    }
  }
}

TEST_CASE("log_probabilities: huge logits do not overflow") {
  const std::vector<float> logits{3e38f, 3e38f, -3e38f};
  CHECK(log_probabilities(logits, 1, {}) == doctest::Approx(-0.6931472).epsilon(1e-6));
}

TEST_CASE("log_probabilities: bad arguments are typed errors") {
  const std::vector<float> logits{1, 2, 3};
  std::vector<token_logprob> top(4);
  const auto code = [&](u32 chosen, std::size_t n) -> std::optional<errc> {
    try {
      log_probabilities(logits, chosen, std::span(top).first(n));
    } catch (const Error& e) { return e.code; }
    return std::nullopt;
  };
  CHECK(code(2, 3) == std::nullopt);
  CHECK(code(3, 3) == errc::token_range);
  CHECK(code(2, 4) == errc::usage);
  CHECK_THROWS_AS(log_probabilities({}, 0, {}), Error);
}
