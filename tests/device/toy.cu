// SPDX-License-Identifier: MIT
// toy.cu: toy models through every kind of launch, in seconds also where each access is watched.
#include <cke/cuda/executor.cuh>
#include <cke/cuda/gpu.cuh>
#include <cke/models/qwen3_moe.hpp>

#include "check.hpp"
#include "lean.hpp"

namespace device_check {

namespace {

inline constexpr attention_options of_three{
    .dim = 96, .heads = 3, .kv_heads = 3, .head_dim = 32, .rope = {.dims = 32, .theta = 1e4}};
inline constexpr moe_options gated{.dim = 96, .hidden = 64, .route = {.experts = 7, .active = 3, .renormalise = true}};
inline constexpr moe_options ungated{.dim = 96,
                                     .hidden = 64,
                                     .route = {.experts = 5, .active = 2, .renormalise = true},
                                     .act = activation::relu2,
                                     .ungated = true,
                                     .shared = 96};
// (Written out: nvcc's front end loses such constants in templates of layers.)
struct with_experts
    : network<
          embedding<131, 96>,
          stack<2, block<residual<rms_norm<96, 1e-6>, attention<of_three>>, residual<rms_norm<96, 1e-6>, moe<gated>>>,
                block<residual<rms_norm<96, 1e-6>, attention<of_three>>, residual<rms_norm<96, 1e-6>, moe<ungated>>>>,
          rms_norm<96, 1e-6>, head<96, 131, true>> {
  static constexpr auto names = expert_names;
};

// So many kv heads that clusters have one each.
inline constexpr attention_options of_many{
    .dim = 96, .heads = 32, .kv_heads = 16, .head_dim = 32, .rope = {.dims = 32, .theta = 1e4}, .qk_norm = {1e-6}};
struct with_heads : network<embedding<131, 96>,
                            stack<2,
                                  block<residual<rms_norm<96, 1e-6>, attention<of_many>>,
                                        residual<rms_norm<96, 1e-6>, gated_mlp<96, 160, activation::silu>>>>,
                            rms_norm<96, 1e-6>, head<96, 131, true>> {};

template <class M, class Formats> auto toy() {
  static const auto t = random_model::tensors::of<program<M, Formats>>();
  using machine = loaded<program<M, Formats>, default_kv<Formats>, cuda::isa<cuda::gpu>>;
  return std::make_shared<machine>(t.index(), "random", naming::hf, names_of<M>(),
                                   model_options{.context = 192, .chunk = 96, .logit_rows = 4});
}
// A prompt in wide tiles, in narrow ones and id by id leaves the same logits.
template <class Machine> bool prompts_hold(const std::shared_ptr<Machine>& model) {
  using sequence = cke::runtime::sequence_of<Machine>;
  const std::vector<u32> ids = random_model::ids(75, Machine::program::vocab);
  sequence whole(model), cut(model);
  whole.feed(ids);
  const std::span all(ids);
  for (u32 i = 0; i < 70; i += 7) cut.feed(all.subspan(i, 7));
  for (u32 i = 70; i < 75; ++i) cut.feed(all.subspan(i, 1));
  return std::ranges::equal(whole.logits(), cut.logits());
}
// Many tokens in a launch are those of a launch for each step.
template <class Machine> bool ahead_holds(const std::shared_ptr<Machine>& model) {
  using sequence = cke::runtime::sequence_of<Machine>;
  sequence steps(model), ahead(model);
  const std::vector<u32> prompt = random_model::ids(7, Machine::program::vocab);
  steps.feed(prompt), ahead.feed(prompt);
  std::vector<u32> ids;
  while (ids.size() < 6) {
    ids.push_back(best(steps.logits()));
    steps.feed(ids.back());
  }
  return ahead.generate_nosync(6, {}, yes) == ids && std::ranges::equal(ahead.logits(), steps.logits());
}

}  // namespace

// Not inlined: the other units call what this one leaves behind.
template <class Kernel> [[gnu::noinline]] void lean::launch(cuda::launch_shape g, const cuda::step& s) {
  cuda::gpu::launch<Kernel>(g, s);
}

bool toy_holds() {
  const auto codes = toy<random_model::wide, Q8_0>();
  const auto plain = toy<random_model::wide, BF16>();
  return prompts_hold(codes) && ahead_holds(codes) && prompts_hold(plain) && ahead_holds(plain) &&
      prompts_hold(toy<with_experts, Q8_0>()) && prompts_hold(toy<with_experts, BF16>()) &&
      ahead_holds(toy<with_experts, Q8_0>()) && ahead_holds(toy<with_heads, Q8_0>());
}

}  // namespace device_check

// All launches of steps that time.cu and jitter.cu make.
template class cke::runtime::device_executor<cke::graph::program<device_check::M, cke::graph::Q8_0>,
                                             cke::runtime::default_kv<cke::graph::Q8_0>, device_check::lean>;
template class cke::runtime::device_executor<cke::graph::program<device_check::M, cke::graph::BF16>,
                                             cke::runtime::default_kv<cke::graph::BF16>, device_check::lean>;
