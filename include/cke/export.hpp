// SPDX-License-Identifier: MIT
// export.hpp: CKE_EXPORT_MODEL, which defines the functions of cke.h for one model.
#pragma once

#include <algorithm>
#include <cstring>

#include "cke.h"
#include "graph/describe.hpp"
#include "io/tensor_index.hpp"
#include "runtime/sequence.hpp"
#include "session_file.hpp"
#ifndef CKE_READS_NO_FILES  // set for units of the cke command, which reads files itself
#include "config_check.hpp"
#include "io/checkpoint.hpp"
#endif

CKE_COMPILED_ONCE
namespace cke::door {

inline int32_t write_error(cke_error* to, errc code, std::string_view what) noexcept {
  const int32_t number = 1 + static_cast<int32_t>(code);
  if (to) {
    to->code = number;
    const std::size_t n = std::min(what.size(), sizeof to->message - 1);
    std::memcpy(to->message, what.data(), n);
    to->message[n] = 0;
  }
  return number;
}

// Returns f(), or writes what it throws as an error and returns failed(code).
template <class F, class Failed> auto guarded(cke_error* to, F f, Failed failed) noexcept {
  if (to) *to = {};
  try {
    return f();
  } catch (const Error& e) { return failed(write_error(to, e.code, e.what())); } catch (const std::bad_alloc&) {
    return failed(write_error(to, errc::out_of_memory, "out of memory"));
  } catch (const std::exception& e) { return failed(write_error(to, errc::unsupported, e.what())); } catch (...) {
    return failed(write_error(to, errc::unsupported, "an exception from a callback"));
  }
}
template <class F> int32_t status(cke_error* to, F f) noexcept {
  return guarded(to, [&] { return f(), int32_t{0}; }, [](int32_t code) { return code; });
}
template <class T, class F> T* pointer(cke_error* to, F f) noexcept {
  return guarded(to, [&] { return reinterpret_cast<T*>(f()); }, [](int32_t) { return static_cast<T*>(nullptr); });
}

// Throws config_range for a number that stands for nothing.
inline hints hints_of(const cke_hints& from) {
  hints h;
  const auto number = [](u32 n) { return n ? std::optional<u32>(n) : std::nullopt; };
  const auto choice = [](const char* name, u32 n) {
    if (n > 2) throw Error(errc::config_range, {}, name, "0 to 2", concat({n}));
    return n;
  };
  h.prefill_threads = number(from.prefill_threads), h.decode_threads = number(from.decode_threads);
  h.units_per_claim = number(from.units_per_claim), h.spins = number(from.spins);
  if (const u32 n = choice("hints.fewer_threads", from.fewer_threads)) h.fewer_threads = n == CKE_ON;
  if (const u32 n = choice("hints.huge_pages", from.huge_pages)) h.huge_pages = n == CKE_ON;
  const auto sharing = [&](const char* name, u32 n) -> std::optional<attention_sharing> {
    if (!choice(name, n)) return std::nullopt;
    return n == CKE_STREAMING ? attention_sharing::streaming : attention_sharing::tiled;
  };
  h.attention_decode = sharing("hints.attention_decode", from.attention_decode);
  if (from.layer_count > std::size(h.layers.items))
    throw Error(errc::config_range, {}, "hints.layer_count", concat({"at most ", u64{std::size(h.layers.items)}}),
                concat({from.layer_count}));
  for (u32 n = 0; n < from.layer_count; ++n) {
    const cke_layer_hints& l = from.layers[n];
    h.layers.push(
        {l.first, l.last, number(l.units_per_claim), sharing("hints.layers.attention_decode", l.attention_decode)});
  }
  return h;
}

inline model_options options_of(const cke_options* from) {
  model_options o;
  if (!from) return o;
  o.threads = from->threads;
  if (from->context) o.context = from->context;
  if (from->chunk) o.chunk = from->chunk;
  if (from->logit_rows) o.logit_rows = from->logit_rows;
  o.cache_positions = from->cache_positions;
  o.hints = hints_of(from->hints);
  if (from->progress)
    o.progress = [call = from->progress, user = from->user](u64 done, u64 total) { call(user, done, total); };
  return o;
}

using image_ref = runtime::image_ref;
inline const image_ref& image_of(const cke_image* i) { return *reinterpret_cast<const image_ref*>(i); }

// Throws malformed if a tensor's type, shape and bytes do not agree.
inline tensor_ref tensor_of(const cke_tensor& t, const std::shared_ptr<const mapped_file>& source) {
  tensor_ref r;
  r.name = t.name;
  r.file = source;
  r.bytes = {static_cast<const std::byte*>(t.data), t.bytes};
  const auto fail = [&](const char* want, u64 found) {
    throw Error(errc::malformed, source->name(), "tensor " + r.name, want, std::to_string(found));
  };
  if (t.rank > tensor_shape::most) fail("at most 8 dimensions", t.rank);
  r.shape = {t.shape, t.shape + t.rank};
  if (!stored_in_files(t.type) && t.type != static_cast<u32>(dtype::f8_e4m3)) {
    r.stored = "another type";
    return r;
  }
  r.type = static_cast<dtype>(t.type);
  const dtype_info& row = info(r.type);
  r.stored = row.name;
  u64 elements = 1, bytes = 0;
  for (const u64 n : r.shape)
    if (!checked_mul(elements, n, elements)) fail("elements that fit in 64 bits", n);
  if (const u64 columns = r.shape.empty() ? 1 : r.shape.back(); columns % row.block)
    fail("rows of whole blocks", columns);
  if (!checked_mul(elements / row.block, row.bytes, bytes) || bytes != t.bytes) fail("the bytes of its shape", t.bytes);
  return r;
}

// Throws usage, and what tensor_of throws.
inline tensor_index index_of(const cke_tensor* tensors, std::size_t count, const char* source, const cke_options* o) {
  if (!source || (count && !tensors)) throw Error(errc::usage, {}, source ? "tensors" : "source", "a pointer", "null");
  std::vector<tensor_ref> list;
  const mapped_file::lender by = o ? mapped_file::lender{o->copied, o->user} : mapped_file::lender{};
  const auto file = std::make_shared<const mapped_file>(source, std::span<const std::byte>{}, by);
  for (const cke_tensor& t : std::span(tensors, count)) list.push_back(tensor_of(t, file));
  return tensor_index(std::move(list));
}

inline const char* path_of(const char* path) {
  return path ? path : throw Error(errc::usage, {}, "path", "a pointer", "null");
}

// The functions of cke.h for one model.
template <class M, class Formats = BF16, dtype KV = default_kv<Formats>, class Isa = isa::native,
          class How = runtime::by_tables>
struct exported {
  using program = graph::program<M, Formats>;
  using loaded = runtime::loaded<program, KV, Isa, How>;
  using sequence = runtime::sequence<loaded>;
  using shared = std::shared_ptr<loaded>;

