// SPDX-License-Identifier: MIT
// trainer_model.hpp: the trainer of a library.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <cke/io/checkpoint.hpp>

#include "library.hpp"

namespace cke::tool {

// A trainer, through the C interface. Tensors are numbered as in the checkpoint. Errors are those of train::trainer_of.
class trainer_model {
 public:
  trainer_model(std::shared_ptr<const library> door, const checkpoint& from, const cke_train_options& options);
  ~trainer_model();
  trainer_model(const trainer_model&) = delete;
  trainer_model& operator=(const trainer_model&) = delete;

  cke_train_facts facts() const { return door_->cke_trainer_facts(trainer_); }
  double add_gradients(std::span<const cke_example> examples, double share = 1);  // returns the mean loss
  double loss(std::span<const cke_example> examples);                             // the mean; gradients stay
  void logits_after(std::span<const u32> ids, std::span<float> logits);           // [vocab] of the facts
  double gradient_norm();
  double step(const cke_adamw& options);  // returns the norm
  // False if nothing in the tensor is trained.
  bool read(int32_t part, std::size_t tensor, std::span<float> to);
  void write(int32_t part, std::size_t tensor, std::span<const float> from);
  void resume(u64 steps);
  // What is added to tensors: A and B of one are cols * rank and rows * rank numbers.
  std::size_t added_count() const { return door_->cke_trainer_added_count(trainer_); }
  cke_added added(std::size_t i) const { return door_->cke_trainer_added(trainer_, i); }
  void read_added(int32_t part, std::size_t i, float* a, float* b);
  void write_added(int32_t part, std::size_t i, const float* a, const float* b);

 private:
  std::shared_ptr<const library> door_;
  cke_trainer* trainer_;
};

// Bytes that training takes. Throws Error.
cke_train_plan training_plan_of(const library& door, const cke_train_options& options);

// What the tensors of a model without a checkpoint begin as, in memory that they hold; errors call it `name`.
tensor_index initial_weights(const library& door, const cke_initial& options, const std::string& name);

}  // namespace cke::tool
