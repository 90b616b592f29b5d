// SPDX-License-Identifier: MIT
// door-inl.hpp: how door.hpp reads arguments and writes errors.
#pragma once

#include <algorithm>
#include <cstring>

#include "door.hpp"

CKE_COLD_BEGIN
namespace cke::door {

CKE_ONCE int32_t write_error(cke_error* to, errc code, std::string_view what) noexcept {
  const int32_t number = 1 + static_cast<int32_t>(code);
  if (to) {
    to->code = number;
    const std::size_t n = std::min(what.size(), sizeof to->message - 1);
    std::memcpy(to->message, what.data(), n);
    to->message[n] = 0;
  }
  return number;
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

CKE_ONCE model_options options_of(const cke_options* from) {
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

CKE_ONCE tensor_index index_of(const cke_tensor* tensors, std::size_t count, const char* source, const cke_options* o) {
  if (!source || (count && !tensors)) throw Error(errc::usage, {}, source ? "tensors" : "source", "a pointer", "null");
  std::vector<tensor_ref> list;
  const mapped_file::lender by = o ? mapped_file::lender{o->read, o->copied, o->user} : mapped_file::lender{};
  const auto file = std::make_shared<const mapped_file>(source, std::span<const std::byte>{}, by);
  for (const cke_tensor& t : std::span(tensors, count)) list.push_back(tensor_of(t, file));
  return tensor_index(std::move(list));
}

}  // namespace cke::door
CKE_COLD_END
