// SPDX-License-Identifier: MIT
// export_trainer.hpp: CKE_EXPORT_TRAINER, which defines the functions of cke_train.h for one model.
#pragma once

#include "cke_train.h"
#include "door.hpp"
#include "trainer.hpp"

namespace cke::door {

template <class M, class Formats = F32, class Isa = isa::native> struct exported_trainer {
  struct given_tensor {
    u64 at, numbers;  // at: its place in the trainer's index
  };
  struct trained {
    trainer<M, Formats, Isa> of;
    std::vector<given_tensor> tensors;  // as they were given
  };
  using part = typename trainer<M, Formats, Isa>::part;

  static trained& of(cke_trainer* t) { return *reinterpret_cast<trained*>(t); }
  static const trained& of(const cke_trainer* t) { return *reinterpret_cast<const trained*>(t); }

  static cke_trainer* from_tensors(const cke_tensor* tensors, std::size_t count, int32_t names, const char* source,
                                   const cke_train_options* o, cke_error* e) noexcept {
    return pointer<cke_trainer>(e, [&] {
      const tensor_index index = index_of(tensors, count, source, nullptr);
      const trainer_options options = options_of(o);
      low_rank_options added;
      if (o) added = {o->rank, o->alpha, o->targets ? std::string_view(o->targets) : std::string_view{}, o->seed};
      std::vector<given_tensor> given;
      for (const cke_tensor& t : std::span(tensors, count)) {
        u64 numbers = 1;
        for (u32 d = 0; d < t.rank; ++d) numbers *= t.shape[d];
        given.push_back({index.number_of(t.name), numbers});
      }
      const naming as = names == CKE_NAMES_GGUF ? naming::gguf : naming::hf;
      return new trained{trainer<M, Formats, Isa>(index, source, as, options, added), std::move(given)};
    });
  }
  static trainer_options options_of(const cke_train_options* o) {
    trainer_options options;
    if (!o) return options;
    options.threads = o->threads, options.optimizes = !o->gradients_only, options.recompute = o->recompute;
    if (o->pads) options.padding = o->padding;
    if (o->context) options.context = o->context;
    if (o->rows) options.rows = o->rows;
    options.bf16 = o->bf16;
    if (o->in_f32) options.in_f32 = o->in_f32;
    options.loss = {o->label_smoothing, o->z_loss, o->balance_loss};
    return options;
  }
  static int32_t plan(const cke_train_options* o, cke_train_plan* to, cke_error* e) noexcept {
    return status(e, [&] {
      const train::training_plan p = trainer<M, Formats, Isa>::plan(options_of(o));
      *to = {p.weights, p.gradients, p.moments, p.values, p.value_slopes, p.rest};
    });
  }
  static int32_t initial(const cke_initial* o, void (*take)(void*, const cke_tensor*), void* user,
                         cke_error* e) noexcept {
    return status(e, [&] {
      initial_options options{o->seed, o->deviation};
      if (o->pads) options.padding = o->padding;
      const initial_tensors all = trainer<M, Formats, Isa>::initial(options);
      for (const train::initial_tensor& of : all.tensors()) {
        const std::span<const std::byte> bytes = std::as_bytes(std::span(of.numbers));
        const cke_tensor one{of.name.c_str(), 0,           static_cast<uint32_t>(of.shape.size()), of.shape.data(),
                             bytes.data(),    bytes.size()};
        take(user, &one);
      }
    });
  }
  static void free(cke_trainer* t) noexcept { delete reinterpret_cast<trained*>(t); }
  static cke_train_facts facts(const cke_trainer* t) noexcept {
    const auto& f = of(t).of;
    return {trainer<M, Formats, Isa>::vocab,
            f.threads(),
            f.parameter_count(),
            f.trained_count(),
            f.weight_bytes(),
            f.pass_bytes(),
            f.steps(),
            f.products(),
            Isa::name.data()};
  }
  static std::vector<example> list_of(const cke_example* examples, std::size_t count) {
    std::vector<example> list;
    for (const cke_example& x : std::span(examples, count)) list.push_back({{x.ids, x.count}, {x.targets, x.count}});
    return list;
  }
  static int32_t add_gradients(cke_trainer* t, const cke_example* examples, std::size_t count, double share,
                               double* loss, cke_error* e) noexcept {
    return status(e, [&] { *loss = of(t).of.add_gradients(list_of(examples, count), share); });
  }
  static int32_t loss_of(cke_trainer* t, const cke_example* examples, std::size_t count, double* loss,
                         cke_error* e) noexcept {
    return status(e, [&] { *loss = of(t).of.loss(list_of(examples, count)); });
  }
  static int32_t logits_after(cke_trainer* t, const uint32_t* ids, std::size_t count, float* logits,
                              cke_error* e) noexcept {
    return status(e, [&] { std::ranges::copy(of(t).of.logits_after({ids, count}), logits); });
  }
  static int32_t gradient_norm(cke_trainer* t, double* norm, cke_error* e) noexcept {
    return status(e, [&] { *norm = of(t).of.gradient_norm(); });
  }
  static int32_t step(cke_trainer* t, const cke_adamw* o, double* norm, cke_error* e) noexcept {
    return status(e, [&] { *norm = of(t).of.step({o->lr, o->beta1, o->beta2, o->eps, o->weight_decay, o->clip}); });
  }
  static void clear(cke_trainer* t) noexcept { of(t).of.clear(); }
  static part checked(int32_t which) {
    if (which < CKE_PART_WEIGHTS || which > CKE_PART_SECOND_MOMENTS)
      throw Error(errc::usage, {}, "part", "CKE_PART_...", std::to_string(which));
    return static_cast<part>(which);
  }
  static u64 place_of(const cke_trainer* t, std::size_t index, std::size_t count) {
    const auto& all = of(t).tensors;
    if (index >= all.size())
      throw Error(errc::usage, {}, "tensor", "less than " + std::to_string(all.size()), std::to_string(index));
    if (count != all[index].numbers)
      throw Error(errc::usage, {}, "numbers of the tensor", std::to_string(all[index].numbers), std::to_string(count));
    return all[index].at;
  }
  static const train::added_tensor& added_of(const cke_trainer* t, std::size_t index) {
    const auto all = of(t).of.added_tensors();
    if (index >= all.size())
      throw Error(errc::usage, {}, "addition", "less than " + std::to_string(all.size()), std::to_string(index));
    return all[index];
  }
  static cke_added added(const cke_trainer* t, std::size_t index) noexcept {
    if (index >= of(t).of.added_tensors().size()) return {};
    const train::added_tensor& a = added_of(t, index);
    return {a.name.c_str(), a.rows, a.cols, a.rank};
  }
  static int32_t read_added(cke_trainer* t, int32_t which, std::size_t index, float* a, float* b,
                            cke_error* e) noexcept {
    return status(e, [&] { of(t).of.read(added_of(t, index), checked(which), a, b); });
  }
  static int32_t write_added(cke_trainer* t, int32_t which, std::size_t index, const float* a, const float* b,
                             cke_error* e) noexcept {
    return status(e, [&] { of(t).of.write(added_of(t, index), checked(which), a, b); });
  }
  static int32_t read(cke_trainer* t, int32_t which, std::size_t index, float* to, std::size_t count, int32_t* any,
                      cke_error* e) noexcept {
    return status(e, [&] { *any = of(t).of.read(place_of(t, index, count), checked(which), to); });
  }
  static int32_t write(cke_trainer* t, int32_t which, std::size_t index, const float* from, std::size_t count,
                       cke_error* e) noexcept {
    return status(e, [&] { of(t).of.write(place_of(t, index, count), checked(which), from); });
  }
  static int32_t resume(cke_trainer* t, uint64_t steps, cke_error* e) noexcept {
    return status(e, [&] { of(t).of.resume(steps); });
  }
};

}  // namespace cke::door