  static const shared& of(const cke_model* m) { return *reinterpret_cast<const shared*>(m); }
  static sequence& of(cke_session* s) { return *reinterpret_cast<sequence*>(s); }
  static const sequence& of(const cke_session* s) { return *reinterpret_cast<const sequence*>(s); }

  // Throws unsupported.
  static runtime::image_store& images(const cke_model* m) {
    if (!program::sees_images) throw Error(errc::unsupported, {}, "image", "a model that sees images", "another");
    return of(m)->images;
  }
  static runtime::image_key key_of(const uint64_t* key) {
    if (!key) throw Error(errc::usage, {}, "key", "a pointer", "null");
    return {key[0], key[1]};
  }

  static cke_model* load(const char* path, const cke_options* o, cke_error* e) noexcept {
#ifndef CKE_READS_NO_FILES
    return pointer<cke_model>(e, [&] {
      const checkpoint from = gguf_weights(gguf::read(path_of(path)));
      const model_options options = options_of(o);
      options.validate();
      match_config<M>(from, options.context);
      return new shared(std::make_shared<loaded>(from.tensors, from.name, from.as, names_of<M>(), options));
    });
#else
    static_cast<void>(o);
    return pointer<cke_model>(e, [&]() -> shared* {
      throw Error(errc::unsupported, path_of(path), "a library that cke made for itself",
                  "one that cke build made: it reads files", "this one");
    });
#endif
  }
  static cke_model* from_tensors(const cke_tensor* tensors, std::size_t count, int32_t names, const char* source,
                                 const cke_options* o, cke_error* e) noexcept {
    return pointer<cke_model>(e, [&] { return made(tensors, count, names, source, o, options_of(o)); });
  }
  static shared* made(const cke_tensor* tensors, std::size_t count, int32_t names, const char* source,
                      const cke_options* o, const model_options& options) {
    const tensor_index index = index_of(tensors, count, source, o);
    const naming as = names == CKE_NAMES_GGUF ? naming::gguf : naming::hf;
    return new shared(std::make_shared<loaded>(index, source, as, names_of<M>(), options));
  }
  static cke_packed_form packed_form() noexcept {
    const std::string text = describe_json<program>({1, 1, 1}, dtype::f32);  // keys and values do not matter
    return {xxh64::of(std::as_bytes(std::span(text))), kernels::packed_layout, Isa::name.data()};
  }
  // Throws config_mismatch.
  static void check_form(const cke_packed_form& found, const char* source) {
    const cke_packed_form wanted = packed_form();
    const auto check = [&](const char* what, auto want, auto is) {
      if (want != is) throw Error(errc::config_mismatch, source, what, concat({want}), concat({is}));
    };
    check("instruction set of packed weights", Isa::name, std::string_view(found.isa ? found.isa : "none"));
    check("layout of packed weights", wanted.layout, found.layout);
    check("program of packed weights", wanted.program, found.program);
  }
  static int32_t packed(const cke_model* m, void (*take)(void*, const char*, const void*, u64), void* user,
                        cke_error* e) noexcept {
    return status(e, [&] {
      of(m)->packed.each([&](const graph::weight& w, std::span<const std::byte> bytes) {
        take(user, runtime::packed_name(w).c_str(), bytes.data(), bytes.size());
      });
    });
  }
  static cke_model* from_packed(const cke_packed* p, const char* source, const cke_options* o, cke_error* e) noexcept {
    return pointer<cke_model>(e, [&] {
      if (!p || !source || !p->data || !p->sizes) throw Error(errc::usage, {}, "packed weights", "a pointer", "null");
      check_form(p->form, source);
      const runtime::packed_weights from{{static_cast<const std::byte*>(p->data), p->bytes}, {p->sizes, p->count}};
      return new shared(std::make_shared<loaded>(from, source, options_of(o)));
    });
  }
  static void free(cke_model* m) noexcept { delete reinterpret_cast<shared*>(m); }
  static cke_facts facts(const cke_model* m) noexcept {
    const loaded& l = *of(m);
    return {program::vocab,     l.context(),          l.threads.size(),    static_cast<u32>(KV),
            program::dim,       program::image_width, program::parameters, l.packed.bytes(),
            l.executor.bytes(), l.state_bytes(),      Isa::name.data()};
  }
  static int32_t plan_json(const cke_options* o, void (*write)(void*, const char*, std::size_t), void* user,
                           cke_error* e) noexcept {
    return status(e, [&] {
      const model_options options = options_of(o);
      options.validate();
      const std::string text = describe_json<program>(options.limits(), KV);
      write(user, text.data(), text.size());
    });
  }

