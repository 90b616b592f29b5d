// SPDX-License-Identifier: MIT
// trainer.hpp: trains a model of a type: cke::trainer<cke::Qwen3_0_6B> t(cke::hf("DIR")).
#pragma once

#include "model.hpp"
#include "train/initial.hpp"
#include "train/trainer.hpp"

namespace cke {

using train::adamw_options;
using train::example;
using train::initial_options;
using train::initial_tensors;
using train::low_rank_options;
using train::no_target;
using train::trainer_options;

// The weights of M in f32, gradients and AdamW's state: see train::trainer_of for what it does. With `added`, the
// weights are frozen and low-rank additions to layers' matrices are trained instead; the checkpoint has to outlive the
// trainer then, which reads those matrices from it whenever their layer runs, in the Formats that they have there.
template <class M, class Formats = F32, class Isa = isa::native> class trainer : public train::trainer_of<Isa> {
  using program = graph::program<M, F32, false>;
  using stored = graph::program<M, Formats, false>;

 public:
  static constexpr u32 vocab = program::vocab;

  // Throws what loading a model throws, config_range for numbers that are not finite, out_of_memory, usage.
  explicit trainer(const checkpoint& from, const trainer_options& o = {}, const low_rank_options& added = {})
      : trainer(from.tensors, from.name, from.as, o, added) {}
  trainer(const tensor_source& from, std::string_view file, naming as, const trainer_options& o = {},
          const low_rank_options& added = {})
      : train::trainer_of<Isa>(train::taped_program::of<program>(),
                               train::parameters::load(stored::data, train::taped_program::of<program>(), from, file,
                                                       as, names_of<M>(), added, o.in_f32),
                               o) {}
  // From nothing: initial_tensors, read by this trainer alone.
  explicit trainer(const initial_options& begin, const trainer_options& o = {})
      : trainer(initial(begin), "initial weights", naming::hf, o) {}
  static train::training_plan plan(const trainer_options& o = {}) {
    constexpr u64 twice = program::tied ? program::unfused_header().slots[0].elements() : 0;
    return train::plan_of<Isa>(train::taped_program::of<program>(), program::parameters, twice, o);
  }
  // What the tensors of M begin as, under the names of a Hugging Face checkpoint.
  static initial_tensors initial(const initial_options& o = {}) {
    return initial_tensors::of(program::data, train::taped_program::of<program>(), names_of<M>(), o);
  }
};

}  // namespace cke
