// SPDX-License-Identifier: MIT
// low_rank.cpp: additions to frozen matrices, against the gradients of the matrices that they make.
#include <cke/kernels/formats/quantise.hpp>
#include <cke/models/deepseek.hpp>
#include <cke/models/gemma4.hpp>
#include <cke/models/mamba2.hpp>
#include <cke/models/phi3.hpp>
#include <cke/models/qwen2.hpp>
#include <cke/models/qwen3_5.hpp>
#include <cke/models/qwen3_moe.hpp>
#include <random>

#include "gradients.hpp"

namespace {

using namespace training;

struct matrices {
  std::vector<float> a, b;
};
template <class Trainer> matrices read(Trainer& t, const added_tensor& of, typename Trainer::part what) {
  matrices m{std::vector<float>(u64{of.rank} * of.cols), std::vector<float>(u64{of.rows} * of.rank)};
  t.read(of, what, m.a.data(), m.b.data());
  return m;
}

// How far two lists of numbers are from one another, by the norm of the second.
double distance_of(const std::vector<float>& x, const std::vector<double>& want) {
  double apart = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    apart += (double(x[i]) - want[i]) * (double(x[i]) - want[i]), norm += want[i] * want[i];
  return std::sqrt(apart) / std::max(std::sqrt(norm), 1e-12);
}

// With W' = W + s B A, the gradients are s B^T dW' and s dW' A^T, where dW' is what a trainer of all weights finds.
template <const auto& Config> void check_additions(const std::string& name, const low_rank_options& options) {
  using model = from_config<Config>;
  using part = typename trainer<model>::part;
  const checkpoint from = open_family(name);
  const sequences s(fixture(name));
  CAPTURE(name);
  trainer<model> low(from, {.threads = 2, .context = s.longest()}, options);
  trainer<model> whole(from, {.threads = 2, .context = s.longest(), .optimizes = false});
  REQUIRE(!low.added_tensors().empty());
  CHECK(low.trained_count() < low.parameter_count());

  const double scale = double(options.alpha) / options.rank;
  std::mt19937 random(5);
  std::normal_distribution<float> number(0, 0.05f);
  const auto tensors = from.tensors.tensors();
  const auto tensor_of = [&](const added_tensor& t) {
    const auto at = std::ranges::find(tensors, t.name, [](const tensor_ref& r) { return std::string(r.name); });
    REQUIRE(at != tensors.end());
    return static_cast<std::size_t>(at - tensors.begin());
  };
  for (const added_tensor& t : low.added_tensors()) {
    matrices m = read(low, t, part::weights);
    CHECK(std::ranges::all_of(m.b, [](float x) { return x == 0; }));
    for (float& x : m.b) x = number(random);
    low.write(t, part::weights, m.a.data(), m.b.data());
    std::vector<float> w(u64{t.rows} * t.cols);
    REQUIRE(whole.read(tensor_of(t), part::weights, w.data()));
    for (u32 r = 0; r < t.rows; ++r)
      for (u32 c = 0; c < t.cols; ++c) {
        double sum = 0;
        for (u32 k = 0; k < t.rank; ++k) sum += double(m.b[r * t.rank + k]) * double(m.a[k * t.cols + c]);
        w[u64{r} * t.cols + c] += static_cast<float>(scale * sum);
      }
    whole.write(tensor_of(t), part::weights, w.data());
  }
  whole.resume(0);
  const double loss = low.add_gradients(s.examples()), want = whole.add_gradients(s.examples());
  CHECK(loss == doctest::Approx(want).epsilon(1e-5));
  for (const added_tensor& t : low.added_tensors()) {
    const matrices m = read(low, t, part::weights), g = read(low, t, part::gradients);
    std::vector<float> dw(u64{t.rows} * t.cols);
    whole.read(tensor_of(t), part::gradients, dw.data());
    std::vector<double> da(m.a.size()), db(m.b.size());
    for (u32 r = 0; r < t.rows; ++r)
      for (u32 k = 0; k < t.rank; ++k)
        for (u32 c = 0; c < t.cols; ++c) {
          const double d = scale * double(dw[u64{r} * t.cols + c]);
          da[u64{k} * t.cols + c] += double(m.b[r * t.rank + k]) * d;
          db[r * t.rank + k] += double(m.a[k * t.cols + c]) * d;
        }
    CAPTURE(t.name);
    CHECK(distance_of(g.a, da) <= 1e-3);
    CHECK(distance_of(g.b, db) <= 1e-3);
  }
}

}  // namespace

