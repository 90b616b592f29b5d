// SPDX-License-Identifier: MIT
// session_file.hpp: saves a session to a file, from which it continues with the same bits.
#pragma once

#include <algorithm>
#include <vector>

#include "graph/describe.hpp"
#include "io/session_format.hpp"
#include "runtime/sequence.hpp"

namespace cke {

namespace detail {

// Identifies what a model computes: its program, its number formats, and the instruction set.
template <class Loaded> u64 program_checksum(const Loaded& model) {
  using P = typename Loaded::program;
  constexpr graph::capacity any{1, 1, 1};
  std::string text = concat({graph::describe_json<P>(any, Loaded::kv), Loaded::isa::name});
  if (P::turns_by_context) text += concat({"context ", model.context()});
  return xxh64::of(std::as_bytes(std::span(text)));
}

template <class Loaded> io::session_header header_of(const Loaded& model) {
  using slot = typename Loaded::slot;
  io::session_header h;
  h.kv_type = static_cast<u32>(Loaded::kv), h.vocab = Loaded::program::vocab;
  h.program = program_checksum(model), h.weights = xxh64::of(model.packed.memory());
  h.page_bytes = slot::plan.bytes(slot::plan.persistent), h.transient_bytes = slot::plan.bytes(slot::plan.transient);
  h.page_positions = slot::page_positions;
  return h;
}

// Zeroes the positions from `first` on in a part of a page, which may hold data of an earlier owner.
template <class Loaded> void clear_positions(std::byte* page, bool transient, u32 first) {
  using slot = typename Loaded::slot;
  using cache = kernels::kv_cache<Loaded::kv, typename Loaded::isa>;
  std::byte* blocks[slot::plan.blocks];
  for (u32 b = 0; b < slot::plan.blocks; ++b)
    blocks[b] = page + b * (transient ? slot::plan.transient : slot::plan.persistent).caches;
  Loaded::program::for_each_state(Loaded::kv, [&](const graph::state_descriptor& d) {
    const kernels::kv_place& at = slot::places[d.id];
    if (graph::is_recurrent(d.what) || d.owner != d.layer || at.transient != transient) return;
    const std::vector<float> zeros(d.head_dim);
    for (u32 head = 0; head < d.heads; ++head)
      for (u32 p = first; p < slot::page_positions; ++p)
        cache::store({blocks, at.offset + head * at.block_bytes}, p, d.head_dim, zeros.data(), zeros.data());
  });
}

// Throws unsupported if the caches are not in the host's memory.
template <class Loaded> void need_pages_here(const Loaded& model) {
  if (model.executor.memory_of_pages())
    throw Error(errc::unsupported, {}, "session file", "caches in the host's memory", Loaded::isa::name);
}

}  // namespace detail

// Writes ids, logits and states; equal sequences make equal files. A file of the same name is replaced once the new one
// is complete. Throws Error{file}, and unsupported for a session with images.
template <class Loaded> void save_session(const runtime::sequence<Loaded>& s, const std::string& path) {
  using slot = typename Loaded::slot;
  detail::need_pages_here(s.model());
  if constexpr (runtime::sequence<Loaded>::sees_images)  // ids that only this process understands
    for (const u32 id : s.history())
      if (id >= s.vocab_size) throw Error(errc::unsupported, path, "session", "one without images", "one with images");
  io::session_header h = detail::header_of(s.model());
  h.ids = s.position(), h.position = s.state().position(), h.pages = s.state().persistent().end();
  h.transient = slot::has_transient ? h.pages - slot::first_seen(h.position) : 0;
  io::session_writer to(path, h);
  to.put(std::as_bytes(s.history()));
  to.put(std::as_bytes(s.logits()));
  std::vector<std::byte> copy(std::max(h.page_bytes, h.transient_bytes));
  const auto put = [&](bool transient, u32 i, const std::byte* page, u64 bytes) {
    std::memcpy(copy.data(), page, bytes);
    if (const u32 first = i * slot::page_positions; first + slot::page_positions > h.position)
      detail::clear_positions<Loaded>(copy.data(), transient, h.position - first);
    to.put(std::span(copy).first(bytes));
  };
  for (u32 i = 0; i < h.pages && h.page_bytes; ++i) put(false, i, s.state().persistent()[i].data, h.page_bytes);
  for (u32 i = h.pages - h.transient; i < h.pages; ++i) put(true, i, s.state().transient()[i].data, h.transient_bytes);
  to.commit();
}

// At position 0: the sequence becomes the saved one. Throws file, malformed, usage, context_overflow, cache_full;
// config_mismatch if the file is of another model. The sequence is then as it was.
template <class Loaded> void load_session(runtime::sequence<Loaded>& s, const std::string& path) {
  detail::need_pages_here(s.model());
  const io::session_file from(path);
  const io::session_header &found = from.header(), wanted = detail::header_of(s.model());
  const auto need = [&](bool same, std::string_view subject, std::string_view expected, std::string_view other) {
    if (!same) throw Error(errc::config_mismatch, path, subject, expected, other);
  };
  need(found.kv_type == wanted.kv_type, "keys and values", info(Loaded::kv).name,
       found.kv_type < static_cast<u32>(dtype::none) && known(static_cast<dtype>(found.kv_type))
           ? info(static_cast<dtype>(found.kv_type)).name
           : "others");
  const u32 kept = Loaded::slot::has_transient ? found.pages - Loaded::slot::first_seen(found.position) : 0;
  need(found.program == wanted.program && found.page_bytes == wanted.page_bytes &&
           found.transient_bytes == wanted.transient_bytes && found.page_positions == wanted.page_positions &&
           found.transient == kept && found.vocab == wanted.vocab,
       "session file", "one of this model, compiled for this machine", "one of another");
  need(found.weights == wanted.weights, "session file", "one of a model with these weights", "other weights");
  std::vector<u32> ids(found.ids);
  std::vector<float> logits(found.vocab);
  std::ranges::copy(from.ids(), std::as_writable_bytes(std::span(ids)).begin());
  std::ranges::copy(from.logits(), std::as_writable_bytes(std::span(logits)).begin());
  s.restore(ids, found.position, logits, [&](bool transient, u32 i, std::byte* page) {
    const auto bytes = transient ? from.transient(i) : from.page(i);
    std::memcpy(page, bytes.data(), bytes.size());
  });
}

}  // namespace cke
