// SPDX-License-Identifier: MIT
// sampler.cpp: the sampler against transformers' logits processors, and its own promises.
#include <cke/text/sampling/sampler.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <new>
#include <sstream>

// Counts every allocation of this program. Not inlined, or g++ 12 calls new and free a mismatch.
static std::size_t allocations = 0;
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace sampler_test {

using namespace cke;
using namespace cke::text;
namespace {

using ids = std::vector<u32>;
constexpr float infinity = std::numeric_limits<float>::infinity();

u32 mix(u32 x) {
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

// The logits of tests/data/sampling/make.py, to the bit.
struct recipe {
  u32 vocab, salt;
  double spread;
  u32 power;
  double step = 0;
  u32 banned = 0;
};
std::vector<float> make_logits(const recipe& r) {
  std::vector<float> out(r.vocab);
  for (u32 id = 0; id < r.vocab; ++id) {
    const double u = mix(id + r.salt) * 0x1p-32;
    double x = u;
    for (u32 i = 1; i < r.power; ++i) x *= u;
    x *= 2 * r.spread;
    x -= r.spread;
    if (r.step > 0) x = std::floor(x / r.step) * r.step;
    out[id] = r.banned && id % r.banned == 0 ? -infinity : static_cast<float>(x);
  }
  return out;
}

// A distribution like a language model's: a few likely tokens and a long tail.
std::vector<float> peaked_logits(u32 vocab) {
  return make_logits({.vocab = vocab, .salt = 3, .spread = 14, .power = 40});
}

struct fixture {
  std::string name;
  std::vector<float> logits;
  sampling settings;
  ids history;
  std::size_t kept = 0;
  u64 id_sum = 0;
  std::vector<std::pair<u32, double>> best;
};

// Reads words of the form KEY<separator>VALUE to the end of the line.
template <class Use> static void each_pair(std::istream& line, char separator, Use use) {
  for (std::string word; line >> word;) {
    const auto middle = word.find(separator);
    use(word.substr(0, middle), std::stod(word.substr(middle + 1)));
  }
}

std::vector<fixture> read_fixtures() {
  std::ifstream file(CKE_TEST_DATA "/sampling/cases.txt");
  REQUIRE(file.is_open());
  std::vector<fixture> out;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "case") {
      auto& f = out.emplace_back();
      f.name = text;
      std::map<std::string, double> value;
      each_pair(line, '=', [&](const std::string& key, double x) { value[key] = x; });
      const auto real = [&](const char* key) { return static_cast<float>(value.at(key)); };
      const auto whole = [&](const char* key) { return static_cast<u32>(value.at(key)); };
      f.logits = make_logits(
          {whole("vocab"), whole("salt"), value.at("spread"), whole("power"), value.at("step"), whole("banned")});
      f.settings = {.temperature = real("temperature"),
                    .top_k = whole("top_k"),
                    .top_p = real("top_p"),
                    .min_p = real("min_p"),
                    .typical_p = real("typical_p"),
                    .repetition_penalty = real("repetition_penalty"),
                    .frequency_penalty = real("frequency_penalty"),
                    .presence_penalty = real("presence_penalty"),
                    .repeat_last_n = whole("repeat_last_n")};
    } else if (kind == "bias") {
      each_pair(line, ':', [&](const std::string& id, double bias) {
        out.back().settings.logit_bias.push_back({static_cast<u32>(std::stoul(id)), static_cast<float>(bias)});
      });
    } else if (kind == "history") {
      for (u32 id = 0; line >> id;) out.back().history.push_back(id);
    } else if (kind == "kept") {
      line >> out.back().kept >> out.back().id_sum;
    } else if (kind == "best") {
      each_pair(line, ':', [&](const std::string& id, double p) { out.back().best.emplace_back(std::stoul(id), p); });
    }
  }
  return out;
}

TEST_CASE("sampler: kept set and probabilities of transformers' logits processors") {
  const auto fixtures = read_fixtures();
  REQUIRE(fixtures.size() > 40);
  for (const auto& f : fixtures) {
    CAPTURE(f.name);
    sampler s(static_cast<u32>(f.logits.size()), f.settings);
    const u32 chosen = s.sample(f.logits, f.history, 7);

    const double total = s.total();
    u64 id_sum = 0;
    std::map<u32, double> probability;
    for (const auto& c : s.kept()) {
      id_sum += c.id;
      probability[c.id] = static_cast<double>(c.weight) / total;
    }
    CHECK(probability.count(chosen) == 1);
    CHECK(s.kept().size() == f.kept);
    CHECK(id_sum == f.id_sum);
    for (const auto& [id, p] : f.best) {
      CAPTURE(id);
      REQUIRE(probability.count(id) == 1);
      CHECK(probability[id] == doctest::Approx(p).epsilon(4e-6));
    }
  }
}

TEST_CASE("sampler: greedy takes the highest, ties to the lowest id, never -inf") {
  sampler greedy(5, {});
  CHECK(greedy.sample(std::vector<float>{-3, 2, 2, -infinity, 1}, {}, 0) == 1);
  CHECK(greedy.sample(std::vector<float>{-infinity, -infinity, -9, -infinity, -9}, {}, 0) == 2);
  CHECK(greedy.sample(std::vector<float>{-0.0f, 0, 0, 0, 0}, {}, 0) == 0);
  REQUIRE(greedy.kept().size() == 1);
  CHECK(greedy.kept()[0].id == 0);
  CHECK(greedy.total() == 1);

  sampler biased(5, {.repetition_penalty = 2, .logit_bias = {{1, -infinity}, {4, 0.25f}, {4, 0.25f}}});
  CHECK(biased.sample(std::vector<float>{1, 9, 1.25f, 0, 1}, {}, 0) == 4);         // 1.5 beats 1.25
  CHECK(biased.sample(std::vector<float>{1, 9, 1.25f, 0, 1}, ids{4, 4}, 0) == 2);  // 0.75, once
}

TEST_CASE("sampler: whatever is -inf is never chosen, at any temperature and any draw") {
  std::vector<float> logits(64, -infinity);
  logits[10] = -80;
  logits[63] = 0;
  logits[40] = -infinity;
  for (const float temperature : {1e-30f, 0.1f, 1.0f, 1e4f}) {
    sampler s(64, {.temperature = temperature, .logit_bias = {{20, 5}}});
    for (u64 position = 0; position < 200; ++position) {
      const u32 id = s.sample(logits, {}, position);
      CHECK_UNARY(id == 63 || id == 10);
      if (temperature < 1) CHECK(id == 63);
    }
  }
}

TEST_CASE("sampler: logits that cannot be sampled are typed errors, greedy or not") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float temperature : {0.0f, 0.7f}) {
    sampler s(3, {.temperature = temperature, .top_k = 2});
    const auto message = [&](std::vector<float> logits) -> std::string {
      try {
        s.sample(logits, {}, 0);
      } catch (const Error& e) { return e.what(); }
      return "no error";
    };
    CHECK(message({1, nan, 2}) == "logit of token 1: expected a finite number or -inf, found nan");
    CHECK(message({nan, 1, 2}) == "logit of token 0: expected a finite number or -inf, found nan");
    CHECK(message({1, 2, infinity}) == "logit of token 2: expected a finite number or -inf, found inf");
    CHECK(message({-infinity, -infinity, -infinity}) == "logits: expected at least one above -inf, found none");
    CHECK(message({1, 2}) == "logits: expected 3, found 2");
    CHECK(message({1, 2, 3}) == "no error");
  }
}

