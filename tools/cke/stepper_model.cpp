// SPDX-License-Identifier: MIT
// stepper_model.cpp: implements stepper_model.hpp.
#include "stepper_model.hpp"

#include <exception>

#include "library_call.hpp"

namespace cke::tool {

stepper_model::stepper_model(std::shared_ptr<const library> door, const checkpoint& from, const model_options& options)
    : door_(std::move(door)) {
  const std::vector<cke_tensor> tensors = c_tensors(from);
  listeners all(from, options);
  c_options o(options);
  all.attach(o);
  cke_error error{};
  stepper_ = check(
      door_->cke_stepper_from_tensors(tensors.data(), tensors.size(), naming_of(from), from.name.c_str(), &o, &error),
      error);
}
stepper_model::~stepper_model() { door_->cke_stepper_free(stepper_); }

void stepper_model::run(std::span<const u32> ids, const step_taker& take) {
  struct state {
    const step_taker& take;
    std::exception_ptr thrown;
  } s{take, {}};
  const auto forward = [](void* user, const cke_step* step) -> int32_t {
    auto& to = *static_cast<state*>(user);
    try {
      return !to.take(*step);
    } catch (...) { return to.thrown = std::current_exception(), 1; }
  };
  cke_error error{};
  check(door_->cke_stepper_run(stepper_, ids.data(), ids.size(), forward, &s, &error), error);
  if (s.thrown) std::rethrow_exception(s.thrown);
}
std::vector<float> stepper_model::read(const cke_step& step, u32 i) const {
  const cke_step_output o = output(step, i);
  std::vector<float> values(std::size_t{o.rows} * o.width);
  door_->cke_step_read(&step, i, values.data());
  return values;
}

}  // namespace cke::tool