TEST_CASE("train: additions have the gradients of the matrices that they make") {
  check_additions<configs::qwen2>("qwen2", {.rank = 3, .alpha = 5, .targets = {}, .seed = 1});
  check_additions<configs::qwen2>("qwen2", {.rank = 1, .alpha = 2, .targets = "v_proj,down_proj", .seed = 1});
  check_additions<configs::phi3>("phi3", {.rank = 2, .alpha = 3, .targets = {}, .seed = 2});
  check_additions<configs::gemma4_text>("gemma4_text", {.rank = 2, .alpha = 3, .targets = {}, .seed = 3});
  check_additions<configs::qwen3_moe>("qwen3_moe", {.rank = 2, .alpha = 3, .targets = {}, .seed = 4});
  check_additions<configs::deepseek_v2>("deepseek_v2", {.rank = 2, .alpha = 3, .targets = {}, .seed = 4});
  check_additions<configs::mamba2>("mamba2", {.rank = 2, .alpha = 3, .targets = {}, .seed = 5});
  check_additions<configs::qwen3_5_text>("qwen3_5_text", {.rank = 2, .alpha = 3, .targets = {}, .seed = 6});
}

TEST_CASE("train: additions have the same bits for any threads, any cut into passes, and recomputed") {
  using model = from_config<configs::phi3>;
  const checkpoint from = open_family("phi3");
  const sequences s(fixture("phi3"));
  std::vector<float> first;
  for (const auto& [threads, rows] : {std::pair{1u, 512u}, {2u, 1u}, {4u, 30u}}) {
    trainer<model> t(from, {.threads = threads, .context = s.longest(), .rows = rows, .recompute = threads == 2},
                     {.rank = 4, .alpha = 8, .targets = {}, .seed = 7});
    for (u32 step = 0; step < 3; ++step) t.add_gradients(s.examples()), t.step({.lr = 1e-2f});
    std::vector<float> all;
    for (const added_tensor& one : t.added_tensors()) {
      const matrices m = read(t, one, trainer<model>::part::weights);
      all.insert(all.end(), m.a.begin(), m.a.end()), all.insert(all.end(), m.b.begin(), m.b.end());
    }
    if (first.empty()) first = all;
    CHECK(std::memcmp(all.data(), first.data(), all.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("train: additions to matrices that no layer has") {
  using model = from_config<configs::qwen2>;
  const checkpoint from = open_family("qwen2");
  CHECK_THROWS_WITH_AS(
      trainer<model>(from, {.threads = 1}, {.rank = 2, .alpha = 2, .targets = "q_proj,x_proj", .seed = 0}),
      "targets: expected ends of names of matrices, such as q_proj, found x_proj", Error);
}

// Numbers are as near as their format rounds them, which those of another place would not be.
TEST_CASE("train: rows of every format are read") {
  std::mt19937 random(9);
  std::normal_distribution<float> number;
  for (const dtype type : weight_types) {
    if (kernels::is_row_wise(type)) continue;  // no file has them
    const u32 cols = info(type).block < 32 ? 37 : info(type).block == 32 ? 96 : 512;
    std::vector<float> x(3 * cols), y(cols);
    for (float& v : x) v = number(random);
    std::vector<std::byte> stored(bytes_of(type, 3 * cols));
    kernels::quantise(type, x.data(), 3 * cols, stored.data());
    read_row({type, stored, 0, {}}, 1, cols, y.data());
    double apart = 0, all = 0;
    for (u32 i = 0; i < cols; ++i) {
      const double want = double(x[cols + i]);
      apart += (double(y[i]) - want) * (double(y[i]) - want), all += want * want;
    }
    CAPTURE(info(type).name);
    const bool coarse = type == dtype::q2_k || type == dtype::q3_k || type == dtype::mxfp4;
    CHECK(std::sqrt(apart / all) <= (coarse ? 0.35 : 0.11));
    if (info(type).block == 1) CHECK(std::sqrt(apart / all) <= 0.003);
  }
}
