// SPDX-License-Identifier: MIT
// trainer.hpp: trains a model of a type: cke::trainer<cke::Qwen3_0_6B> t(cke::hf("DIR")).
#pragma once

#include "model.hpp"
#include "train/trainer.hpp"

namespace cke {

using train::adamw_options;
using train::example;
using train::no_target;
using train::trainer_options;

// All weights of M in f32, their gradients and AdamW's state: see train::trainer_of for what it does.
template <class M, class Isa = isa::native> class trainer : public train::trainer_of<Isa> {
  using program = graph::program<M, F32, false>;

 public:
  static constexpr u32 vocab = program::vocab;

  // Throws what loading a model throws, config_range for numbers that are not finite, out_of_memory.
  explicit trainer(const checkpoint& from, const trainer_options& o = {})
      : trainer(from.tensors, from.name, from.as, o) {}
  template <class Tensors>
  trainer(const Tensors& from, std::string_view file, naming as, const trainer_options& o = {})
      : train::trainer_of<Isa>(
            train::taped_program::of<program>(),
            train::parameters<Isa>::load(std::type_identity<program>{}, from, file, as, names_of<M>()), o) {}
};

}  // namespace cke
