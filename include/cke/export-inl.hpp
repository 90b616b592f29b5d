// SPDX-License-Identifier: MIT
// export-inl.hpp: the functions of cke.h, which are the same for all models.
#pragma once

#include "core/xxh64.hpp"
#include "door.hpp"
#include "export.hpp"
#include "graph/describe.hpp"
#include "runtime/sequence.hpp"
#include "session_file.hpp"

CKE_COLD_BEGIN
namespace cke::door {

inline const char* path_of(const char* path) {
  return path ? path : throw Error(errc::usage, {}, "path", "a pointer", "null");
}

using shared_model = std::shared_ptr<runtime::loaded_program>;
using image_ref = runtime::image_ref;

inline const image_ref& of(const cke_image* i) { return *reinterpret_cast<const image_ref*>(i); }
inline runtime::sequence& of(cke_session* s) { return *reinterpret_cast<runtime::sequence*>(s); }
inline const runtime::sequence& of(const cke_session* s) { return *reinterpret_cast<const runtime::sequence*>(s); }
inline const shared_model& of(const cke_model* m) { return *reinterpret_cast<const shared_model*>(m); }

CKE_ONCE cke_model* model_of_rank(const model_type& m, const cke_tensor* tensors, std::size_t count, int32_t names,
                                  const char* source, const cke_options* o, const runtime::rank_link& link) {
  model_options options = options_of(o);
  options.ranks = link;
  const tensor_index index = index_of(tensors, count, source, o);
  const naming as = names == CKE_NAMES_GGUF ? naming::gguf : naming::hf;
  return reinterpret_cast<cke_model*>(
      new shared_model(std::make_shared<runtime::loaded_program>(m.compiled, index, source, as, m.names, options)));
}
CKE_ONCE cke_model* model_from_tensors(const model_type& m, const cke_tensor* tensors, std::size_t count, int32_t names,
                                       const char* source, const cke_options* o, cke_error* e) noexcept {
  return pointer<cke_model>(e, [&] { return model_of_rank(m, tensors, count, names, source, o, {}); });
}

CKE_ONCE cke_packed_form form_of_packed(const model_type& m) noexcept {
  // keys and values do not matter
  const std::string text = graph::describe_json(*m.compiled.program, {1, 1, 1}, dtype::f32);
  return {xxh64::of(std::as_bytes(std::span(text))), kernels::packed_layout, m.compiled.isa().name.data()};
}
// Throws config_mismatch.
inline void check_form(const model_type& m, const cke_packed_form& found, const char* source) {
  const cke_packed_form wanted = form_of_packed(m);
  const auto check = [&](const char* what, auto want, auto is) {
    if (want != is) throw Error(errc::config_mismatch, source, what, concat({want}), concat({is}));
  };
  check("instruction set of packed weights", m.compiled.isa().name, std::string_view(found.isa ? found.isa : "none"));
  check("layout of packed weights", wanted.layout, found.layout);
  check("program of packed weights", wanted.program, found.program);
}
CKE_ONCE int32_t model_packed(const cke_model* m, void (*take)(void*, const char*, const void*, u64), void* user,
                              cke_error* e) noexcept {
  return status(e, [&] {
    of(m)->packed.each([&](const graph::weight& w, std::span<const std::byte> bytes) {
      take(user, runtime::packed_name(w).c_str(), bytes.data(), bytes.size());
    });
  });
}
CKE_ONCE cke_model* model_from_packed(const model_type& m, const cke_packed* p, const char* source,
                                      const cke_options* o, cke_error* e) noexcept {
  return pointer<cke_model>(e, [&] {
    if (!p || !source || !p->data || !p->sizes) throw Error(errc::usage, {}, "packed weights", "a pointer", "null");
    check_form(m, p->form, source);
    const runtime::packed_weights from{{static_cast<const std::byte*>(p->data), p->bytes}, {p->sizes, p->count}};
    return new shared_model(std::make_shared<runtime::loaded_program>(m.compiled, from, source, options_of(o)));
  });
}
CKE_ONCE void model_free(cke_model* m) noexcept { delete reinterpret_cast<shared_model*>(m); }

CKE_ONCE cke_facts model_facts(const cke_model* m) noexcept {
  const runtime::loaded_program& l = *of(m);
  const graph::program_data& p = *l.compiled.program;
  return {p.vocab(),
          l.context(),
          l.threads.size(),
          static_cast<u32>(l.compiled.cache().type),
          p.dim,
          p.image_width(),
          p.parameters(),
          l.packed.bytes(),
          l.executor->bytes(),
          l.state_bytes(),
          l.compiled.isa().name.data()};
}
CKE_ONCE int32_t model_plan_json(const model_type& m, const cke_options* o,
                                 void (*write)(void*, const char*, std::size_t), void* user, cke_error* e) noexcept {
  return status(e, [&] {
    const model_options options = options_of(o);
    options.validate();
    const std::string text = graph::describe_json(*m.compiled.program, options.limits(), m.compiled.cache().type);
    write(user, text.data(), text.size());
  });
}

// Throws unsupported.
inline runtime::image_store& images(const cke_model* m) {
  if (!of(m)->compiled.program->sees_images())
    throw Error(errc::unsupported, {}, "image", "a model that sees images", "another");
  return of(m)->images;
}
inline runtime::image_key key_of(const uint64_t* key) {
  if (!key) throw Error(errc::usage, {}, "key", "a pointer", "null");
  return {key[0], key[1]};
}
CKE_ONCE cke_image* image_add(const cke_model* m, const uint64_t* key, u32 rows, u32 columns, int64_t time,
                              const float* features, std::size_t count, cke_error* e) noexcept {
  return pointer<cke_image>(e, [&] {
    if (time > UINT32_MAX) throw Error(errc::usage, {}, "time", "below 2^32", concat({time}));
    const runtime::frame_time when = time < 0 ? runtime::frame_time() : static_cast<u32>(time);
    return new image_ref(images(m).add(key_of(key), {rows, columns}, {features, count}, when));
  });
}
CKE_ONCE cke_image* image_find(const cke_model* m, const uint64_t* key, cke_error* e) noexcept {
  return pointer<cke_image>(e, [&]() -> image_ref* {
    image_ref found = images(m).find(key_of(key));
    return found ? new image_ref(std::move(found)) : nullptr;
  });
}

CKE_ONCE void model_watch(const cke_model* m, cke_trace take, void* user) noexcept {
  try {
    of(m)->watch({take, user});
  } catch (const Error&) {}  // of an unrolled model, which has no steps to tell
}

CKE_ONCE cke_session* session_create(const cke_model* m, cke_error* e) noexcept {
  return pointer<cke_session>(e, [&] { return new runtime::sequence(of(m)); });
}
CKE_ONCE cke_session* session_fork(const cke_session* s, cke_error* e) noexcept {
  return pointer<cke_session>(e, [&] { return new runtime::sequence(of(s)); });
}
CKE_ONCE void session_free(cke_session* s) noexcept { delete reinterpret_cast<runtime::sequence*>(s); }
CKE_ONCE int32_t session_feed(cke_session* s, const uint32_t* ids, std::size_t count, cke_error* e) noexcept {
  return status(e, [&] { of(s).feed(std::span(ids, count)); });
}
CKE_ONCE int32_t session_feed_all(cke_session* s, const uint32_t* ids, std::size_t count,
                                  void (*take)(void*, uint32_t, const float*), void* user, cke_error* e) noexcept {
  return status(e, [&] {
    of(s).feed_all(std::span(ids, count), [&](u32 i, std::span<const float> row) { take(user, i, row.data()); });
  });
}
CKE_ONCE int32_t sessions_feed(const cke_turn* turns, std::size_t count, cke_error* e) noexcept {
  return status(e, [&] {
    runtime::sequence::feed_together(static_cast<u32>(count), [&](u32 i) -> runtime::sequence::feeding {
      const cke_turn& t = turns[i];
      return {reinterpret_cast<runtime::sequence*>(t.session), {t.ids, t.count}, {t.hidden, t.user}, {t.each, t.user}};
    });
  });
}
CKE_ONCE int32_t session_recall(cke_session* s, const uint32_t* ids, std::size_t count, uint32_t* taken,
                                cke_error* e) noexcept {
  return status(e, [&] { *taken = of(s).recall(std::span(ids, count)); });
}
CKE_ONCE int32_t session_save(const cke_session* s, const char* path, cke_error* e) noexcept {
  return status(e, [&] { save_session(of(s), path_of(path)); });
}
CKE_ONCE int32_t session_load(cke_session* s, const char* path, cke_error* e) noexcept {
  return status(e, [&] { load_session(of(s), path_of(path)); });
}
CKE_ONCE int32_t session_slide(cke_session* s, uint32_t* positions, cke_error* e) noexcept {
  return status(e, [&] { of(s).slide(), *positions = of(s).context(); });
}

CKE_ONCE u32 image_first_id(const cke_image* i) noexcept { return of(i)->first; }
CKE_ONCE void image_free(cke_image* i) noexcept { delete &of(i); }
CKE_ONCE const float* session_logits(const cke_session* s) noexcept { return of(s).logits().data(); }
CKE_ONCE u32 session_position(const cke_session* s) noexcept { return of(s).position(); }
CKE_ONCE const u32* session_history(const cke_session* s) noexcept { return of(s).history().data(); }
CKE_ONCE u32 session_rewind(cke_session* s, u32 position) noexcept { return of(s).rewind(position); }

CKE_ONCE cke_model* model_without_files(const char* path, cke_error* e) noexcept {
  return pointer<cke_model>(e, [&]() -> cke_model* {
    throw Error(errc::unsupported, path_of(path), "a library that cke made for itself",
                "one that cke build made: it reads files", "this one");
  });
}

}  // namespace cke::door
CKE_COLD_END
