// SPDX-License-Identifier: MIT
// byte_model.hpp: the random tiny model with a tokenizer whose ids are mostly bytes.
#pragma once

#include <cke/model.hpp>

#include "runtime/random_model.hpp"

namespace byte_model {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::kernels;
using namespace cke::runtime;
using namespace cke::text;
using random_model::tiny;

inline constexpr u32 end_id = 256, word_id = 257, long_id = 258;

// Ids 0 to 255 are bytes; then a control token that ends an answer, a word, and a token of 600 bytes.
inline vocabulary bytes() {
  vocabulary v;
  for (u32 b = 0; b < 256; ++b) v.tokens.emplace_back(1, static_cast<char>(b));
  v.tokens.emplace_back("<|end|>");
  v.tokens.emplace_back(" caf\u00e9");
  v.tokens.emplace_back(600, 'n');
  v.types.resize(v.tokens.size(), token_type::normal);
  v.types[end_id] = token_type::control;
  v.eos = end_id;
  v.added = {{end_id, true}};
  return v;
}

inline checkpoint with_text(const random_model::tensors& t) {
  checkpoint c = t.checkpoint();
  c.tokens = std::make_shared<const vocabulary>(bytes());
  c.stop_ids = {end_id};
  return c;
}

// Loaded once for each type.
template <class Formats, dtype KV = default_kv<Formats>> const Model<tiny, Formats, KV>& shared() {
  static const auto loaded = [] {
    const auto t = random_model::tensors::of<program<tiny, Formats>>();
    return Model<tiny, Formats, KV>::load(with_text(t), {.threads = 2, .context = 192, .chunk = 40, .logit_rows = 9});
  }();
  return loaded;
}

// The highest of the logits, the lowest id of equals.
inline u32 best(std::span<const float> logits) {
  u32 id = 0;
  for (u32 i = 1; i < logits.size(); ++i)
    if (logits[i] > logits[id]) id = i;
  return id;
}

}  // namespace byte_model
