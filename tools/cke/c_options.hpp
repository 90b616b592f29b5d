// SPDX-License-Identifier: MIT
// c_options.hpp: model_options in the form of cke.h.
#pragma once

#include <vector>

#include <cke/cke.h>
#include <cke/runtime/sequence.hpp>

#include "rooms.hpp"

namespace cke::tool {

// Without callbacks. The options refer to what lies beside them.
class c_options : public cke_options {
 public:
  explicit c_options(const model_options& o) : cke_options{}, layers_(layers_of(o.hints)) {
    const cke::hints& h = o.hints;
    threads = o.threads, context = o.context, chunk = h.chunk.value_or(o.chunk);
    logit_rows = o.logit_rows, cache_positions = o.cache_positions;
    hints = {.prefill_threads = h.prefill_threads.value_or(0),
             .decode_threads = h.decode_threads.value_or(0),
             .units_per_claim = h.units_per_claim.value_or(0),
             .spins = h.spins.value_or(0),
             .fewer_threads = switch_of(h.fewer_threads),
             .huge_pages = switch_of(h.huge_pages),
             .attention_decode = sharing_of(h.attention_decode),
             .layer_count = static_cast<u32>(layers_.size()),
             .layers = layers_.data()};
  }
  c_options(const c_options&) = delete;
  c_options& operator=(const c_options&) = delete;

 private:
  static u32 switch_of(std::optional<bool> on) { return !on ? CKE_DEFAULT : *on ? CKE_ON : CKE_OFF; }
  static u32 sharing_of(std::optional<attention_sharing> s) {
    return !s ? u32{CKE_DEFAULT} : *s == attention_sharing::tiled ? u32{CKE_TILED} : u32{CKE_STREAMING};
  }
  static std::vector<cke_layer_hints> layers_of(const cke::hints& h) {
    std::vector<cke_layer_hints> all;
    for (const layer_hints& l : h.layers)
      all.push_back({l.first, l.last, l.units_per_claim.value_or(0), sharing_of(l.attention_decode)});
    return all;
  }

  std::vector<cke_layer_hints> layers_;
};

}  // namespace cke::tool
