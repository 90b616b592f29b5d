// SPDX-License-Identifier: MIT
// loaded.hpp: a program with its weights in memory, and what its sequences share.
#pragma once

#include "../core/mutex.hpp"
#include "executor.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

struct model_options {
  u32 threads = 0;               // 0: the cores that the process may use
  u32 context = 4096;            // positions of a session; rope rules that depend on a length use this one
  u32 chunk = 512;               // most tokens of one pass
  u32 logit_rows = 1;            // most rows of logits of one pass
  u32 cache_positions = 0;       // of all sessions together; 0: a context for each session
  progress_callback progress{};  // weights packed, weights in all
  cke::hints hints{};            // what changes speed alone; hints.chunk, if given, goes before chunk
  rank_link ranks{};             // the others that run the model too, where it runs by_ranks (ranks.hpp)

  // For a model of so many layers. Throws config_range.
  void validate(u32 layers = ~0u) const {
    const auto check = [](std::string_view name, u32 value, u32 least, u32 most) {
      if (value < least || value > most)
        throw Error(errc::config_range, {}, name, concat({least, " to ", most}), concat({value}));
    };
    check("context", context, 1, most_positions);
    check("chunk", chunk, 1, hints.longest_chunk);
    check("logit_rows", logit_rows, 1, 1 << 16);
    check("cache_positions", cache_positions, 0, 1 << 30);
    check("threads", threads, 0, team::max_threads);
    check("hints.prefill_threads", hints.prefill_threads.value_or(0), 0, team::max_threads);
    check("hints.decode_threads", hints.decode_threads.value_or(0), 0, team::max_threads);
    check("hints.chunk", hints.chunk.value_or(1), 1, hints.longest_chunk);
    check("hints.units_per_claim", hints.units_per_claim.value_or(1), 1, hints.most_claimed);
    check("hints.spins", hints.spins.value_or(1), 1, hints.most_spins);
    for (const layer_hints& l : hints.layers) {
      const std::string range = concat({"hints.layers ", l.first, "-", l.last});
      check(range, l.last, l.first, layers - 1);
      check(concat({range, ": units_per_claim"}), l.units_per_claim.value_or(1), 1, hints.most_claimed);
    }
  }
  // A pass needs no more rows than the context, or than a row of logits for each of many sessions.
  capacity limits() const {
    return {context, std::min(hints.chunk.value_or(chunk), std::max(context, logit_rows)), logit_rows};
  }
  bool huge_pages() const { return hints.huge_pages.value_or(*default_hints.huge_pages); }
};

// The default type of keys and values. bf16 is fastest, but with weights of 16 bits its rounding would be the largest
// error (docs/benchmarks.md).
template <class Formats> inline constexpr dtype default_kv = [] {
  const auto all = [](auto t) { return std::is_base_of_v<one_format<decltype(t)::value>, Formats>; };
  if (all(std::integral_constant<dtype, dtype::f32>{})) return dtype::f32;
  const bool half =
      all(std::integral_constant<dtype, dtype::bf16>{}) || all(std::integral_constant<dtype, dtype::f16>{});
  return half ? dtype::f16 : dtype::bf16;
}();

// How passes run: over tables of steps. The other way is `unrolled` of unrolled_executor.hpp.
struct by_tables {
  template <class P, dtype KV, class Isa> using executor = runtime::executor<P, KV, Isa>;
};

// Immutable, except for the pages and the activations. One pass runs at a time.
template <class P, dtype KV, class Isa, class How = by_tables> struct loaded {
  using program = P;
  using isa = Isa;
  static constexpr dtype kv = KV;
  using slot = sequence_state<P, KV, Isa>;

  team threads;
  weights<P, Isa> packed;
  typename How::template executor<P, KV, Isa> executor;
  page_pools cache;
  image_store images;  // that sequences see, where P has rows of images
  mutex busy;

  // Throws config_range for the options, and what weights throws.
  template <tensor_source S, class Names>
  loaded(const S& tensors, std::string_view file, naming as, const Names& names, const model_options& o)
      : threads((o.validate(P::layers), o.threads ? o.threads : default_threads()), o.hints),
        packed(tensors, file, as, names, threads, o.progress, o.huge_pages(), units_of_rank(o)),
        executor(executor_of(o)),
        cache(slot::plan, executor.limits(), o.cache_positions, executor.memory_of_pages(), o.huge_pages()),
        images(P::vocab, P::image_width) {}

  // Over packed weights that the caller keeps longer than this. Throws config_range, and what weights throws.
  loaded(const packed_weights& from, std::string_view file, const model_options& o)
      : threads((o.validate(P::layers), o.threads ? o.threads : default_threads()), o.hints),
        packed(from, file),
        executor(executor_of(o)),
        cache(slot::plan, executor.limits(), o.cache_positions, executor.memory_of_pages(), o.huge_pages()),
        images(P::vocab, P::image_width) {}

  u32 context() const { return executor.limits().context; }
  void watch(const tracer& t) {
    const std::lock_guard turn(busy);
    executor.watch(t);
  }
  u64 state_bytes() const { return slot::bytes(executor.limits()); }  // of a sequence at most

 private:
  static constexpr bool ranked = requires { &How::template has_unit<P>; };
  static packed_units units_of_rank(const model_options& o) {
    if constexpr (ranked) return {&How::template has_unit<P>, o.ranks};
    else if (o.ranks.count == 1) return {};
    else throw Error(errc::unsupported, {}, "ranks", "1, or a model compiled for ranks", concat({o.ranks.count}));
  }
  typename How::template executor<P, KV, Isa> executor_of(const model_options& o) {
    if constexpr (ranked) return {packed, threads, o.limits(), o.hints, o.ranks};
    else return {packed, threads, o.limits(), o.hints};
  }
};

}  // namespace cke::runtime
CKE_COLD_END
