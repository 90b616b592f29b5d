// SPDX-License-Identifier: MIT
// check.hpp: what the CPU and a device are both asked: logits of a prompt and greedy ids, of random weights of a true
// shape.
#pragma once

#include <cke/models/qwen3.hpp>

#include "../runtime/random_model.hpp"
#include "report.hpp"

namespace device_check {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using M = Qwen3_0_6B;

struct answer {
  std::vector<float> logits;  // [prompt][vocab]
  std::vector<u32> greedy;
};
template <class Formats, class Isa> using machine = loaded<program<M, Formats>, default_kv<Formats>, Isa>;

template <class Machine> std::shared_ptr<Machine> load(const random_model::tensors& t, u32 context) {
  return std::make_shared<Machine>(t.index(), "random", naming::hf, names_of<M>(),
                                   model_options{.context = context, .chunk = 512, .logit_rows = 16});
}
inline u32 best(std::span<const float> logits) {
  return static_cast<u32>(std::ranges::max_element(logits) - logits.begin());
}
inline constexpr auto yes = [](u32) { return true; };

template <class Machine> answer ask(const std::shared_ptr<Machine>& model, std::span<const u32> prompt, u32 count) {
  answer a;
  sequence<Machine> s(model);
  s.feed_all(prompt, [&](u32, std::span<const float> row) { a.logits.insert(a.logits.end(), row.begin(), row.end()); });
  while (a.greedy.size() < count) {
    a.greedy.push_back(best(s.logits()));
    s.feed(a.greedy.back());
  }
  return a;
}

// The CPU's, of a unit that g++ compiles; and whether its sums have the order that devices keep to.
std::string cpu_name();
bool cpu_has_the_order();
random_model::tensors random_weights();
answer cpu_answer_q8_0(const random_model::tensors& t, std::span<const u32> prompt, u32 count);
answer cpu_answer_bf16(const random_model::tensors& t, std::span<const u32> prompt, u32 count);

// ---- parts of the check, a unit each. `peak`: GB/s at which memory is read.

double check_machine(report& r);  // says what the device is; returns its peak
void check_q8_0(report& r, const random_model::tensors& t, const answer& cpu, std::span<const u32> prompt, double peak);
void check_bf16(report& r, const random_model::tensors& t, const answer& cpu, std::span<const u32> prompt, double peak);
void check_jitter(report& r, const random_model::tensors& t, std::span<const u32> prompt);
bool toy_holds();  // toy models through all kinds of launches: what sanitizers watch
void check_sanitizers(report& r, const std::string& program);
void check_peer(report& r);

}  // namespace device_check
