// SPDX-License-Identifier: MIT
// library_model.cpp: implements library_model.hpp.
#include "library_model.hpp"

#include <exception>

#include "library_call.hpp"

namespace cke::tool {
namespace {

class library_session final : public any_session {
 public:
  library_session(std::shared_ptr<const library> door, cke_session* session, const cke_facts& facts)
      : door_(std::move(door)), session_(session), facts_(facts) {}
  ~library_session() override { door_->cke_session_free(session_); }

  using any_session::feed;
  void feed(std::span<const u32> ids) override {
    cke_error error{};
    check(door_->cke_session_feed(session_, ids.data(), ids.size(), &error), error);
  }
  // An exception of `take` is kept until the C function has returned.
  void feed_all(std::span<const u32> ids, const take_logits& take) override {
    struct state {
      const take_logits& take;
      u32 vocab;
      std::exception_ptr thrown;
    } s{take, facts_.vocab, {}};
    const auto forward = [](void* user, uint32_t index, const float* row) {
      auto& to = *static_cast<state*>(user);
      if (to.thrown) return;
      try {
        to.take(index, {row, to.vocab});
      } catch (...) { to.thrown = std::current_exception(); }
    };
    cke_error error{};
    check(door_->cke_session_feed_all(session_, ids.data(), ids.size(), forward, &s, &error), error);
    if (s.thrown) std::rethrow_exception(s.thrown);
  }
  std::span<const float> logits() const override { return {door_->cke_session_logits(session_), facts_.vocab}; }
  std::span<const u32> history() const override { return {door_->cke_session_history(session_), position()}; }
  u32 position() const override { return door_->cke_session_position(session_); }
  u32 context() const override { return facts_.context; }
  void slide() override {
    cke_error error{};
    check(door_->cke_session_slide(session_, &facts_.context, &error), error);
  }
  u32 rewind(u32 position) override { return door_->cke_session_rewind(session_, position); }
  u32 recall(std::span<const u32> ids) override {
    cke_error error{};
    u32 taken = 0;
    check(door_->cke_session_recall(session_, ids.data(), ids.size(), &taken, &error), error);
    return taken;
  }
  std::unique_ptr<any_session> fork() const override {
    cke_error error{};
    return std::make_unique<library_session>(door_, check(door_->cke_session_fork(session_, &error), error), facts_);
  }
  void save(const std::string& path) const override {
    cke_error error{};
    check(door_->cke_session_save(session_, path.c_str(), &error), error, path);
  }
  void load(const std::string& path) override {
    cke_error error{};
    check(door_->cke_session_load(session_, path.c_str(), &error), error, path);
  }

  // The session, if it belongs to `door` and so can be fed together with others of it.
  cke_session* session_of(const library& door) const { return &door == door_.get() ? session_ : nullptr; }

 private:
  std::shared_ptr<const library> door_;
  cke_session* session_;
  cke_facts facts_;
};

class library_model final : public any_model {
 public:
  library_model(std::shared_ptr<const library> door, cke_model* model)
      : door_(std::move(door)), model_(model), facts_(door_->cke_model_facts(model)) {}
  ~library_model() override { door_->cke_model_free(model_); }

