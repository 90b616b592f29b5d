// SPDX-License-Identifier: MIT
// check.hpp: what the CPU and a device are both asked: logits of a prompt and of greedy ids after it, of random weights
// of a true shape.
#pragma once

#include <cke/models/qwen3.hpp>

#include "../runtime/random_model.hpp"
#include "likeliest.hpp"
#include "report.hpp"

namespace device_check {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using M = Qwen3_0_6B;

template <class Formats, class Isa> using machine = loaded<program<M, Formats>, default_kv<Formats>, Isa>;

template <class Machine> std::shared_ptr<Machine> load(const random_model::tensors& t, u32 context) {
  return std::make_shared<Machine>(t.index(), "random", naming::hf, names_of<M>(),
                                   model_options{.context = context, .chunk = 512, .logit_rows = 16});
}
inline constexpr auto yes = [](u32) { return true; };

// Plain memory, so that processes can share it. asked: 0 until the CPU has answered.
struct answer {
  static constexpr u32 prompt = 40, ids = 64;
  u32 asked;
  u32 greedy[ids];
  float logits[prompt + ids][program<M, F32>::vocab];  // after each id of the prompt, then after each greedy id
  std::span<const float> row(u32 i) const { return logits[i]; }
};
inline std::vector<u32> prompt_ids() { return random_model::ids(answer::prompt, program<M, F32>::vocab); }

// The CPU's half, of a unit that g++ compiles for several instruction sets: cpu.cpp.
struct cpu_half {
  const char* isa;
  bool has_the_order;  // its sums have the order that devices keep to
  void (*q8_0)(const random_model::tensors& t, answer& a);
  void (*bf16)(const random_model::tensors& t, answer& a);
};
const cpu_half* this_cpu();  // null: none for it
random_model::tensors random_weights();

// ---- parts of the check, each in a process of its own. `peak`: GB/s at which memory is read, or NaN.

void describe_device(report& r);
void check_read_peak(report& r);
void check_launches(report& r);
void check_exchanges(report& r);
// same_bits: the CPU's sums have the device's order.
template <class Formats> void check_answers(report& r, const std::string& name, const random_model::tensors& t,
                                            const answer& cpu, bool same_bits);
template <class Formats> void check_speed(report& r, const std::string& name, const random_model::tensors& t,
                                          double peak);
template <class Formats> void check_time(report& r, const std::string& name, const random_model::tensors& t,
                                         double peak);
void check_jitter(report& r, const random_model::tensors& t);
bool toy_holds();  // toy models through all kinds of launches: what sanitizers watch
void check_lane_copies(report& r);
void check_sanitizers(report& r, const std::string& program);
void check_peer(report& r);

}  // namespace device_check
