// SPDX-License-Identifier: MIT
// stepper_model.hpp: the model of a library that stops after each step.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <cke/io/checkpoint.hpp>

#include "library.hpp"

namespace cke::tool {

// A model that runs step by step, through the C interface. Errors are those of loading and feeding a model.
class stepper_model {
 public:
  using step_taker = std::function<bool(const cke_step&)>;  // false: the pass ends

  stepper_model(std::shared_ptr<const library> door, const checkpoint& from, const model_options& options);
  ~stepper_model();
  stepper_model(const stepper_model&) = delete;
  stepper_model& operator=(const stepper_model&) = delete;

  // Feeds ids to a new sequence. `take` sees every step while nothing else runs; what it throws leaves run().
  void run(std::span<const u32> ids, const step_taker& take);
  cke_step_output output(const cke_step& step, u32 i) const { return door_->cke_step_output_of(&step, i); }
  std::vector<float> read(const cke_step& step, u32 i) const;  // [rows][width]
  u64 letters(opcode op) const { return door_->cke_stepper_letters(stepper_, static_cast<u8>(op)); }

 private:
  std::shared_ptr<const library> door_;
  cke_stepper* stepper_;
};

}  // namespace cke::tool
