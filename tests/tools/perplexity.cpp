// SPDX-License-Identifier: MIT
// perplexity.cpp: cke perplexity against sums over the rows that cke logits writes for the same windows.
#include <cmath>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "npy.hpp"

namespace perplexity_test {

using namespace command;
using nlohmann::json;

namespace {

const std::string text =
    "Once upon a time there was a small dog. The dog ran to the sea, and the sea was blue.\n"
    "A person: Who are you? I am Tiny, a small language model. I can tell stories.\n"
    "The cat sat in a tree. The dog sat under the tree. It was a good day for all of them.\n";

std::vector<double> log_probabilities(const float* row, std::size_t n) {
  const double most = *std::max_element(row, row + n);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(row[i] - most);
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = row[i] - most - std::log(sum);
  return out;
}
double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}
double standard_error(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += (v - mean(x)) * (v - mean(x));
  const auto n = static_cast<double>(x.size());
  return std::sqrt(sum / (n - 1) / n);
}

}  // namespace

TEST_CASE("perplexity: the sums over logits, each token once, and how far it is from a reference") {
  const scratch dir;
  write(dir / "text.txt", text);
  const json ids = json::parse(run_cke({"tokenize", tiny, "-p", text}).out);
  constexpr std::size_t length = 24, stride = 7;
  REQUIRE(ids.size() > 3 * length);

  std::vector<double> loss, reference_loss, kl;
  std::size_t windows = 0, same = 0, largest_at = 0;
  double largest = 0;
  for (std::size_t begin = 0, done = 1; done < ids.size(); begin += stride, ++windows) {
    const std::size_t end = std::min(begin + length, ids.size());
    std::string part;
    for (std::size_t i = begin; i < end; ++i) part += (part.empty() ? "" : ",") + ids[i].dump();
    run_cke({"logits", tiny, "--format", "q8_0", "--tokens", part, "-o", dir / "q.npy"});
    run_cke({"logits", tiny, "--tokens", part, "-o", dir / "p.npy"});
    const npy q(dir / "q.npy"), p(dir / "p.npy");
    for (std::size_t t = done; t < end; ++t) {
      const std::size_t at = (t - 1 - begin) * q.columns;
      const auto mine = log_probabilities(&q.values[at], q.columns), ref = log_probabilities(&p.values[at], p.columns);
      loss.push_back(-mine[ids[t]]), reference_loss.push_back(-ref[ids[t]]);
      double sum = 0;
      for (std::size_t i = 0; i < mine.size(); ++i) {
        sum += std::exp(ref[i]) * (ref[i] - mine[i]);
        const double apart = std::abs(std::exp(ref[i]) - std::exp(mine[i]));
        if (apart > largest) largest = apart, largest_at = t;
      }
      kl.push_back(sum);
      same += std::ranges::max_element(mine) - mine.begin() == std::ranges::max_element(ref) - ref.begin();
    }
    done = end;
  }
  REQUIRE(loss.size() == ids.size() - 1);

  const std::vector<std::string> words{"perplexity", tiny,       "-f", dir / "text.txt", "-c", "24",    "--format",
                                       "q8_0",       "--stride", "7",  "--against",      tiny, "--json"};
  const result r = run_cke(words);
  CHECK_SUCCESS(r);
  const json j = json::parse(r.out), a = j["against"];
  const auto near = [](const json& got, double want) {
    CHECK(got.get<double>() == doctest::Approx(want).epsilon(1e-9));
  };
  CHECK(j["tokens"] == ids.size());
  CHECK(j["scored"] == loss.size());
  CHECK(j["windows"] == windows);
  CHECK(j["window"] == length);
  CHECK(j["stride"] == stride);
  near(j["perplexity"], std::exp(mean(loss)));
  near(j["standard_error"], std::exp(mean(loss)) * standard_error(loss));
  near(a["perplexity"], std::exp(mean(reference_loss)));
  near(a["standard_error"], std::exp(mean(reference_loss)) * standard_error(reference_loss));
  near(a["mean_kl"], mean(kl));
  near(a["mean_kl_standard_error"], standard_error(kl));
  near(a["top1_agreement"], static_cast<double>(same) / static_cast<double>(loss.size()));
  near(a["largest_difference"], largest);
  CHECK(a["largest_difference_at"] == largest_at);
  CHECK(mean(kl) > 0);

  // The same bits for any threads and pieces, and the same figures for people.
  std::vector<std::string> other = words;
  other.insert(other.end(), {"-t", "3", "--chunk", "5"});
  CHECK(run_cke(other).out == r.out);
  other = words;
  other.pop_back();
  const std::string shown = run_cke(other).out;
  char figure[32];
  std::snprintf(figure, sizeof figure, "%.4f ± ", std::exp(mean(loss)));
  CHECK(shown.find(figure) != shown.npos);
  CHECK(shown.find(std::to_string(windows) + " of 24 tokens, every 7\n") != shown.npos);
}

TEST_CASE("perplexity: a model is no way from itself, and half a context is the stride") {
  const scratch dir;
  write(dir / "text.txt", text);
  const result r = run_cke({"perplexity", tiny, "-f", dir / "text.txt", "-c", "32", "--against", tiny, "--json"});
  CHECK_SUCCESS(r);
  const json j = json::parse(r.out), a = j["against"];
  CHECK(j["stride"] == 16);
  CHECK(a["mean_kl"] == 0);
  CHECK(a["top1_agreement"] == 1);
  CHECK(a["largest_difference"] == 0);
  CHECK(a["perplexity"] == j["perplexity"]);
}

TEST_CASE("perplexity: what cannot be scored is refused") {
  const scratch dir;
  write(dir / "text.txt", text), write(dir / "empty.txt", "");
  const std::string file = dir / "text.txt";
  CHECK_REFUSED(run_cke({"perplexity", tiny, "-f", file}),
                "text.txt: text: expected at least one context, 2048 tokens");
  CHECK_REFUSED(run_cke({"perplexity", tiny, "-f", dir / "empty.txt", "-c", "8"}), "found 0");
  CHECK_REFUSED(run_cke({"perplexity", tiny, "-f", dir / "none.txt", "-c", "8"}), "none.txt");
  CHECK_REFUSED(run_cke({"perplexity", models + "llama_untied", "-f", file}), "tokenizer");
  CHECK_REFUSED(run_cke({"perplexity", tiny, "-f", file, "-c", "8", "--against", models + "llama_untied"}),
                "--against: expected the vocabulary of");
  for (const auto& [words, message] :
       {std::pair<std::vector<std::string>, const char*>{
            {"-c", "8", "--stride", "8"}, "--stride: expected less than the context of 8 tokens, found 8"},
        {{"-c", "8", "--stride", "0"}, "--stride: expected a whole number from 1 to 16777216, found \"0\""},
        {{"-c", "1"}, "--stride: expected less than the context of 1 tokens, found 1"}}) {
    std::vector<std::string> all{"perplexity", tiny, "-f", file};
    all.insert(all.end(), words.begin(), words.end());
    const result r = run_cke(all);
    CHECK_MESSAGE((is_refusal(r, 2) && r.err.find(message) != r.err.npos), show(r));
  }
  CHECK(run_cke({"perplexity", tiny}).status == 2);
}

}  // namespace perplexity_test