TEST_CASE("sampling: a field out of range is an error that names it") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto message = [](sampling s) -> std::string {
    try {
      sampler checked(10, s);
    } catch (const Error& e) { return e.what(); }
    return "no error";
  };
  CHECK(message({.temperature = -1}) == "sampling.temperature: expected a number in [0, inf), found -1");
  CHECK(message({.temperature = nan}) == "sampling.temperature: expected a number in [0, inf), found nan");
  CHECK(message({.temperature = infinity}) == "sampling.temperature: expected a number in [0, inf), found inf");
  CHECK(message({.top_p = 1.5f}) == "sampling.top_p: expected a number in [0, 1], found 1.5");
  CHECK(message({.top_p = nan}) == "sampling.top_p: expected a number in [0, 1], found nan");
  CHECK(message({.min_p = -0.25f}) == "sampling.min_p: expected a number in [0, 1], found -0.25");
  CHECK(message({.typical_p = 0}) == "sampling.typical_p: expected a number in (0, 1], found 0");
  CHECK(message({.repetition_penalty = 0}) == "sampling.repetition_penalty: expected a number in (0, 100], found 0");
  CHECK(message({.frequency_penalty = 3}) == "sampling.frequency_penalty: expected a number in [-2, 2], found 3");
  CHECK(message({.presence_penalty = -3}) == "sampling.presence_penalty: expected a number in [-2, 2], found -3");
  CHECK(message({.logit_bias = {{3, nan}}}) == "sampling.logit_bias: expected a number or -inf, found nan");
  CHECK(message({.logit_bias = {{9, 1}, {10, 1}}}) == "sampling.logit_bias: expected an id below 10, found 10");
  CHECK(message({.top_p = 0, .min_p = 1, .typical_p = 1, .logit_bias = {{9, -infinity}}}) == "no error");
}