// CKE_EXPORT_TRAINER(Model, Formats), once in a translation unit: defines the functions of cke_train.h for a
// cke::Model's type; Formats, cke::F32 if left out, are those of its file, for low-rank additions to it.
#define CKE_EXPORT_TRAINER(...)                                                                                       \
  using cke_exported_trainer = ::cke::door::exported_trainer<__VA_ARGS__>;                                            \
  uint32_t cke_train_abi_version(void) noexcept { return CKE_TRAIN_ABI_VERSION; }                                     \
  cke_trainer* cke_trainer_from_tensors(const cke_tensor* t, size_t n, int32_t names, const char* source,             \
                                        const cke_train_options* o, cke_error* e) noexcept {                          \
    return cke_exported_trainer::from_tensors(t, n, names, source, o, e);                                             \
  }                                                                                                                   \
  int32_t cke_trainer_initial(const cke_initial* o, void (*take)(void*, const cke_tensor*), void* user,               \
                              cke_error* e) noexcept {                                                                \
    return cke_exported_trainer::initial(o, take, user, e);                                                           \
  }                                                                                                                   \
  int32_t cke_trainer_plan(const cke_train_options* o, cke_train_plan* p, cke_error* e) noexcept {                    \
    return cke_exported_trainer::plan(o, p, e);                                                                       \
  }                                                                                                                   \
  void cke_trainer_free(cke_trainer* t) noexcept { cke_exported_trainer::free(t); }                                   \
  cke_train_facts cke_trainer_facts(const cke_trainer* t) noexcept { return cke_exported_trainer::facts(t); }         \
  int32_t cke_trainer_add_gradients(cke_trainer* t, const cke_example* x, size_t n, double share, double* loss,       \
                                    cke_error* e) noexcept {                                                          \
    return cke_exported_trainer::add_gradients(t, x, n, share, loss, e);                                              \
  }                                                                                                                   \
  int32_t cke_trainer_loss(cke_trainer* t, const cke_example* x, size_t n, double* loss, cke_error* e) noexcept {     \
    return cke_exported_trainer::loss_of(t, x, n, loss, e);                                                           \
  }                                                                                                                   \
  int32_t cke_trainer_logits_after(cke_trainer* t, const uint32_t* ids, size_t n, float* logits,                      \
                                   cke_error* e) noexcept {                                                           \
    return cke_exported_trainer::logits_after(t, ids, n, logits, e);                                                  \
  }                                                                                                                   \
  int32_t cke_trainer_gradient_norm(cke_trainer* t, double* norm, cke_error* e) noexcept {                            \
    return cke_exported_trainer::gradient_norm(t, norm, e);                                                           \
  }                                                                                                                   \
  int32_t cke_trainer_step(cke_trainer* t, const cke_adamw* o, double* norm, cke_error* e) noexcept {                 \
    return cke_exported_trainer::step(t, o, norm, e);                                                                 \
  }                                                                                                                   \
  void cke_trainer_clear(cke_trainer* t) noexcept { cke_exported_trainer::clear(t); }                                 \
  int32_t cke_trainer_read(cke_trainer* t, int32_t part, size_t i, float* to, size_t n, int32_t* any,                 \
                           cke_error* e) noexcept {                                                                   \
    return cke_exported_trainer::read(t, part, i, to, n, any, e);                                                     \
  }                                                                                                                   \
  int32_t cke_trainer_write(cke_trainer* t, int32_t part, size_t i, const float* from, size_t n,                      \
                            cke_error* e) noexcept {                                                                  \
    return cke_exported_trainer::write(t, part, i, from, n, e);                                                       \
  }                                                                                                                   \
  size_t cke_trainer_added_count(const cke_trainer* t) noexcept {                                                     \
    return cke_exported_trainer::of(t).of.added_tensors().size();                                                     \
  }                                                                                                                   \
  cke_added cke_trainer_added(const cke_trainer* t, size_t i) noexcept { return cke_exported_trainer::added(t, i); }  \
  int32_t cke_trainer_read_added(cke_trainer* t, int32_t part, size_t i, float* a, float* b, cke_error* e) noexcept { \
    return cke_exported_trainer::read_added(t, part, i, a, b, e);                                                     \
  }                                                                                                                   \
  int32_t cke_trainer_write_added(cke_trainer* t, int32_t part, size_t i, const float* a, const float* b,             \
                                  cke_error* e) noexcept {                                                            \
    return cke_exported_trainer::write_added(t, part, i, a, b, e);                                                    \
  }                                                                                                                   \
  int32_t cke_trainer_resume(cke_trainer* t, uint64_t steps, cke_error* e) noexcept {                                 \
    return cke_exported_trainer::resume(t, steps, e);                                                                 \
  }
