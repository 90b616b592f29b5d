// SPDX-License-Identifier: MIT
// export_dump.hpp: CKE_EXPORT_STEPPER, which defines the functions of cke_dump.h for one model.
#pragma once

#include "cke_dump.h"
#include "door.hpp"
#include "graph/describe_steps.hpp"
#include "runtime/table_executor.hpp"

namespace cke::door {

// Fused: the program as a model runs it. Otherwise the same without fusion, which has the same bits, and the macro plan
// of the runtime contract.
template <class M, class Formats, dtype KV, bool Fused = false, class Isa = isa::native> struct exported_stepper {
  using program = graph::program<M, Formats, Fused>;
  using executor = runtime::table_executor<program, KV, Isa>;
  using states = runtime::state_layout<program, KV, Isa>;
  using report = runtime::step_report<Isa>;
  static constexpr const runtime::compiled_program& compiled =
      runtime::compiled_program_of<program, KV, Isa, runtime::by_tables>;
  struct ended {};  // thrown where `take` says so

  struct loaded {
    runtime::team threads;
    runtime::weights packed;
    executor steps;
    runtime::page_pools pages;

    loaded(const tensor_index& from, const char* source, naming as, const model_options& o)
        : threads((o.validate(), o.threads ? o.threads : default_threads())),
          packed(compiled.packed(), from, source, as, names_of<M>(), threads, o.progress),
          steps(compiled, states::facts, packed, threads, o.limits()),
          pages(states::plan, {}, 0) {}
  };
  static loaded& of(cke_stepper* s) { return *reinterpret_cast<loaded*>(s); }
  static const loaded& of(const cke_stepper* s) { return *reinterpret_cast<const loaded*>(s); }

  static cke_stepper* from_tensors(const cke_tensor* tensors, std::size_t count, int32_t names, const char* source,
                                   const cke_options* o, cke_error* e) noexcept {
    return pointer<cke_stepper>(e, [&] {
      const tensor_index index = index_of(tensors, count, source, o);
      return new loaded(index, source, names == CKE_NAMES_GGUF ? naming::gguf : naming::hf, options_of(o));
    });
  }
  static int32_t plan_json(const cke_options* o, void (*write)(void*, const char*, std::size_t), void* user,
                           cke_error* e) noexcept {
    return status(e, [&] {
      const model_options options = options_of(o);
      options.validate();
      const std::string text = graph::describe_steps(program::data, options.limits());
      write(user, text.data(), text.size());
    });
  }

  // Throws token_range, context_overflow.
  static void check(std::span<const u32> ids, u32 context) {
    for (const u32 id : ids)
      if (id >= program::vocab)
        throw Error(errc::token_range, {}, "token id", concat({"less than ", u32{program::vocab}}), concat({id}));
    if (ids.size() > context)
      throw Error(errc::context_overflow, {}, "context", concat({"at most ", context, " positions"}),
                  concat({ids.size()}));
  }

  static int32_t run(cke_stepper* s, const u32* ids, std::size_t count, cke_step_taker take, void* user,
                     cke_error* e) noexcept {
    return status(e, [&] {
      loaded& l = of(s);
      const capacity limits = l.steps.limits();
      const std::span all(ids, count);
      check(all, limits.context);
      const auto show = [&](const report& r) {
        const cke_step step{r.number,
                            r.where == place::body ? static_cast<int32_t>(r.layer) : -1,
                            r.code,
                            r.index,
                            r.tokens,
                            r.position,
                            static_cast<u32>(r.outputs.size()),
                            &r};
        if (take(user, &step)) throw ended();
      };
      runtime::sequence_state sequence(states::facts, l.pages, limits);
      try {
        for (std::size_t at = 0; at < count; at += limits.chunk) {
          const auto part = all.subspan(at, std::min<std::size_t>(limits.chunk, count - at));
          l.steps.run(1,
                      [&](u32) {
                        return runtime::pass_part{
                            part, sequence, nullptr, {}, {[](void*, u32, const float*) {}, nullptr}};
                      },
                      {.after = show});
        }
      } catch (const ended&) {}
    });
  }

  static const report& of(const cke_step* s) { return *static_cast<const report*>(s->report); }
  static cke_step_output output_of(const cke_step* s, u32 o) noexcept {
    const report& r = of(s);
    return {r.rows(o), r.outputs[o].width, static_cast<u32>(r.outputs[o].as), r.readable(o)};
  }
  static void read(const cke_step* s, u32 o, float* to) noexcept {
    const std::vector<float> v = of(s).values(o);
    std::ranges::copy(v, to);
  }
};

}  // namespace cke::door

// CKE_EXPORT_STEPPER(Model, Formats, KV) or (Model, Formats, KV, Fused), once in a translation unit.
#define CKE_EXPORT_STEPPER(...)                                                                                   \
  using cke_exported_stepper = ::cke::door::exported_stepper<__VA_ARGS__>;                                        \
  uint32_t cke_dump_abi_version(void) noexcept { return CKE_DUMP_ABI_VERSION; }                                   \
  cke_stepper* cke_stepper_from_tensors(const cke_tensor* t, size_t n, int32_t names, const char* source,         \
                                        const cke_options* o, cke_error* e) noexcept {                            \
    return cke_exported_stepper::from_tensors(t, n, names, source, o, e);                                         \
  }                                                                                                               \
  void cke_stepper_free(cke_stepper* s) noexcept { delete &cke_exported_stepper::of(s); }                         \
  int32_t cke_stepper_plan_json(const cke_options* o, void (*write)(void*, const char*, size_t), void* user,      \
                                cke_error* e) noexcept {                                                          \
    return cke_exported_stepper::plan_json(o, write, user, e);                                                    \
  }                                                                                                               \
  int32_t cke_stepper_run(cke_stepper* s, const uint32_t* ids, size_t n, cke_step_taker take, void* user,         \
                          cke_error* e) noexcept {                                                                \
    return cke_exported_stepper::run(s, ids, n, take, user, e);                                                   \
  }                                                                                                               \
  cke_step_output cke_step_output_of(const cke_step* s, uint32_t o) noexcept {                                    \
    return cke_exported_stepper::output_of(s, o);                                                                 \
  }                                                                                                               \
  void cke_step_read(const cke_step* s, uint32_t o, float* to) noexcept { cke_exported_stepper::read(s, o, to); } \
  uint64_t cke_stepper_letters(const cke_stepper* s, uint32_t opcode) noexcept {                                  \
    return cke_exported_stepper::of(s).steps.letter_counters().of(static_cast<::cke::opcode>(opcode));            \
  }                                                                                                               \
  static_assert(true, "so that a semicolon may follow")
