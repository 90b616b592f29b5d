// SPDX-License-Identifier: MIT
// trainer.cpp: AdamW's steps against torch.optim's, runs that go on, scalar kernels, and what is refused.
#include <cke/models/gemma2.hpp>
#include <cke/models/gemma3.hpp>
#include <cke/models/granite.hpp>
#include <cke/models/mamba2.hpp>
#include <cke/models/qwen2.hpp>
#include <cke/models/qwen3_5.hpp>
#include <cke/models/qwen3_moe.hpp>
#include <cke/train/schedule.hpp>
#include <set>

#include "gradients.hpp"

namespace {

using namespace training;
using native_trainer = trainer_of<isa::native>;
using trained_part = native_trainer::part;

// Micro-batch `b`: the fixture's sequences with other ids.
sequences micro_batch(const nlohmann::json& from, u32 vocab, u32 b) {
  nlohmann::json batch = {{"ids", from["ids"]}, {"labels", from["labels"]}};
  for (std::size_t i = 0; i < batch["ids"].size(); ++i)
    for (std::size_t t = 0; t < batch["ids"][i].size(); ++t) {
      const u32 id = (batch["ids"][i][t].get<u32>() * 7 + b * 13 + 5) % vocab;
      batch["ids"][i][t] = id;
      if (batch["labels"][i][t] != -100) batch["labels"][i][t] = id;
    }
  return sequences(batch);
}

constexpr u32 steps = 10, accumulated = 2;
struct step_figures {
  double loss, norm, lr;
};
step_figures take_step(native_trainer& t, const nlohmann::json& from, u32 vocab, u32 step) {
  step_figures f{};
  for (u32 k = 0; k < accumulated; ++k)
    f.loss += t.add_gradients(micro_batch(from, vocab, (step - 1) * accumulated + k).examples(), 1.0 / accumulated) /
        accumulated;
  f.lr = rate_schedule{decay::cosine, 1e-3, 1e-4, 3, steps}.at(step);
  f.norm = t.step({static_cast<float>(f.lr), 0.9f, 0.95f, 1e-8f, 0.1f, 1});
  return f;
}
std::vector<float> weights_of(native_trainer& t, const checkpoint& from, trained_part of = trained_part::weights) {
  std::vector<float> all;
  for (std::size_t i = 0; i < from.tensors.tensors().size(); ++i) {
    std::vector<float> one(numbers_of(from.tensors.tensors()[i]));
    if (t.read(i, of, one.data())) all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <const auto& Config> void check_steps(const std::string& name) {
  using model = from_config<Config>;
  constexpr u32 vocab = trainer<model>::vocab;
  const nlohmann::json want = fixture(name);
  const checkpoint from = open_family(name);
  const u32 padding = name == "mamba2" ? no_target : 1;  // as transformers has it
  trainer<model> t(from, {.threads = 2, .context = sequences(want).longest(), .padding = padding});
  for (u32 step = 1; step <= steps; ++step) {
    const step_figures f = take_step(t, want, vocab, step);
    const auto& of = want["steps"][step - 1];
    CAPTURE(name);
    CAPTURE(step);
    CHECK(f.loss == doctest::Approx(of["loss"].get<double>()).epsilon(1e-4));
    CHECK(f.norm == doctest::Approx(of["grad_norm"].get<double>()).epsilon(1e-3));
    CHECK(f.lr == doctest::Approx(of["lr"].get<double>()).epsilon(1e-8));
  }
}

errc code_of(auto f) {
  try {
    f();
  } catch (const Error& e) { return e.code; }
  return errc::usage;
}

}  // namespace

TEST_CASE("train: ten steps of AdamW are those of torch.optim in float64") {
  check_steps<configs::qwen2>("qwen2");
  check_steps<configs::qwen3_moe>("qwen3_moe");
  check_steps<configs::mamba2>("mamba2");
}

TEST_CASE("train: weights have the same bits for any threads, any cut into passes, and after an interruption") {
  using model = from_config<configs::gemma2>;
  const nlohmann::json want = fixture("gemma2");
  const checkpoint from = open_family("gemma2");
  const u32 context = sequences(want).longest();
  std::vector<float> first;
  for (const auto& [threads, rows] : {std::pair{1u, 512u}, {2u, 1u}, {4u, 30u}}) {
    trainer<model> t(from, {.threads = threads, .context = context, .rows = rows});
    for (u32 step = 1; step <= 4; ++step) take_step(t, want, 288, step);
    if (first.empty()) first = weights_of(t, from);
    CHECK(same(weights_of(t, from), first));
  }
  trainer<model> before(from, {.threads = 2, .context = context}), after(from, {.threads = 2, .context = context});
  for (u32 step = 1; step <= 2; ++step) take_step(before, want, 288, step);
  for (const auto of : {trained_part::weights, trained_part::first_moments, trained_part::second_moments})
    for (std::size_t i = 0; i < from.tensors.tensors().size(); ++i) {
      std::vector<float> one(numbers_of(from.tensors.tensors()[i]));
      if (before.read(i, of, one.data())) after.write(i, of, one.data());
    }
  after.resume(before.steps());
  for (u32 step = 3; step <= 4; ++step) take_step(after, want, 288, step);
  CHECK(same(weights_of(after, from), first));
}

TEST_CASE("train: scalar kernels have the gradients of transformers, too") {
  check_isa<from_config<configs::qwen3_moe>, isa::scalar>(open_family("qwen3_moe"), fixture("qwen3_moe"));
  check_isa<from_config<configs::qwen3_5_text>, isa::scalar>(open_family("qwen3_5_text"), fixture("qwen3_5_text"));
}

namespace {
template <const auto& Config> void check_bf16(const std::string& name) {
  using model = from_config<Config>;
  const checkpoint from = open_family(name);
  const nlohmann::json want = fixture(name + ".bf16");
  CAPTURE(name);
  check_isa<model, isa::native>(from, want, true);
  check_bits<model>(from, want, true);

  // Gradients of f32 are not within these limits.
  const sequences s(want);
  trainer<model> f32(from, {.threads = 2, .context = s.longest(), .optimizes = false});
  f32.add_gradients(s.examples());
  u32 beyond = 0;
  const auto found = gradients_of(f32, from);
  for (const auto& [tensor, g] : found)
    beyond += distance(g, want["tensors"][tensor]) > gradient_limit(want["tensors"][tensor], true);
  CAPTURE(beyond);
  CAPTURE(found.size());
  CHECK(2 * beyond > found.size());
}
// The last words of the names of all matrices, but for `without`.
std::string matrices_of(const checkpoint& from, std::string_view without) {
  std::set<std::string> words;
  for (const tensor_ref& t : from.tensors.tensors()) {
    const std::string module(t.name.substr(0, t.name.rfind('.')));
    if (t.shape.size() > 1) words.insert(module.substr(module.rfind('.') + 1));
  }
  words.erase(std::string(without));
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ",") + word;
  return list;
}
}  // namespace

TEST_CASE("train: products of bf16 numbers have the gradients of transformers with such, and the same bits always") {
  check_bf16<configs::qwen2>("qwen2");
  check_bf16<configs::gemma3_text>("gemma3_text");
  check_bf16<configs::mamba2>("mamba2");
}

TEST_CASE("train: products that stay in f32 where others are of bf16 numbers; routers always do") {
  using model = from_config<configs::qwen3_moe>;
  const checkpoint from = open_family("qwen3_moe");
  const sequences s(fixture("qwen3_moe"));
  const auto found = [&](bool bf16, std::string_view in_f32) {
    trainer<model> t(from, {.threads = 2, .context = s.longest(), .optimizes = false, .bf16 = bf16, .in_f32 = in_f32});
    t.add_gradients(s.examples());
    return gradients_of(t, from);
  };
  const auto f32 = found(false, "");
  CHECK(found(true, matrices_of(from, "gate")) == f32);
  CHECK(found(true, matrices_of(from, "o_proj")) != f32);
  CHECK(found(true, "") != f32);
  CHECK_THROWS_WITH_AS(found(true, "q_proj,x_proj"),
                       "in_f32: expected ends of names of matrices, such as q_proj, found x_proj", Error);
}

TEST_CASE("train: wrong ids, no labels, too many ids, numbers that are none") {
  using model = from_config<configs::qwen2>;
  const checkpoint from = open_family("qwen2");
  trainer<model> t(from, {.threads = 1, .context = 4});
  const auto add = [&](std::vector<u32> ids, std::vector<u32> targets) {
    return code_of([&] {
      const example one{ids, targets};
      t.add_gradients({&one, 1});
    });
  };
  CHECK(add({1, 2, 288}, {2, 3, no_target}) == errc::token_range);
  CHECK(add({1, 2, 3}, {2, 300, no_target}) == errc::token_range);
  CHECK(add({1, 2, 3, 4, 5}, {2, 3, 4, 5, no_target}) == errc::context_overflow);
  CHECK_THROWS_WITH(add({1, 2}, {no_target, no_target}) == errc::usage ? throw std::runtime_error("usage") : 0,
                    "usage");

  t.clear();
  const std::vector<float> weights = weights_of(t, from);
  std::vector<float> norm(48, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < from.tensors.tensors().size(); ++i)
    if (from.tensors.tensors()[i].name == "model.norm.weight") t.write(i, trained_part::weights, norm.data());
  t.resume(0);
  CHECK(add({1, 2, 3}, {2, 3, no_target}) == errc::config_range);
  CHECK(code_of([&] { t.step({}); }) == errc::config_range);
  CHECK(t.steps() == 0);
}

TEST_CASE("train: a plan of no rows, or of no context, is one of a single row") {
  using one = trainer<from_config<configs::qwen2>>;
  const u64 values = one::plan({.threads = 1, .context = 1, .rows = 1}).values;
  CHECK(one::plan({.threads = 1, .context = 4, .rows = 0}).values == values);
  CHECK(one::plan({.threads = 1, .context = 0, .rows = 1}).values == values);
}

TEST_CASE("train: options of AdamW out of their ranges; the weights are then unchanged") {
  const checkpoint from = open_family("qwen2");
  trainer<from_config<configs::qwen2>> t(from, {.threads = 1, .context = 4});
  const std::vector<u32> ids{1, 2, 3}, targets{2, 3, no_target};
  const example one{ids, targets};
  t.add_gradients({&one, 1});
  const std::vector<float> weights = weights_of(t, from);
  const auto refused = [&](const adamw_options& o) { return code_of([&] { t.step(o); }) == errc::config_range; };
  CHECK(refused({.beta1 = 1}));
  CHECK(refused({.beta1 = -0.5f}));
  CHECK(refused({.beta2 = 1}));
  CHECK(refused({.eps = 0}));
  CHECK(refused({.lr = std::numeric_limits<float>::quiet_NaN()}));
  CHECK(refused({.weight_decay = std::numeric_limits<float>::infinity()}));
  CHECK(refused({.clip = -1}));
  CHECK(t.steps() == 0);
  CHECK(same(weights_of(t, from), weights));
  t.step({});
  CHECK(t.steps() == 1);
  CHECK_FALSE(same(weights_of(t, from), weights));
}

TEST_CASE("train: an example without ids changes nothing, also where the next is longer than a pass") {
  const checkpoint from = open_family("qwen2");
  const std::vector<u32> ids{7, 1, 9, 12, 4, 33, 2, 8, 5}, targets{1, 9, 12, 4, 33, 2, 8, 5, no_target};
  const example none{}, one{ids, targets};
  const auto found = [&](const std::vector<example>& all) {
    trainer<from_config<configs::qwen2>> t(from, {.threads = 1, .context = 9, .rows = 4, .optimizes = false});
    const double loss = t.loss(all);
    CHECK(t.add_gradients(all) == loss);
    return std::pair(loss, gradients_of(t, from));
  };
  const auto alone = found({one});
  CHECK(std::isfinite(alone.first));
  CHECK(found({none, one}) == alone);
  CHECK(found({one, none, none}) == alone);
}

namespace {
// The slope of a loss along its own gradient is the gradient's norm.
template <class M> void check_slope(const checkpoint& from, const sequences& s, const trainer_options& o, double by) {
  trainer<M> t(from, o);
  t.add_gradients(s.examples());
  const double norm = t.gradient_norm(), step = by / norm;
  double moved[2];
  for (const int side : {0, 1}) {
    trainer<M> there(from, o);
    for (std::size_t i = 0; i < from.tensors.tensors().size(); ++i) {
      std::vector<float> w(numbers_of(from.tensors.tensors()[i])), g(w.size());
      if (!t.read(i, trained_part::weights, w.data())) continue;
      t.read(i, trained_part::gradients, g.data());
      for (std::size_t k = 0; k < w.size(); ++k)
        w[k] += static_cast<float>(side ? step : -step) / static_cast<float>(norm) * g[k];
      there.write(i, trained_part::weights, w.data());
    }
    moved[side] = there.add_gradients(s.examples());
  }
  CHECK((moved[1] - moved[0]) / (2 * step) == doctest::Approx(norm).epsilon(2e-3));
}
}  // namespace

TEST_CASE("train: label smoothing and z-loss reach the gradients, leave the plain loss alone, and have a range") {
  using model = from_config<configs::qwen2>;
  const checkpoint from = open_family("qwen2");
  const sequences s(fixture("qwen2"));
  const auto with = [&](loss_options o) {
    return trainer_options{.threads = 2, .context = s.longest(), .optimizes = false, .loss = o};
  };
  trainer<model> plain(from, with({})), t(from, with({.label_smoothing = 0.2f, .z_loss = 0.05f}));
  const double usual = plain.add_gradients(s.examples()), smoothed = t.add_gradients(s.examples());
  CHECK(plain.loss(s.examples()) == usual);
  CHECK(t.loss(s.examples()) == usual);
  CHECK(smoothed > usual);
  CHECK(std::abs(t.gradient_norm() / plain.gradient_norm() - 1) > 1e-2);
  check_slope<model>(from, s, with({.label_smoothing = 0.2f, .z_loss = 0.05f}), 1e-2);

  CHECK(code_of([&] { trainer<model> bad(from, with({.label_smoothing = 1.5f})); }) == errc::config_range);
  CHECK(code_of([&] { trainer<model> bad(from, with({.label_smoothing = -0.1f})); }) == errc::config_range);
  CHECK(code_of([&] { trainer<model> bad(from, with({.z_loss = std::numeric_limits<float>::quiet_NaN()})); }) ==
        errc::config_range);
  CHECK_THROWS_WITH_AS(trainer<model>(from, with({.balance_loss = 0.1f})),
                       "balance_loss: expected a model with experts, or 0, found a model without", Error);
}

TEST_CASE("train: the load-balance loss of routers: its slope, the same bits always, and the plain loss as it was") {
  using model = from_config<configs::qwen3_moe>;
  const checkpoint from = open_family("qwen3_moe");
  const sequences s(fixture("qwen3_moe"));
  const auto with = [&](float balance, u32 threads = 2, u32 rows = 512, bool recompute = false) {
    return trainer_options{.threads = threads,
                           .context = s.longest(),
                           .rows = rows,
                           .optimizes = false,
                           .recompute = recompute,
                           .loss = {.balance_loss = balance}};
  };
  trainer<model> plain(from, with(0)), t(from, with(2));
  const double usual = plain.add_gradients(s.examples()), balanced = t.add_gradients(s.examples());
  CHECK(balanced > usual + 2);  // 1 is the least that it nearly always is, and every layer has its own
  CHECK(t.loss(s.examples()) == usual);
  check_slope<model>(from, s, with(2), 1e-3);
  const auto first = gradients_of(t, from);
  for (const trainer_options& o : {with(2, 1), with(2, 3, 1), with(2, 2, 512, true)}) {
    trainer<model> other(from, o);
    CHECK(other.add_gradients(s.examples()) == balanced);
    CHECK(gradients_of(other, from) == first);
  }
}

TEST_CASE("train: multiplications of an id with matrices: the numbers of those that it meets") {
  const auto numbers = [](const checkpoint& from, bool of_experts) {
    u64 all = 0;
    for (const tensor_ref& t : from.tensors.tensors()) {
      const std::string_view name = t.name;
      const bool looked_up = name.find("embed_tokens") != name.npos && from.tensors.find("lm_head.weight");
      const bool expert = name.find(".experts.") != name.npos;
      if (t.shape.size() >= 2 && !looked_up && expert == of_experts) all += numbers_of(t);
    }
    return all;
  };
  const checkpoint dense = open_family("qwen2"), sparse = open_family("qwen3_moe");
  trainer<from_config<configs::qwen2>> all(dense, {.threads = 1, .context = 8, .optimizes = false});
  CHECK(all.products() == numbers(dense, false));
  trainer<from_config<configs::qwen3_moe>> some(sparse, {.threads = 1, .context = 8, .optimizes = false});
  CHECK(some.products() == numbers(sparse, false) + numbers(sparse, true) * 3 / 7);  // 3 of 7 experts
}

TEST_CASE("train: a padding's row of a tied embedding learns as an answer, and not from being read") {
  using model = from_config<configs::gemma2>;
  const checkpoint from = open_family("gemma2");
  const auto row_of = [&](u32 padding) {
    trainer<model> t(from, {.threads = 1, .context = 4, .padding = padding, .optimizes = false});
    const std::vector<u32> ids{7, 1, 9}, targets{no_target, 9, no_target};
    const example one{ids, targets};
    t.add_gradients({&one, 1});
    const auto all = gradients_of(t, from);
    const auto found =
        std::ranges::find(all, std::string("model.embed_tokens.weight"), [](const auto& g) { return g.first; });
    REQUIRE(found != all.end());
    return std::vector<float>(found->second.begin() + 48, found->second.begin() + 96);  // of id 1
  };
  // Row 1 is read once and is never the target; as part of the head it has a gradient all the same.
  const std::vector<float> learned = row_of(no_target), kept = row_of(1), other = row_of(200);
  CHECK(learned == other);
  CHECK(learned != kept);
  CHECK(std::ranges::any_of(kept, [](float x) { return x != 0; }));
}

namespace {
constexpr granite_config sharp = [] {
  granite_config c = from_config<configs::granite>::config;
  c.attention_multiplier = 1e6;
  return c;
}();
}  // namespace

TEST_CASE("train: scores of which one has all the probability have no gradient, not one of rounding") {
  const checkpoint from = open_family("granite");
  trainer<granite<sharp>> t(from, {.threads = 1, .context = 9, .optimizes = false});
  const std::vector<u32> ids{7, 1, 9, 12, 4, 33, 2, 8, 5}, targets{1, 9, 12, 4, 33, 2, 8, 5, no_target};
  const example one{ids, targets};
  t.add_gradients({&one, 1});
  for (const auto& [name, g] : gradients_of(t, from)) {
    CAPTURE(name);
    const bool of_scores = name.find("q_proj") != name.npos || name.find("k_proj") != name.npos;
    CHECK(std::ranges::all_of(g, [](float x) { return x == 0; }) == of_scores);
  }
}

TEST_CASE("train: schedules") {
  const rate_schedule cosine{decay::cosine, 1, 0.1, 4, 10}, linear{decay::linear, 1, 0.1, 0, 10},
      constant{decay::constant, 1, 0.1, 2, 10};
  CHECK(cosine.at(1) == 0.25);
  CHECK(cosine.at(4) == 1);
  CHECK(cosine.at(7) == doctest::Approx(0.55));
  CHECK(cosine.at(10) == doctest::Approx(0.1));
  CHECK(linear.at(5) == doctest::Approx(0.55));
  CHECK(constant.at(1) == 0.5);
  CHECK(constant.at(10) == 1);
}
