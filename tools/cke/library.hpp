// SPDX-License-Identifier: MIT
// library.hpp: loads a shared object with the C interface of cke.h, as an any_model.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cke/cke_bare.h>
#include <cke/cke_dump.h>
#include <cke/cke_ranks.h>
#include <cke/cke_train.h>
#include <cke/any_model.hpp>
#include <cke/io/checkpoint.hpp>
#include <cke/runtime/sequence.hpp>

#include "rooms.hpp"
#include "unit.hpp"

namespace cke::tool {

class library {
 public:
  // Returns nullptr if the file is no shared object, lacks a function of this kind, or has another ABI; `why` says
  // which.
  static std::shared_ptr<const library> open(const std::string& path, door_kind kind, std::string& why);

  // The program and its memory plan as JSON. Throws Error.
  std::string plan_json(const model_options& options) const;
  std::string ranks_plan_json(u32 ranks) const;                       // what each holds and sends
  std::string tower_plan_json(u32 patches) const;                     // for images of up to so many
  std::string stepper_plan_json(const model_options& options) const;  // the codes that it walks

  // The functions of cke.h, cke_train.h, cke_dump.h, cke_bare.h and cke_ranks.h, looked up by name: those of the kind.
  // clang-format off
#define CKE_MODEL_DOOR(F)                                                                                         \
  F(cke_model_load) F(cke_model_from_tensors) F(cke_model_free) F(cke_model_facts)                                \
  F(cke_model_plan_json) F(cke_model_watch) F(cke_session_create) F(cke_session_fork) F(cke_session_free)         \
  F(cke_session_feed) F(cke_session_feed_all) F(cke_sessions_feed) F(cke_session_logits) F(cke_session_position)  \
  F(cke_session_rewind) F(cke_session_recall) F(cke_session_history) F(cke_session_save) F(cke_session_load)      \
  F(cke_form_of_packed) F(cke_model_packed) F(cke_model_from_packed) F(cke_session_slide) F(cke_image_add) F(cke_image_find) F(cke_image_first_id) F(cke_image_free)
#define CKE_TOWER_DOOR(F)                                                                                         \
  F(cke_tower_from_tensors) F(cke_tower_free) F(cke_tower_facts_of) F(cke_tower_plan_json) F(cke_tower_rows)                 \
  F(cke_tower_encode)
#define CKE_TRAINER_DOOR(F)                                                                                       \
  F(cke_trainer_from_tensors) F(cke_trainer_plan) F(cke_trainer_initial) F(cke_trainer_loss) F(cke_trainer_free) F(cke_trainer_facts) F(cke_trainer_add_gradients)               \
  F(cke_trainer_gradient_norm) F(cke_trainer_step) F(cke_trainer_clear) F(cke_trainer_read) F(cke_trainer_write)  \
  F(cke_trainer_resume) F(cke_trainer_added_count) F(cke_trainer_added) F(cke_trainer_read_added)                   \
  F(cke_trainer_write_added)
#define CKE_STEPPER_DOOR(F)                                                                                       \
  F(cke_stepper_from_tensors) F(cke_stepper_free) F(cke_stepper_plan_json) F(cke_stepper_run)                     \
  F(cke_step_output_of) F(cke_step_read) F(cke_stepper_letters)
#define CKE_BARE_DOOR(F) F(cke_bare_image) F(cke_bare_vocab) F(cke_bare_memory_bytes)
#define CKE_RANKS_DOOR(F) F(cke_ranks_abi_version) F(cke_model_of_rank) F(cke_ranks_plan_json)
// clang-format on
#define CKE_DOOR_POINTER(name) decltype(&::name) name{};
  CKE_DOOR_POINTER(cke_abi_version)
  CKE_DOOR_POINTER(cke_train_abi_version)
  CKE_DOOR_POINTER(cke_dump_abi_version)
  CKE_DOOR_POINTER(cke_bare_abi_version)
  CKE_MODEL_DOOR(CKE_DOOR_POINTER)
  CKE_TOWER_DOOR(CKE_DOOR_POINTER)
  CKE_TRAINER_DOOR(CKE_DOOR_POINTER)
  CKE_STEPPER_DOOR(CKE_DOOR_POINTER)
  CKE_BARE_DOOR(CKE_DOOR_POINTER)
  CKE_RANKS_DOOR(CKE_DOOR_POINTER)
#undef CKE_DOOR_POINTER

 private:
  std::shared_ptr<void> handle_;
};

// Loads a checkpoint through the C interface, on one of several ranks if the options say so. Throws Error, as
// Model::load does.
std::unique_ptr<any_model> load_any_model(std::shared_ptr<const library> door, const checkpoint& from,
                                          const model_options& options);

// The packed weights of a model that load_any_model has loaded, one after the other.
using take_packed = std::function<void(const std::string& name, std::span<const std::byte> bytes)>;
void each_packed(const any_model& model, const take_packed& take);

// The image of a bare model. Throws Error, as Model::load does.
std::string bare_image_of(const library& door, const checkpoint& from, const model_options& options);

// A model over packed weights, which `kept` keeps in memory. Throws Error.
std::unique_ptr<any_model> load_packed_model(std::shared_ptr<const library> door, const cke_packed& weights,
                                             const std::string& source, std::shared_ptr<const void> kept,
                                             const model_options& options);

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
  double gradient_norm();
  double step(const cke_adamw& options);  // returns the norm
  void clear() { door_->cke_trainer_clear(trainer_); }
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

// A vision tower, loaded through the C interface. Errors are those of ImageEncoder.
class tower_model {
 public:
  tower_model(std::shared_ptr<const library> door, const checkpoint& from, u32 threads);
  ~tower_model();
  tower_model(const tower_model&) = delete;
  tower_model& operator=(const tower_model&) = delete;

  cke_tower_facts facts() const { return door_->cke_tower_facts_of(tower_); }
  u32 rows_of(patch_grid grid) const;
  std::vector<float> encode(const runtime::image_values& image) const;  // [rows_of(image.grid)][width]

 private:
  std::shared_ptr<const library> door_;
  cke_tower* tower_;
};

}  // namespace cke::tool