  static cke_image* add_image(const cke_model* m, const uint64_t* key, u32 rows, u32 columns, int64_t time,
                              const float* features, std::size_t count, cke_error* e) noexcept {
    return pointer<cke_image>(e, [&] {
      if (time > UINT32_MAX) throw Error(errc::usage, {}, "time", "below 2^32", concat({time}));
      const runtime::frame_time when = time < 0 ? runtime::frame_time() : static_cast<u32>(time);
      return new image_ref(images(m).add(key_of(key), {rows, columns}, {features, count}, when));
    });
  }
  static cke_image* find_image(const cke_model* m, const uint64_t* key, cke_error* e) noexcept {
    return pointer<cke_image>(e, [&]() -> image_ref* {
      image_ref of = images(m).find(key_of(key));
      return of ? new image_ref(std::move(of)) : nullptr;
    });
  }

  static void watch(const cke_model* m, cke_trace take, void* user) noexcept { of(m)->watch({take, user}); }

  static cke_session* create(const cke_model* m, cke_error* e) noexcept {
    return pointer<cke_session>(e, [&] { return new sequence(of(m)); });
  }
  static cke_session* fork(const cke_session* s, cke_error* e) noexcept {
    return pointer<cke_session>(e, [&] { return new sequence(of(s)); });
  }
  static void free(cke_session* s) noexcept { delete reinterpret_cast<sequence*>(s); }
  static int32_t feed(cke_session* s, const uint32_t* ids, std::size_t count, cke_error* e) noexcept {
    return status(e, [&] { of(s).feed(std::span(ids, count)); });
  }
  static int32_t feed(const cke_turn* turns, std::size_t count, cke_error* e) noexcept {
    return status(e, [&] {
      sequence::feed_together(static_cast<u32>(count), [&](u32 i) -> typename sequence::feeding {
        const cke_turn& t = turns[i];
        return {reinterpret_cast<sequence*>(t.session), {t.ids, t.count}, {t.hidden, t.user}, {t.each, t.user}};
      });
    });
  }
  static int32_t slide(cke_session* s, uint32_t* positions, cke_error* e) noexcept {
    return status(e, [&] { of(s).slide(), *positions = of(s).context(); });
  }
  static int32_t save(const cke_session* s, const char* path, cke_error* e) noexcept {
    return status(e, [&] { save_session(of(s), path_of(path)); });
  }
  static int32_t restore(cke_session* s, const char* path, cke_error* e) noexcept {
    return status(e, [&] { load_session(of(s), path_of(path)); });
  }
  static int32_t recall(cke_session* s, const uint32_t* ids, std::size_t count, uint32_t* taken,
                        cke_error* e) noexcept {
    return status(e, [&] { *taken = of(s).recall(std::span(ids, count)); });
  }
  static int32_t feed_all(cke_session* s, const uint32_t* ids, std::size_t count,
                          void (*take)(void*, uint32_t, const float*), void* user, cke_error* e) noexcept {
    return status(e, [&] {
      of(s).feed_all(std::span(ids, count), [&](u32 i, std::span<const float> row) { take(user, i, row.data()); });
    });
  }
};

}  // namespace cke::door

