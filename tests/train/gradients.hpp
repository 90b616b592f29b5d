// SPDX-License-Identifier: MIT
// gradients.hpp: gradients of a checkpoint of tests/data/families, against those of transformers in float64
// (tests/data/training/make.py).
#pragma once

#include <doctest/doctest.h>

#include <cke/from_config.hpp>
#include <cke/hf.hpp>
#include <cke/trainer.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "../parity/configs.hpp"

namespace training {

using namespace cke;
using namespace cke::io;
using namespace cke::train;

// Loss, and each tensor's gradient by its norm, unless float32 itself is further away: then 20 times its noise. Noise
// of bf16 is numbers that are rounded up here and down there; more than 4 times that would hide the rounding itself.
inline double loss_limit(bool bf16) { return bf16 ? 1e-4 : 1e-5; }
inline double gradient_limit(const nlohmann::json& of, bool bf16) {
  const double noise = of["noise"];
  return bf16 ? std::max(2.5e-3, 4 * noise) : std::max(1e-3, 20 * noise);
}

inline nlohmann::json read_json(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), path);
  return nlohmann::json::parse(std::string{std::istreambuf_iterator<char>(in), {}});
}

// Sequences, and what should follow each id of them.
struct sequences {
  std::vector<std::vector<u32>> ids, targets;

  sequences() = default;
  explicit sequences(const nlohmann::json& from) {
    for (std::size_t i = 0; i < from["ids"].size(); ++i) {
      ids.push_back(from["ids"][i].get<std::vector<u32>>());
      const auto labels = from["labels"][i].get<std::vector<int>>();
      auto& wanted = targets.emplace_back(labels.size(), no_target);
      for (std::size_t t = 0; t + 1 < labels.size(); ++t)
        if (labels[t + 1] >= 0) wanted[t] = static_cast<u32>(labels[t + 1]);
    }
  }
  std::vector<example> examples() const {
    std::vector<example> all;
    for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({ids[i], targets[i]});
    return all;
  }
  u32 longest() const {
    std::size_t most = 0;
    for (const auto& list : ids) most = std::max(most, list.size());
    return static_cast<u32>(most);
  }
};

inline u64 numbers_of(const tensor_ref& t) {
  u64 n = 1;
  for (const u64 d : t.shape) n *= d;
  return n;
}

// The gradients of all trained tensors, by name.
template <class Trainer> std::vector<std::pair<std::string, std::vector<float>>> gradients_of(Trainer& t,
                                                                                              const checkpoint& from) {
  std::vector<std::pair<std::string, std::vector<float>>> all;
  for (std::size_t i = 0; i < from.tensors.tensors().size(); ++i) {
    std::vector<float> g(numbers_of(from.tensors.tensors()[i]));
    if (t.read(i, Trainer::part::gradients, g.data())) all.emplace_back(from.tensors.tensors()[i].name, std::move(g));
  }
  return all;
}

// How far a gradient is from the recorded one: its norm, and sums of its numbers with signs that a hash gives them.
inline double distance(const std::vector<float>& g, const nlohmann::json& want) {
  const auto projections = want["projections"].get<std::vector<double>>();
  const double norm = want["norm"];
  std::vector<double> sums(projections.size());
  double squares = 0;
  for (u64 i = 0; i < g.size(); ++i) {
    squares += double(g[i]) * double(g[i]);
    for (u64 k = 0; k < sums.size(); ++k) {
      u64 h = (i * 8 + k + 1) * 0x9E3779B97F4A7C15;
      h ^= h >> 29, h *= 0xBF58476D1CE4E5B9;
      sums[k] += h >> 40 & 1 ? -double(g[i]) : double(g[i]);
    }
  }
  double most = std::abs(std::sqrt(squares) - norm);
  for (u64 k = 0; k < sums.size(); ++k) most = std::max(most, std::abs(sums[k] - projections[k]));
  return norm > 0 ? most / norm : most;
}

template <class M, class Isa> void check_isa(const checkpoint& from, const nlohmann::json& want, bool bf16 = false) {
  const sequences s(want);
  trainer<M, F32, Isa> t(from, {.threads = 2, .context = s.longest(), .optimizes = false, .bf16 = bf16});
  CAPTURE(Isa::name);
  CAPTURE(bf16);
  const double loss = t.add_gradients(s.examples());
  CHECK(std::abs(loss - want["loss"].get<double>()) <= loss_limit(bf16));
  CHECK(t.gradient_norm() == doctest::Approx(want["grad_norm"].get<double>()).epsilon(1e-3));
  const auto found = gradients_of(t, from);
  CHECK(found.size() == want["tensors"].size());
  for (const auto& found_one : found) {
    const std::string& name = found_one.first;
    CAPTURE(name);
    REQUIRE(want["tensors"].contains(name));
    const auto& of = want["tensors"][name];
    CHECK(distance(found_one.second, of) <= gradient_limit(of, bf16));
  }
}

