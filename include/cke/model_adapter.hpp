// SPDX-License-Identifier: MIT
// model_adapter.hpp: adapters from Model and Session to the abstract classes of any_model.hpp.
#pragma once

#include <utility>

#include "any_model.hpp"
#include "session_file.hpp"

namespace cke {

template <class Session> class session_adapter final : public any_session {
 public:
  explicit session_adapter(Session session) : session_(std::move(session)) {}

  using any_session::feed;
  void feed(std::span<const u32> ids) override { session_.feed(ids); }
  void feed_all(std::span<const u32> ids, const take_logits& take) override { session_.feed_all(ids, take); }
  std::span<const float> logits() const override { return session_.logits(); }
  std::span<const u32> history() const override { return session_.history(); }
  u32 position() const override { return session_.position(); }
  u32 context() const override { return session_.context(); }
  void slide() override { session_.slide(); }
  u32 rewind(u32 position) override { return session_.rewind(position); }
  u32 recall(std::span<const u32> ids) override { return session_.recall(ids); }
  std::unique_ptr<any_session> fork() const override { return std::make_unique<session_adapter>(*this); }
  void save(const std::string& path) const override { save_session(session_, path); }
  void load(const std::string& path) override { load_session(session_, path); }

  Session& session() { return session_; }

 private:
  Session session_;
};

template <class Model> class model_adapter final : public any_model {
 public:
  explicit model_adapter(Model model) : model_(std::move(model)) {}

  u32 vocab_size() const override { return Model::vocab_size; }
  u32 dim() const override { return Model::program::dim; }
  u32 context() const override { return model_.context(); }
  u32 threads() const override { return model_.threads(); }
  dtype kv() const override { return Model::kv; }
  std::string_view isa() const override { return Model::isa::name; }
  u64 parameters() const override { return Model::program::parameters; }
  u64 weight_bytes() const override { return model_.weight_bytes(); }
  u64 activation_bytes() const override { return model_.activation_bytes(); }
  u64 state_bytes() const override { return model_.state_bytes(); }
  std::unique_ptr<any_session> open() const override {
    auto session = model_.session();
    return std::make_unique<session_adapter<decltype(session)>>(std::move(session));
  }
  void feed_together(std::span<const turn> turns) override {
    using session = decltype(model_.session());
    session::feed_together(static_cast<u32>(turns.size()), [&](u32 i) -> typename session::feeding {
      auto* const ours = dynamic_cast<session_adapter<session>*>(turns[i].of);
      return {ours ? &ours->session() : nullptr, turns[i].ids, turns[i].hidden, turns[i].each};
    });
  }
  void watch(const tracer& t) const override { model_.watch(t); }

  u32 image_width() const override { return Model::program::image_width; }
  held_image add_image(const image_key& key, patch_grid grid, std::span<const float> features,
                       frame_time time) const override {
    if constexpr (Model::program::sees_images) return held(model_.add_image(key, grid, features, time));
    else refuse();
  }
  held_image find_image(const image_key& key, patch_grid) const override {
    if constexpr (Model::program::sees_images) return held(model_.find_image(key));
    else refuse();
  }

 private:
  static held_image held(const runtime::image_ref& of) {
    return of ? held_image{of->first, of->rows(), of} : held_image{};
  }
  [[noreturn]] static void refuse() {
    throw Error(errc::unsupported, {}, "image", "a model that sees images", "another");
  }

  Model model_;
};

}  // namespace cke
