// SPDX-License-Identifier: MIT
// library.cpp: implements library.hpp.
#include "library.hpp"

#include <dlfcn.h>

#include "c_options.hpp"
#include "library_call.hpp"

namespace cke::tool {

std::shared_ptr<const library> library::open(const std::string& path, door_kind kind, std::string& why) {
  auto opened = std::make_shared<library>();
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return why = dlerror(), nullptr;
  opened->handle_.reset(handle, dlclose);
#define CKE_DOOR_FIND(name)                                                 \
  opened->name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name)); \
  if (!opened->name) return why = "no function " #name, nullptr;
  const auto wrong_version = [&](u32 version, u32 ours) {
    if (version != ours)
      why = "one of ABI version " + std::to_string(version) + ", where this command has " + std::to_string(ours);
    return version != ours;
  };
  if (kind == door_kind::trainer) {
    CKE_DOOR_FIND(cke_train_abi_version)
    CKE_TRAINER_DOOR(CKE_DOOR_FIND)
    if (wrong_version(opened->cke_train_abi_version(), CKE_TRAIN_ABI_VERSION)) return nullptr;
    return opened;
  }
  if (kind == door_kind::stepper || kind == door_kind::fused_stepper) {
    CKE_DOOR_FIND(cke_dump_abi_version)
    CKE_STEPPER_DOOR(CKE_DOOR_FIND)
    if (wrong_version(opened->cke_dump_abi_version(), CKE_DUMP_ABI_VERSION)) return nullptr;
    return opened;
  }
  if (kind == door_kind::bare) {
    CKE_DOOR_FIND(cke_bare_abi_version)
    CKE_BARE_DOOR(CKE_DOOR_FIND)
    if (wrong_version(opened->cke_bare_abi_version(), CKE_BARE_ABI_VERSION)) return nullptr;
    return opened;
  }
  CKE_DOOR_FIND(cke_abi_version)
  if (kind == door_kind::tower) {
    CKE_TOWER_DOOR(CKE_DOOR_FIND)
  } else {
    CKE_MODEL_DOOR(CKE_DOOR_FIND)
  }
  if (kind == door_kind::ranked) {
    CKE_RANKS_DOOR(CKE_DOOR_FIND)
    if (wrong_version(opened->cke_ranks_abi_version(), CKE_RANKS_ABI_VERSION)) return nullptr;
  }
#undef CKE_DOOR_FIND
  if (wrong_version(opened->cke_abi_version(), CKE_ABI_VERSION)) return nullptr;
  return opened;
}

namespace {
void append(void* to, const char* part, std::size_t n) { static_cast<std::string*>(to)->append(part, n); }
}  // namespace

std::string library::plan_json(const model_options& options) const {
  std::string text;
  const c_options o(options);
  cke_error error{};
  check(cke_model_plan_json(&o, append, &text, &error), error);
  return text;
}
std::string library::ranks_plan_json(u32 ranks) const {
  std::string text;
  cke_error error{};
  check(cke_ranks_plan_json(ranks, append, &text, &error), error);
  return text;
}
std::string library::tower_plan_json(u32 patches) const {
  std::string text;
  cke_error error{};
  check(cke_tower_plan_json(patches, append, &text, &error), error);
  return text;
}
std::string library::stepper_plan_json(const model_options& options) const {
  std::string text;
  const c_options o(options);
  cke_error error{};
  check(cke_stepper_plan_json(&o, append, &text, &error), error);
  return text;
}

}  // namespace cke::tool