// The same bits for other numbers of threads, where each sequence has a pass to itself, and where values are computed
// again.
template <class M> void check_bits(const checkpoint& from, const nlohmann::json& want, bool bf16 = false) {
  const sequences s(want);
  std::vector<std::pair<std::string, std::vector<float>>> first;
  struct run {
    u32 threads, rows;
    bool recompute;
  };
  for (const run& how : {run{1, 512, false}, {3, 512, false}, {2, 1, false}, {2, 512, true}}) {
    const auto [threads, rows, recompute] = how;
    trainer<M> t(from,
                 {.threads = threads,
                  .context = s.longest(),
                  .rows = rows,
                  .optimizes = false,
                  .recompute = recompute,
                  .bf16 = bf16});
    t.add_gradients(s.examples());
    const auto found = gradients_of(t, from);
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < first.size(); ++i) {
      CAPTURE(how.threads);
      CAPTURE(how.rows);
      CAPTURE(how.recompute);
      CAPTURE(found[i].first);
      CHECK(std::memcmp(found[i].second.data(), first[i].second.data(), first[i].second.size() * sizeof(float)) == 0);
    }
  }
}

// Weights from nothing: the tensors of the family's checkpoints, logits that say nothing yet, and a loss that falls.
template <class M> void check_initial(const checkpoint& from, const nlohmann::json& want) {
  const initial_tensors begin = trainer<M>::initial({.seed = 3}), again = trainer<M>::initial({.seed = 3}),
                        other = trainer<M>::initial({.seed = 4}),
                        padded = trainer<M>::initial({.seed = 3, .padding = 2});
  u64 ours = 0, theirs = 0;
  for (const tensor_ref& t : from.tensors.tensors()) theirs += numbers_of(t);
  bool differs = false;
  for (std::size_t i = 0; i < begin.tensors().size(); ++i) {
    const initial_tensor& t = begin.tensors()[i];
    CAPTURE(t.name);
    ours += t.numbers.size();
    CHECK(t.numbers == again.tensors()[i].numbers);
    differs |= t.numbers != other.tensors()[i].numbers;
    // The row of the padding is 0 in every embedding, also in that of the layers.
    std::vector<float> with_padding = t.numbers;
    if (t.shape.size() == 2 && t.name.find("embed") != t.name.npos && t.name.find("proj") == t.name.npos)
      std::fill_n(with_padding.data() + 2 * t.shape[1], t.shape[1], 0.f);
    CHECK(padded.tensors()[i].numbers == with_padding);
    // Experts may have a tensor each, or one together.
    if (const tensor_ref* const in_file = from.tensors.find(t.name)) CHECK(std::ranges::equal(in_file->shape, t.shape));
    else CHECK(t.name.find(".experts.") != std::string::npos);
  }
  CHECK(differs);
  CHECK(ours == theirs);
  const sequences s(want);
  trainer<M> t(initial_options{.seed = 3}, {.threads = 1, .context = s.longest()});
  const double first = t.loss(s.examples());
  CHECK(first == t.add_gradients(s.examples()));
  CHECK(std::abs(first - std::log(double(t.vocab))) < 0.3);
  for (int step = 0; step < 5; ++step) t.step({.lr = 3e-3f}), t.add_gradients(s.examples());
  CHECK(t.loss(s.examples()) < first - 0.1);
}

inline checkpoint open_family(const std::string& name) { return hf(CKE_TEST_DATA "/families/" + name); }
inline nlohmann::json fixture(const std::string& name) {
  return read_json(CKE_TEST_DATA "/training/" + name + ".json");
}

template <const auto& Config> void check_gradients(const std::string& name) {
  using model = from_config<Config>;
  const checkpoint from = open_family(name);
  const nlohmann::json want = fixture(name);
  CAPTURE(name);
  check_isa<model, isa::native>(from, want);
  check_bits<model>(from, want);
  check_initial<model>(from, want);
}

}  // namespace training
