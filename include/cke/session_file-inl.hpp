// SPDX-License-Identifier: MIT
// session_file-inl.hpp: how session_file.hpp reads and writes.
#pragma once

#include <algorithm>
#include <vector>

#include "core/xxh64.hpp"
#include "graph/describe.hpp"
#include "io/session_format.hpp"
#include "session_file.hpp"

CKE_COLD_BEGIN
namespace cke {

namespace detail {

// Identifies what a model computes: its program, its number formats, and the instruction set.
inline u64 program_checksum(const runtime::loaded_program& model) {
  const runtime::compiled_program& m = model.compiled;
  constexpr graph::capacity any{1, 1, 1};
  std::string text = concat({graph::describe_json(*m.program, any, m.cache().type), m.isa().name});
  if (model.states.turns_by_context) text += concat({"context ", model.context()});
  return xxh64::of(std::as_bytes(std::span(text)));
}

inline io::session_header header_of(const runtime::loaded_program& model) {
  const graph::page_plan& plan = model.states.plan;
  io::session_header h;
  h.kv_type = static_cast<u32>(model.compiled.cache().type), h.vocab = model.compiled.program->vocab();
  h.program = program_checksum(model), h.weights = xxh64::of(model.packed.memory());
  h.page_bytes = plan.bytes(plan.persistent), h.transient_bytes = plan.bytes(plan.transient);
  h.page_positions = plan.positions();
  return h;
}

// Zeroes the positions from `first` on in a part of a page, which may hold data of an earlier owner.
inline void clear_positions(const runtime::loaded_program& model, std::byte* page, bool transient, u32 first) {
  const runtime::compiled_program& m = model.compiled;
  const graph::page_plan& plan = model.states.plan;
  std::vector<std::byte*> blocks(plan.blocks);
  for (u32 b = 0; b < plan.blocks; ++b) blocks[b] = page + b * (transient ? plan.transient : plan.persistent).caches;
  m.program->for_each_state(m.cache().type, [&](const graph::state_descriptor& d) {
    const kernels::kv_place& at = model.states.places[d.id];
    if (graph::is_recurrent(d.what) || d.owner != d.layer || at.transient != transient) return;
    const std::vector<float> zeros(d.head_dim);
    for (u32 head = 0; head < d.heads; ++head)
      for (u32 p = first; p < plan.positions(); ++p)
        m.cache().store({blocks.data(), at.offset + head * at.block_bytes}, p, d.head_dim, zeros.data(), zeros.data());
  });
}

// Throws unsupported if the caches are not in the host's memory.
inline void need_pages_here(const runtime::loaded_program& model) {
  if (model.executor->memory_of_pages())
    throw Error(errc::unsupported, {}, "session file", "caches in the host's memory", model.compiled.isa().name);
}

}  // namespace detail

CKE_ONCE void save_session(const runtime::sequence& s, const std::string& path) {
  const runtime::state_facts& states = s.model().states;
  detail::need_pages_here(s.model());
  for (const u32 id : s.history())  // ids of images are those that only this process understands
    if (id >= s.vocab_size()) throw Error(errc::unsupported, path, "session", "one without images", "one with images");
  io::session_header h = detail::header_of(s.model());
  h.stale = s.stale();
  h.ids = s.position(), h.position = s.state().position(), h.pages = s.state().persistent().end();
  h.transient = states.has_transient ? h.pages - states.first_seen(h.position) : 0;
  io::session_writer to(path, h);
  to.put(std::as_bytes(s.history()));
  const std::vector<float> none(s.stale() ? h.vocab : 0);  // not those of ids that were dropped
  to.put(std::as_bytes(s.stale() ? std::span<const float>(none) : s.logits()));
  std::vector<std::byte> copy(std::max(h.page_bytes, h.transient_bytes));
  const auto put = [&](bool transient, u32 i, const std::byte* page, u64 bytes) {
    std::memcpy(copy.data(), page, bytes);
    if (const u32 first = i * h.page_positions; first + h.page_positions > h.position)
      detail::clear_positions(s.model(), copy.data(), transient, h.position - first);
    to.put(std::span(copy).first(bytes));
  };
  for (u32 i = 0; i < h.pages && h.page_bytes; ++i) put(false, i, s.state().persistent()[i].data, h.page_bytes);
  for (u32 i = h.pages - h.transient; i < h.pages; ++i) put(true, i, s.state().transient()[i].data, h.transient_bytes);
  to.commit();
}

CKE_ONCE void load_session(runtime::sequence& s, const std::string& path) {
  const runtime::state_facts& states = s.model().states;
  const dtype kv = s.model().compiled.cache().type;
  detail::need_pages_here(s.model());
  const io::session_file from(path);
  const io::session_header &found = from.header(), wanted = detail::header_of(s.model());
  const auto need = [&](bool same, std::string_view subject, std::string_view expected, std::string_view other) {
    if (!same) throw Error(errc::config_mismatch, path, subject, expected, other);
  };
  need(found.kv_type == wanted.kv_type, "keys and values", info(kv).name,
       found.kv_type < static_cast<u32>(dtype::none) && known(static_cast<dtype>(found.kv_type))
           ? info(static_cast<dtype>(found.kv_type)).name
           : "others");
  const u32 kept = states.has_transient ? found.pages - states.first_seen(found.position) : 0;
  need(found.program == wanted.program && found.page_bytes == wanted.page_bytes &&
           found.transient_bytes == wanted.transient_bytes && found.page_positions == wanted.page_positions &&
           found.transient == kept && found.vocab == wanted.vocab,
       "session file", "one of this model, compiled for this machine", "one of another");
  need(found.weights == wanted.weights, "session file", "one of a model with these weights", "other weights");
  std::vector<u32> ids(found.ids);
  std::vector<float> logits(found.stale ? 0 : found.vocab);
  std::ranges::copy(from.ids(), std::as_writable_bytes(std::span(ids)).begin());
  if (!found.stale) std::ranges::copy(from.logits(), std::as_writable_bytes(std::span(logits)).begin());
  s.restore(ids, found.position, logits, [&](bool transient, u32 i, std::byte* page) {
    const auto bytes = transient ? from.transient(i) : from.page(i);
    std::memcpy(page, bytes.data(), bytes.size());
  });
}

}  // namespace cke
CKE_COLD_END
