// SPDX-License-Identifier: MIT
// trainer.hpp: a model's weights, gradients and optimizer, and the passes that train it.
#pragma once

#include "adamw.hpp"
#include "learner.hpp"

namespace cke::train {

struct trainer_options {
  u32 threads = 0;     // 0: the cores that the process may use
  u32 context = 4096;  // positions that rope's rules go by, and the most of an example
  u32 rows = 512;      // about so many rows in a pass: as many examples as fit, at least one; bits do not depend on it
  u32 padding = no_target;  // id whose row of an embedding learns nothing from being read, as torch's padding_idx
  bool optimizes = true;    // false: gradients alone, without room for the optimizer
  bool recompute = false;   // compute a layer's values again on the way back: slower, far less memory
  bool bf16 = false;        // mixed precision: products with weights round their factors to bf16; all else stays in f32
  // Matrices whose products stay in f32 all the same, by the ends of their names in Hugging Face's spelling:
  // "lm_head,o_proj". Routers' always do.
  std::string_view in_f32{};
  loss_options loss{};  // whose gradient is taken
};

// Bytes that training all weights takes, in passes of o.rows ids in sequences of o.context.
struct training_plan {
  u64 weights, gradients, moments;
  u64 values, value_slopes, rest;  // of a pass, see pass_memory::sizes
};
// twice: how many of the numbers have two gradients, as those of a tied matrix.
template <class Isa> training_plan plan_of(const taped_program& n, u64 numbers, u64 twice, const trainer_options& o) {
  const u32 rows = std::max(o.rows, 1u), longest = std::min(std::max(o.context, 1u), rows);
  const auto s = pass_memory<Isa>(n, o.threads ? o.threads : default_threads(), 0, o.recompute)
                     .sizes_of(rows, longest, ceil_div(rows, longest));
  const u64 bytes = numbers * sizeof(float);
  return {bytes, bytes + twice * sizeof(float), 2 * bytes, s.values, s.slopes, s.total() - s.values - s.slopes};
}

template <class Isa> class trainer_of {
 public:
  trainer_of(const taped_program& n, parameters&& p, const trainer_options& o)
      : options_(checked(n, o)),
        threads_(o.threads ? o.threads : default_threads()),
        parameters_(std::move(p)),
        optimizer_(o.optimizes ? adamw(parameters_.count()) : adamw()),
        learner_(n, parameters_, threads_, {o.context, o.padding, o.recompute, o.bf16}) {}
  trainer_of(const trainer_of&) = delete;
  trainer_of& operator=(const trainer_of&) = delete;

  // Adds `share` times the gradient of the mean loss of all targets; returns that loss. Throws usage without a target,
  // token_range, context_overflow; config_range for a loss that is not finite. After a throw the gradients are those of
  // a part of the examples: call clear().
  double add_gradients(std::span<const example> examples, double share = 1) {
    const double targets = targets_of(examples);
    double sum = 0;
    each_pass(examples, [&](std::span<const example> some) {
      sum = learner_.pass(some, static_cast<float>(share / targets), options_.loss, sum);
    });
    joined_ = false;
    return finite("loss", sum / targets);
  }
  // The mean cross-entropy of all targets; gradients stay as they are. Throws as add_gradients does.
  double loss(std::span<const example> examples) {
    const double targets = targets_of(examples);
    double sum = 0;
    each_pass(examples, [&](std::span<const example> some) { sum = learner_.loss(some, sum); });
    return finite("loss", sum / targets);
  }
  // The logits of the id after `ids`, valid until the next call. Throws usage without ids, token_range,
  // context_overflow.
  std::span<const float> logits_after(std::span<const u32> ids) { return learner_.logits_after(ids); }
  // The norm of the gradients. Throws config_range where it is not finite.
  double gradient_norm() {
    join();
    return finite("norm of the gradients", adamw::norm(parameters_, threads_));
  }
  // One step of the optimizer, after which the gradients are 0; returns their norm. Throws config_range, as above and
  // for an option out of its range; the weights are then unchanged.
  double step(const adamw_options& o) {
    if (!options_.optimizes) throw Error(errc::usage, {}, "trainer", "one that optimizes", "one for gradients alone");
    check(o);
    const double norm = gradient_norm();
    optimizer_.step(parameters_, threads_, norm, o);
    parameters_.clear_gradients();
    return norm;
  }
  void clear() { parameters_.clear_gradients(), joined_ = true; }

  // Numbers of tensor `tensor` of the checkpoint, in its layout: false if it holds nothing that is trained.
  enum class part : u8 { weights, gradients, first_moments, second_moments };
  bool read(u64 tensor, part of, float* to) {
    join();
    return parameters_.to_file(tensor, array(of), kind(of), to);
  }
  bool write(u64 tensor, part of, const float* from) {
    return parameters_.from_file(tensor, from, kind(of), array(of));
  }
  // The same for what is added to a tensor: a [rank][cols], b [rows][rank].
  std::span<const added_tensor> added_tensors() const { return parameters_.added_tensors(); }
  void read(const added_tensor& t, part of, float* a, float* b) { join(), t.read(array(of), a, b); }
  void write(const added_tensor& t, part of, const float* a, const float* b) { t.write(a, b, array(of)); }
  // After weights and moments have been written: so many steps were taken.
  void resume(u64 steps) { optimizer_.resume(steps); }

  u32 threads() const { return threads_.size(); }
  u64 steps() const { return optimizer_.steps(); }
  u64 parameter_count() const { return parameters_.total(); }
  u64 trained_count() const { return parameters_.trained(); }
  // Multiplications of an id with matrices, on the way forth. The way back takes as many for the gradients of inputs,
  // and as many for those of weights that are not frozen.
  u64 products() const { return learner_.products(); }
  // Of weights, gradients and optimizer; and of the largest pass so far.
  u64 weight_bytes() const { return parameters_.bytes() + optimizer_.bytes(); }
  u64 pass_bytes() const { return learner_.bytes(); }

 private:
  static const trainer_options& checked(const taped_program& n, const trainer_options& o) {
    const auto check = [](const char* name, float x, u32 most) {
      if (!(x >= 0 && x <= static_cast<float>(most)))
        throw Error(errc::config_range, {}, name, concat({"0 to ", most}), std::to_string(x));
    };
    check("label_smoothing", o.loss.label_smoothing, 1);
    check("z_loss", o.loss.z_loss, 1000);
    check("balance_loss", o.loss.balance_loss, 1000);
    if (o.loss.balance_loss > 0 && !n.has_routers())
      throw Error(errc::usage, {}, "balance_loss", "a model with experts, or 0", "a model without");
    return o;
  }
  static void check(const adamw_options& o) {
    const auto check = [](const char* name, float x, bool fits, const char* range) {
      if (!fits || !std::isfinite(x)) throw Error(errc::config_range, {}, name, range, std::to_string(x));
    };
    check("lr", o.lr, o.lr >= 0, "0 or more");
    check("beta1", o.beta1, o.beta1 >= 0 && o.beta1 < 1, "0 to below 1");
    check("beta2", o.beta2, o.beta2 >= 0 && o.beta2 < 1, "0 to below 1");
    check("eps", o.eps, o.eps > 0, "above 0");
    check("weight_decay", o.weight_decay, o.weight_decay >= 0, "0 or more");
    check("clip", o.clip, o.clip >= 0, "0 or more");
  }
  void join() {
    if (!joined_) parameters_.join_gradients();
    joined_ = true;
  }
  static double finite(const char* what, double x) {
    if (!std::isfinite(x)) throw Error(errc::config_range, {}, what, "a finite number", std::to_string(x));
    return x;
  }
  static double targets_of(std::span<const example> examples) {
    u64 targets = 0;
    for (const example& e : examples) {
      if (e.targets.size() != e.ids.size())
        throw Error(errc::usage, {}, "targets", concat({e.ids.size()}), concat({e.targets.size()}));
      for (const u32 id : e.targets) targets += id != no_target;
    }
    if (targets == 0) throw Error(errc::usage, {}, "labels", "one that is not ignored", "none");
    return static_cast<double>(targets);
  }
  // f(examples), for as many at a time as a pass takes, but for empty ones.
  void each_pass(std::span<const example> examples, auto f) const {
    for (std::size_t first = 0, end; first < examples.size(); first = end) {
      u64 rows = examples[first].ids.size();
      for (end = first + 1; end < examples.size() && rows + examples[end].ids.size() <= options_.rows; ++end)
        rows += examples[end].ids.size();
      if (rows > 0) f(examples.subspan(first, end - first));
    }
  }
  float* array(part of) {
    const bool state = of == part::first_moments || of == part::second_moments;
    if (state && !options_.optimizes)
      throw Error(errc::usage, {}, "trainer", "one that optimizes", "one for gradients alone");
    return of == part::weights      ? parameters_.values()
        : of == part::gradients     ? parameters_.gradients()
        : of == part::first_moments ? optimizer_.first()
                                    : optimizer_.second();
  }
  static parameters::what kind(part of) {
    using what = parameters::what;
    return of == part::weights ? what::values : of == part::gradients ? what::gradients : what::states;
  }

  trainer_options options_;
  team threads_;
  parameters parameters_;
  adamw optimizer_;
  learner<Isa> learner_;
  bool joined_ = true;
};

}  // namespace cke::train
