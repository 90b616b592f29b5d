// SPDX-License-Identifier: MIT
// trainer_model.cpp: implements trainer_model.hpp.
#include "trainer_model.hpp"

#include <exception>

#include "library_call.hpp"

namespace cke::tool {

cke_train_plan training_plan_of(const library& door, const cke_train_options& options) {
  cke_train_plan plan{};
  cke_error error{};
  check(door.cke_trainer_plan(&options, &plan, &error), error);
  return plan;
}

tensor_index initial_weights(const library& door, const cke_initial& options, const std::string& name) {
  struct block {
    std::vector<std::byte> bytes;
    mapped_file as_file;
    block(std::span<const std::byte> from, const std::string& of)
        : bytes(from.begin(), from.end()), as_file(of, bytes) {}
  };
  struct state {
    const std::string& name;
    std::vector<tensor_ref> made;
    std::exception_ptr thrown;
  } s{name, {}, {}};
  const auto take = [](void* user, const cke_tensor* t) {
    auto& to = *static_cast<state*>(user);
    if (to.thrown) return;
    try {
      const auto held =
          std::make_shared<const block>(std::span(static_cast<const std::byte*>(t->data), t->bytes), to.name);
      tensor_shape shape;
      for (uint32_t d = 0; d < t->rank; ++d) shape.push_back(t->shape[d]);
      to.made.push_back({t->name, dtype::f32, "F32", shape, held->bytes, {held, &held->as_file}});
    } catch (...) { to.thrown = std::current_exception(); }
  };
  cke_error error{};
  check(door.cke_trainer_initial(&options, take, &s, &error), error);
  if (s.thrown) std::rethrow_exception(s.thrown);
  return tensor_index(std::move(s.made));
}

trainer_model::trainer_model(std::shared_ptr<const library> door, const checkpoint& from,
                             const cke_train_options& options)
    : door_(std::move(door)) {
  const std::vector<cke_tensor> tensors = c_tensors(from);
  cke_error error{};
  trainer_ = check(door_->cke_trainer_from_tensors(tensors.data(), tensors.size(), naming_of(from), from.name.c_str(),
                                                   &options, &error),
                   error, from.name);
}
trainer_model::~trainer_model() { door_->cke_trainer_free(trainer_); }

double trainer_model::add_gradients(std::span<const cke_example> examples, double share) {
  double loss = 0;
  cke_error error{};
  check(door_->cke_trainer_add_gradients(trainer_, examples.data(), examples.size(), share, &loss, &error), error);
  return loss;
}
double trainer_model::loss(std::span<const cke_example> examples) {
  double loss = 0;
  cke_error error{};
  check(door_->cke_trainer_loss(trainer_, examples.data(), examples.size(), &loss, &error), error);
  return loss;
}
void trainer_model::logits_after(std::span<const u32> ids, std::span<float> logits) {
  cke_error error{};
  check(door_->cke_trainer_logits_after(trainer_, ids.data(), ids.size(), logits.data(), &error), error);
}
double trainer_model::gradient_norm() {
  double norm = 0;
  cke_error error{};
  check(door_->cke_trainer_gradient_norm(trainer_, &norm, &error), error);
  return norm;
}
double trainer_model::step(const cke_adamw& options) {
  double norm = 0;
  cke_error error{};
  check(door_->cke_trainer_step(trainer_, &options, &norm, &error), error);
  return norm;
}
bool trainer_model::read(int32_t part, std::size_t tensor, std::span<float> to) {
  int32_t any = 0;
  cke_error error{};
  check(door_->cke_trainer_read(trainer_, part, tensor, to.data(), to.size(), &any, &error), error);
  return any != 0;
}
void trainer_model::write(int32_t part, std::size_t tensor, std::span<const float> from) {
  cke_error error{};
  check(door_->cke_trainer_write(trainer_, part, tensor, from.data(), from.size(), &error), error);
}
void trainer_model::read_added(int32_t part, std::size_t i, float* a, float* b) {
  cke_error error{};
  check(door_->cke_trainer_read_added(trainer_, part, i, a, b, &error), error);
}
void trainer_model::write_added(int32_t part, std::size_t i, const float* a, const float* b) {
  cke_error error{};
  check(door_->cke_trainer_write_added(trainer_, part, i, a, b, &error), error);
}
void trainer_model::resume(u64 steps) {
  cke_error error{};
  check(door_->cke_trainer_resume(trainer_, steps, &error), error);
}

}  // namespace cke::tool