// CKE_EXPORT_MODEL(Model, Formats) or (Model, Formats, KV), once in a translation unit: defines the functions of cke.h
// for a cke::Model of these arguments, as symbols of the shared object that is made of the unit.
#define CKE_EXPORT_MODEL(...)                                                                                         \
  using cke_exported = ::cke::door::exported<__VA_ARGS__>;                                                            \
  uint32_t cke_abi_version(void) noexcept { return CKE_ABI_VERSION; }                                                 \
  cke_model* cke_model_load(const char* path, const cke_options* o, cke_error* e) noexcept {                          \
    return cke_exported::load(path, o, e);                                                                            \
  }                                                                                                                   \
  cke_model* cke_model_from_tensors(const cke_tensor* t, size_t n, int32_t names, const char* source,                 \
                                    const cke_options* o, cke_error* e) noexcept {                                    \
    return cke_exported::from_tensors(t, n, names, source, o, e);                                                     \
  }                                                                                                                   \
  cke_packed_form cke_form_of_packed(void) noexcept { return cke_exported::packed_form(); }                           \
  int32_t cke_model_packed(const cke_model* m, void (*take)(void*, const char*, const void*, uint64_t), void* user,   \
                           cke_error* e) noexcept {                                                                   \
    return cke_exported::packed(m, take, user, e);                                                                    \
  }                                                                                                                   \
  cke_model* cke_model_from_packed(const cke_packed* p, const char* source, const cke_options* o,                     \
                                   cke_error* e) noexcept {                                                           \
    return cke_exported::from_packed(p, source, o, e);                                                                \
  }                                                                                                                   \
  void cke_model_free(cke_model* m) noexcept { cke_exported::free(m); }                                               \
  cke_facts cke_model_facts(const cke_model* m) noexcept { return cke_exported::facts(m); }                           \
  int32_t cke_model_plan_json(const cke_options* o, void (*write)(void*, const char*, size_t), void* user,            \
                              cke_error* e) noexcept {                                                                \
    return cke_exported::plan_json(o, write, user, e);                                                                \
  }                                                                                                                   \
  cke_image* cke_image_add(const cke_model* m, const uint64_t key[2], uint32_t rows, uint32_t columns, int64_t time,  \
                           const float* features, size_t n, cke_error* e) noexcept {                                  \
    return cke_exported::add_image(m, key, rows, columns, time, features, n, e);                                      \
  }                                                                                                                   \
  cke_image* cke_image_find(const cke_model* m, const uint64_t key[2], cke_error* e) noexcept {                       \
    return cke_exported::find_image(m, key, e);                                                                       \
  }                                                                                                                   \
  uint32_t cke_image_first_id(const cke_image* i) noexcept { return ::cke::door::image_of(i)->first; }                \
  void cke_image_free(cke_image* i) noexcept { delete &::cke::door::image_of(i); }                                    \
  void cke_model_watch(const cke_model* m, cke_trace take, void* user) noexcept {                                     \
    cke_exported::watch(m, take, user);                                                                               \
  }                                                                                                                   \
  cke_session* cke_session_create(const cke_model* m, cke_error* e) noexcept { return cke_exported::create(m, e); }   \
  cke_session* cke_session_fork(const cke_session* s, cke_error* e) noexcept { return cke_exported::fork(s, e); }     \
  void cke_session_free(cke_session* s) noexcept { cke_exported::free(s); }                                           \
  int32_t cke_session_feed(cke_session* s, const uint32_t* ids, size_t n, cke_error* e) noexcept {                    \
    return cke_exported::feed(s, ids, n, e);                                                                          \
  }                                                                                                                   \
  int32_t cke_session_feed_all(cke_session* s, const uint32_t* ids, size_t n,                                         \
                               void (*take)(void*, uint32_t, const float*), void* user, cke_error* e) noexcept {      \
    return cke_exported::feed_all(s, ids, n, take, user, e);                                                          \
  }                                                                                                                   \
  int32_t cke_sessions_feed(const cke_turn* turns, size_t n, cke_error* e) noexcept {                                 \
    return cke_exported::feed(turns, n, e);                                                                           \
  }                                                                                                                   \
  int32_t cke_session_recall(cke_session* s, const uint32_t* ids, size_t n, uint32_t* taken, cke_error* e) noexcept { \
    return cke_exported::recall(s, ids, n, taken, e);                                                                 \
  }                                                                                                                   \
  const float* cke_session_logits(const cke_session* s) noexcept { return cke_exported::of(s).logits().data(); }      \
  uint32_t cke_session_position(const cke_session* s) noexcept { return cke_exported::of(s).position(); }             \
  const uint32_t* cke_session_history(const cke_session* s) noexcept { return cke_exported::of(s).history().data(); } \
  int32_t cke_session_save(const cke_session* s, const char* path, cke_error* e) noexcept {                           \
    return cke_exported::save(s, path, e);                                                                            \
  }                                                                                                                   \
  int32_t cke_session_load(cke_session* s, const char* path, cke_error* e) noexcept {                                 \
    return cke_exported::restore(s, path, e);                                                                         \
  }                                                                                                                   \
  int32_t cke_session_slide(cke_session* s, uint32_t* positions, cke_error* e) noexcept {                             \
    return cke_exported::slide(s, positions, e);                                                                      \
  }                                                                                                                   \
  void cke_session_rewind(cke_session* s, uint32_t position) noexcept { cke_exported::of(s).rewind(position); }       \
  static_assert(true, "so that a semicolon may follow")