TEST_CASE("sampler: the choice is a function of logits, history, seed and position") {
  const auto logits = peaked_logits(5000);
  const sampling settings{.temperature = 1.5f, .top_p = 0.9f, .frequency_penalty = 1, .seed = 99};
  const auto choices = [&](sampling with) {
    sampler s(5000, std::move(with));
    ids out;
    for (u64 position = 0; position < 60; ++position) out.push_back(s.sample(logits, out, position));
    return out;
  };
  const auto first = choices(settings);
  CHECK(choices(settings) == first);
  auto other = settings;
  other.seed = 100;
  CHECK(choices(other) != first);

  // What a sampler did before does not matter.
  sampler used(5000, settings);
  used.sample(logits, first, 3);
  CHECK(used.sample(logits, ids(first.begin(), first.begin() + 20), 20) == first[20]);
}

TEST_CASE("sampler: draws follow the probabilities") {
  const std::vector<float> logits{std::log(0.5f), -infinity, std::log(0.3f), std::log(0.2f)};
  sampler s(4, {.temperature = 1, .seed = 5});
  std::array<double, 4> count{};
  constexpr u32 n = 20'000;
  for (u64 position = 0; position < n; ++position) count[s.sample(logits, {}, position)] += 1;
  CHECK(count[0] / n == doctest::Approx(0.5).epsilon(0.03));
  CHECK(count[1] == 0);
  CHECK(count[2] / n == doctest::Approx(0.3).epsilon(0.03));
  CHECK(count[3] / n == doctest::Approx(0.2).epsilon(0.03));
}

TEST_CASE("sampler: where torch's unstable sort leaves top_p's ties open, the lowest ids stay") {
  const std::vector<float> logits{-1, 2, 2, 0, 2, 2};
  const auto kept = [&](float top_p) {
    sampler s(6, {.temperature = 1, .top_p = top_p});
    s.sample(logits, {}, 0);
    ids out;
    for (const auto& c : s.kept()) out.push_back(c.id);
    return out;
  };
  CHECK(kept(0) == ids{1});
  CHECK(kept(0.3f) == ids{1, 2});
  CHECK(kept(0.6f) == ids{1, 2, 4});
  CHECK(kept(0.9f) == ids{1, 2, 4, 5});
}

TEST_CASE("sampler: nothing is allocated after construction") {
  const std::size_t start = allocations;
  constexpr u32 vocab = 20'000;
  const auto logits = peaked_logits(vocab);
  const std::vector<float> flat(vocab, 1);
  const ids history{1, 2, 3, 2, 19'999};
  const std::vector<sampling> all{
      {},
      {.repetition_penalty = 1.5f, .logit_bias = {{7, 1}}},
      {.temperature = 1},
      {.temperature = 1, .top_k = 40},
      {.temperature = 1, .top_k = 15'000, .top_p = 0.9f},
      {.temperature = 1, .typical_p = 0.9f},
      {.temperature = 1,
       .top_k = 19'999,
       .top_p = 0.99f,
       .min_p = 0.01f,
       .typical_p = 0.99f,
       .repetition_penalty = 1.1f,
       .frequency_penalty = 1,
       .presence_penalty = 1,
       .logit_bias = {{7, -infinity}}},
  };
  CHECK(allocations > start);  // the counter counts
  for (const auto& settings : all) {
    sampler s(vocab, settings);
    const std::size_t before = allocations;
    for (u64 position = 0; position < 3; ++position) {
      s.sample(logits, history, position);
      s.sample(flat, history, position);
    }
    CHECK(allocations == before);
  }
}

}  // namespace

}  // namespace sampler_test
