// SPDX-License-Identifier: MIT
// library.hpp: loads a shared object with the C interface of cke.h, as an any_model.
#pragma once

#include <memory>
#include <string>

#include <cke/cke.h>
#include <cke/any_model.hpp>
#include <cke/io/checkpoint.hpp>
#include <cke/runtime/sequence.hpp>

#include "rooms.hpp"

namespace cke::tool {

class library {
 public:
  // Returns nullptr if the file is no shared object, lacks a function of cke.h, or has another ABI; `why` says which.
  static std::shared_ptr<const library> open(const std::string& path, std::string& why);

  // The program and its memory plan as JSON. Throws Error.
  std::string plan_json(const model_options& options) const;

  // The functions of cke.h, looked up by name.
  // clang-format off
#define CKE_DOOR(F)                                                                                               \
  F(cke_abi_version) F(cke_model_load) F(cke_model_from_tensors) F(cke_model_free) F(cke_model_facts)             \
  F(cke_model_plan_json) F(cke_model_watch) F(cke_session_create) F(cke_session_fork) F(cke_session_free)         \
  F(cke_session_feed) F(cke_session_feed_all) F(cke_sessions_feed) F(cke_session_logits) F(cke_session_position)  \
  F(cke_session_rewind) F(cke_session_recall) F(cke_session_history) F(cke_session_save) F(cke_session_load)      \
  F(cke_session_slide)
// clang-format on
#define CKE_DOOR_POINTER(name) decltype(&::name) name{};
  CKE_DOOR(CKE_DOOR_POINTER)
#undef CKE_DOOR_POINTER

 private:
  std::shared_ptr<void> handle_;
};

// Loads a checkpoint through the C interface. Throws Error, as Model::load does.
std::unique_ptr<any_model> load_any_model(std::shared_ptr<const library> door, const checkpoint& from,
                                          const model_options& options);

}  // namespace cke::tool
