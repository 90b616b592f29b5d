// SPDX-License-Identifier: MIT
// library.cpp: implements library.hpp.
#include "library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <exception>

#include "c_options.hpp"
#include "error_parts.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

// `source`: what the messages of a load begin with.
void check(int32_t status, const cke_error& error, std::string_view source = {}) {
  if (status) throw parted_error(static_cast<errc>(error.code - 1), error.message, source);
}
template <class T> T* check(T* made, const cke_error& error, std::string_view source = {}) {
  if (!made) check(error.code, error, source);
  return made;
}

// Receivers of a load's progress: the caller, and the files, whose pages can be released.
struct listeners {
  const progress_callback& progress;
  std::vector<const mapped_file*> files;

  listeners(const checkpoint& from, const model_options& o) : progress(o.progress) {
    for (const tensor_ref& t : from.tensors.tensors())
      if (std::ranges::find(files, t.file.get()) == files.end()) files.push_back(t.file.get());
  }
  void attach(cke_options& c) {
    c.user = this;
    if (progress)
      c.progress = [](void* user, uint64_t done, uint64_t total) {
        static_cast<listeners*>(user)->progress(done, total);
      };
    c.copied = [](void* user, const void* data, uint64_t bytes) {
      for (const mapped_file* file : static_cast<listeners*>(user)->files)
        file->drop({static_cast<const std::byte*>(data), bytes});
    };
  }
};

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
  void rewind(u32 position) override { door_->cke_session_rewind(session_, position); }
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
  held_image add_image(const image_key& key, patch_grid grid, std::span<const float> features) const override {
    const uint64_t words[]{key.high, key.low};
    cke_error error{};
    return held(
        check(door_->cke_image_add(model_, words, grid.height, grid.width, features.data(), features.size(), &error),
              error),
        grid);
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

namespace {
// The tensors of a checkpoint in C's form; they refer to it.
std::vector<cke_tensor> c_tensors(const checkpoint& from) {
  std::vector<cke_tensor> tensors;
  for (const tensor_ref& t : from.tensors.tensors())
    tensors.push_back({t.name.c_str(), static_cast<u32>(t.type), static_cast<u32>(t.shape.size()), t.shape.data(),
                       t.bytes.data(), t.bytes.size()});
  return tensors;
}
int32_t naming_of(const checkpoint& from) { return from.as == naming::gguf ? CKE_NAMES_GGUF : CKE_NAMES_HF; }
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

std::string bare_image_of(const library& door, const checkpoint& from, const model_options& options) {
  const std::vector<cke_tensor> tensors = c_tensors(from);
  listeners all(from, options);
  c_options o(options);
  all.attach(o);
  std::string image;
  const auto take = [](void* user, const void* bytes, uint64_t count) {
    static_cast<std::string*>(user)->assign(static_cast<const char*>(bytes), count);
  };
  cke_error error{};
  check(
      door.cke_bare_image(tensors.data(), tensors.size(), naming_of(from), from.name.c_str(), &o, take, &image, &error),
      error, from.name);
  return image;
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

tower_model::tower_model(std::shared_ptr<const library> door, const checkpoint& from, u32 threads)
    : door_(std::move(door)) {
  const std::vector<cke_tensor> tensors = c_tensors(from);
  const model_options options{.threads = threads};
  listeners all(from, options);
  c_options o(options);
  all.attach(o);
  cke_error error{};
  tower_ = check(
      door_->cke_tower_from_tensors(tensors.data(), tensors.size(), naming_of(from), from.name.c_str(), &o, &error),
      error, from.name);
}
tower_model::~tower_model() { door_->cke_tower_free(tower_); }

u32 tower_model::rows_of(patch_grid grid) const {
  cke_error error{};
  const u32 rows = door_->cke_tower_rows(tower_, grid.height, grid.width, &error);
  check(error.code, error);
  return rows;
}
std::vector<float> tower_model::encode(const runtime::image_values& image) const {
  std::vector<float> features(std::size_t{rows_of(image.grid)} * facts().width);
  const bool rows = !image.rows.empty();
  const cke_patches patches{image.grid.height,
                            image.grid.width,
                            rows ? image.rows.data() : nullptr,
                            image.raster,
                            rows ? nullptr : image.pixels.data(),
                            rows ? image.rows.size() : image.pixels.size(),
                            image.channels,
                            image.height,
                            image.width,
                            image.side};
  cke_error error{};
  check(door_->cke_tower_encode(tower_, &patches, features.data(), features.size(), &error), error);
  return features;
}

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