  u32 vocab_size() const override { return facts_.vocab; }
  u32 dim() const override { return facts_.dim; }
  u32 context() const override { return facts_.context; }
  u32 threads() const override { return facts_.threads; }
  dtype kv() const override { return static_cast<dtype>(facts_.kv_type); }
  std::string_view isa() const override { return facts_.isa; }
  u64 parameters() const override { return facts_.parameters; }
  u64 weight_bytes() const override { return facts_.weight_bytes; }
  u64 activation_bytes() const override { return facts_.activation_bytes; }
  u64 state_bytes() const override { return facts_.state_bytes; }
  void watch(const tracer& t) const override { door_->cke_model_watch(model_, t.take, t.user); }
  u32 image_width() const override { return facts_.image_width; }
  held_image add_image(const image_key& key, patch_grid grid, std::span<const float> features,
                       frame_time time) const override {
    const uint64_t words[]{key.high, key.low};
    cke_error error{};
    cke_image* const image = door_->cke_image_add(model_, words, grid.height, grid.width, time ? int64_t{*time} : -1,
                                                  features.data(), features.size(), &error);
    return held(check(image, error), grid);
  }
  held_image find_image(const image_key& key, patch_grid grid) const override {
    const uint64_t words[]{key.high, key.low};
    cke_error error{};
    cke_image* const image = door_->cke_image_find(model_, words, &error);
    check(error.code, error);
    return image ? held(image, grid) : held_image{};
  }
  std::unique_ptr<any_session> open() const override {
    cke_error error{};
    return std::make_unique<library_session>(door_, check(door_->cke_session_create(model_, &error), error), facts_);
  }
  void feed_together(std::span<const turn> turns) override {
    std::vector<cke_turn> list;
    list.reserve(turns.size());
    for (const turn& t : turns) {
      auto* const ours = dynamic_cast<library_session*>(t.of);
      list.push_back({ours ? ours->session_of(*door_) : nullptr, t.ids.data(), t.ids.size(), t.hidden.take, t.each.take,
                      t.hidden ? t.hidden.user : t.each.user});
    }
    cke_error error{};
    check(door_->cke_sessions_feed(list.data(), list.size(), &error), error);
  }
  void each_packed(const take_packed& take) const {
    const auto forward = [](void* to, const char* name, const void* data, uint64_t bytes) {
      (*static_cast<const take_packed*>(to))(name, {static_cast<const std::byte*>(data), bytes});
    };
    cke_error error{};
    check(door_->cke_model_packed(model_, forward, const_cast<take_packed*>(&take), &error), error);
  }

 private:
  held_image held(cke_image* image, patch_grid grid) const {
    return {door_->cke_image_first_id(image), grid.patches(),
            std::shared_ptr<const void>(image, [door = door_](cke_image* i) { door->cke_image_free(i); })};
  }

  std::shared_ptr<const library> door_;
  cke_model* model_;
  cke_facts facts_;
};

}  // namespace

std::unique_ptr<any_model> load_any_model(std::shared_ptr<const library> door, const checkpoint& from,
                                          const model_options& options) {
  const std::vector<cke_tensor> tensors = c_tensors(from);
  listeners all(from, options);
  c_options o(options);
  all.attach(o);
  cke_error error{};
  const rank_link& r = options.ranks;
  const cke_rank_link link{r.rank, r.count, r.all_gather, r.user};
  cke_model* const model = r.count > 1
      ? door->cke_model_of_rank(tensors.data(), tensors.size(), naming_of(from), from.name.c_str(), &o, &link, &error)
      : door->cke_model_from_tensors(tensors.data(), tensors.size(), naming_of(from), from.name.c_str(), &o, &error);
  check(model, error, from.name);
  return std::make_unique<library_model>(std::move(door), model);
}

void each_packed(const any_model& model, const take_packed& take) {
  dynamic_cast<const library_model&>(model).each_packed(take);
}

std::unique_ptr<any_model> load_packed_model(std::shared_ptr<const library> door, const cke_packed& weights,
                                             const std::string& source, std::shared_ptr<const void> kept,
                                             const model_options& options) {
  const c_options o(options);
  cke_error error{};
  cke_model* const model = check(door->cke_model_from_packed(&weights, source.c_str(), &o, &error), error);
  // The model and its sessions share the library, and with it what their weights lie in.
  struct owner {
    std::shared_ptr<const library> door;
    std::shared_ptr<const void> kept;
  };
  const auto both = std::make_shared<const owner>(std::move(door), std::move(kept));
  return std::make_unique<library_model>(std::shared_ptr<const library>(both, both->door.get()), model);
}

}  // namespace cke::tool
