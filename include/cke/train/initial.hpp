// SPDX-License-Identifier: MIT
// initial.hpp: weights for a model without a checkpoint to begin training with.
#pragma once

#include <map>

#include "example_rows.hpp"
#include "parameters.hpp"

namespace cke::train {

struct initial_options {
  u64 seed = 0;
  float deviation = 0.02f;  // of matrices' numbers: a config's initializer_range
  u32 padding = no_target;  // id whose row of the embedding is 0
};

// A tensor in f32, under the name and in the shape of a Hugging Face checkpoint.
struct initial_tensor {
  std::string name;
  std::vector<u64> shape;
  std::vector<float> numbers;
};

// Such tensors, sorted by name.
class initial_tensors final : public tensor_source {
 public:
  // Matrices are normal, biases 0, norms and scales 1. Taps begin as torch's Conv1d does. A in [-16, -1] and time steps
  // in [0.001, 0.1] are those of Mamba 2 (Dao and Gu, 2024), which gated delta nets took over.
  static initial_tensors of(const program_data& p, const taped_program& n, std::span<const name_rule> names,
                            const initial_options& o) {
    std::map<std::string, initial_tensor> made;  // weights may lie in one tensor
    const tensor_layout layout(p, naming::hf, names);
    std::mt19937_64 random(o.seed);
    p.for_each_weight([&](const weight& w) {
      const tensor_map map{layout.of(w, 0, layout.change_of(w)), {}};
      const u32 place = w.where == place::header ? 0 : w.where == place::body ? w.layer + 1 : n.last_place();
      std::vector<float> ours(w.slot.elements());
      fill(ours, w.slot, 1 - norm_offset(n.at(place), w.slot), o, random);
      for (u32 t = 0; t < map.count; ++t) {
        float* const to = take(made, layout.name(w, 0, t), shape_of(w, map));
        const u64 width = map.width(w);
        map.each_run(w, t, [&](u64 at, u64 apart, u32 row, u32 column, u32 count) {
          for (u32 i = 0; i < count; ++i) to[row * width + column + i] = map.to_file(ours[at + i * apart]);
        });
      }
    });
    initial_tensors all;
    for (auto& [name, t] : made) all.list_.push_back(std::move(t));
    return all;
  }

  std::span<const initial_tensor> tensors() const { return list_; }
  u64 count() const override { return list_.size(); }
  u64 number_of(std::string_view name) const override {
    const auto at = std::ranges::lower_bound(list_, name, {}, &initial_tensor::name);
    return at != list_.end() && at->name == name ? static_cast<u64>(at - list_.begin()) : none;
  }
  source_tensor tensor(u64 number) const override {
    const initial_tensor& t = list_[number];
    return {t.name, dtype::f32, "F32", t.shape, std::as_bytes(std::span(t.numbers))};
  }
  void drop(u64, std::span<const std::byte>) const override {}

 private:
  static float* take(std::map<std::string, initial_tensor>& made, std::string name, std::vector<u64> shape) {
    initial_tensor& t = made[name];
    if (t.name.empty()) {
      u64 count = 1;
      for (const u64 n : shape) count *= n;
      t.name = std::move(name), t.shape = std::move(shape), t.numbers.resize(count);
    }
    return t.numbers.data();
  }
  static std::vector<u64> shape_of(const weight& w, const stored_weight& as) {
    if (!w.slot.quantisable && w.slot.rows == 1) return {as.height};
    if (!w.slot.quantisable) return {as.height / w.slot.cols, 1, w.slot.cols};  // of torch's Conv1d
    if (as.groups) return {as.groups, as.height, as.width};
    return {as.height, as.width};
  }
  // What a norm adds to its weights.
  static float norm_offset(const tape& t, const weight_slot& slot) {
    for (const tape_step& s : t.steps)
      for (u32 k = 0; k < s.i.weight.count; ++k) {
        const weight_slot& its = t.slots[s.i.weight[k]];
        if (its.is != slot.is || its.nth != slot.nth || its.bias != slot.bias) continue;
        if (s.i.p.kind() == kind_of<norm_params>) return static_cast<float>(s.i.p.template as<norm_params>().offset);
        if (s.i.p.kind() == kind_of<head_norm_params>)
          return static_cast<float>(s.i.p.template as<head_norm_params>().offset);
      }
    return 0;
  }
  static void fill(std::span<float> to, const weight_slot& slot, float one, const initial_options& o,
                   std::mt19937_64& random) {
    using uniform = std::uniform_real_distribution<float>;
    const auto each = [&](auto f) { std::ranges::generate(to, f); };
    if (slot.bias || is_buffer(slot.is)) each([&] { return slot.is == role::layer_scalar ? 1.f : 0.f; });
    else if (slot.is == role::decay) each([&, a = uniform(1, 16)]() mutable { return std::log(a(random)); });
    else if (slot.is == role::step_bias)
      each([&, log_step = uniform(std::log(1e-3f), std::log(1e-1f))]() mutable {
        return std::log(std::expm1(std::exp(log_step(random))));  // softplus of it is the step
      });
    else if (slot.is == role::conv) fill_uniform(to.data(), to.size(), 1 / std::sqrt(float(slot.cols)), random);
    else if (!slot.quantisable) each([&] { return one; });
    else {
      each([&, normal = std::normal_distribution<float>(0, o.deviation)]() mutable { return normal(random); });
      if ((slot.is == role::embed || slot.is == role::layer_embed) && o.padding < slot.rows)
        std::ranges::fill(to.subspan(u64{o.padding} * slot.cols, slot.cols), 0.f);
    }
  }

  std::vector<initial_tensor> list_;
};

}  // namespace cke::train
