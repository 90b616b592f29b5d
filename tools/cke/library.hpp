// SPDX-License-Identifier: MIT
// library.hpp: a shared object with the C interface of cke.h, opened, and its functions.
#pragma once

#include <memory>
#include <string>

#include <cke/cke_bare.h>
#include <cke/cke_dump.h>
#include <cke/cke_ranks.h>
#include <cke/cke_train.h>
#include <cke/any_model.hpp>
#include <cke/runtime/loaded.hpp>

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
  F(cke_trainer_from_tensors) F(cke_trainer_plan) F(cke_trainer_initial) F(cke_trainer_loss)                      \
  F(cke_trainer_logits_after) F(cke_trainer_free) F(cke_trainer_facts) F(cke_trainer_add_gradients)               \
  F(cke_trainer_gradient_norm) F(cke_trainer_step) F(cke_trainer_clear) F(cke_trainer_read)                       \
  F(cke_trainer_write) F(cke_trainer_resume) F(cke_trainer_added_count) F(cke_trainer_added)                      \
  F(cke_trainer_read_added) F(cke_trainer_write_added)
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

}  // namespace cke::tool
