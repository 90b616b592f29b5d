// SPDX-License-Identifier: MIT
// hints.hpp: knobs that change how fast a model runs, and never what it answers.
#pragma once

#include <optional>

#include "types.hpp"

namespace cke {

// How threads share the attention of a pass in decode form.
enum class attention_sharing : u8 {
  tiled,      // tiles of keys, or slices of query heads, are units: several threads work on one kv head
  streaming,  // a kv head is a unit: one thread reads all its keys, and nothing is left to combine
};

// What hints say of some layers alone.
struct layer_hints {
  u32 first{}, last{};  // of the layers, which count from 0; the last is one of them
  std::optional<u32> units_per_claim{};
  std::optional<attention_sharing> attention_decode{};

  constexpr bool has(u32 layer) const { return first <= layer && layer <= last; }
  constexpr bool operator==(const layer_hints&) const = default;
};

// An absent field leaves the choice to the next source (cke/hints.hpp), or to default_hints.
struct hints {
  std::optional<u32> prefill_threads{}, decode_threads{};  // in a pass of that form, at most; 0: all of the model's
  std::optional<u32> chunk{};                              // most tokens of one pass
  std::optional<u32> units_per_claim{};                    // units of work that a thread takes at a time
  std::optional<u32> spins{};                              // pauses before a waiting thread goes to sleep
  std::optional<bool> fewer_threads{};                     // while threads wait for cpus (runtime/headcount.hpp)
  std::optional<bool> huge_pages{};                        // for weights, activations and caches
  std::optional<attention_sharing> attention_decode{};
  // These go before the fields above. Of several that have a layer, the first with the field counts.
  static constexpr u32 most_layer_hints = 16;                // of one source
  small_vector<layer_hints, 3 * most_layer_hints> layers{};  // of three sources

  constexpr layer_hints at(u32 layer) const {
    layer_hints all{.first = layer, .last = layer};
    const auto fill = [](auto& field, const auto& from) {
      if (!field) field = from;
    };
    for (const layer_hints& l : layers)
      if (l.has(layer)) fill(all.units_per_claim, l.units_per_claim), fill(all.attention_decode, l.attention_decode);
    fill(all.units_per_claim, units_per_claim), fill(all.attention_decode, attention_decode);
    return all;
  }

  constexpr bool operator==(const hints&) const = default;

  static constexpr u32 most_claimed = 256, most_spins = 1'000'000, longest_chunk = 1 << 16;
};

inline constexpr hints default_hints{.prefill_threads = 0,
                                     .decode_threads = 0,
                                     .chunk = 512,
                                     .units_per_claim = 1,
                                     .spins = 2000,
                                     .fewer_threads = true,
                                     .huge_pages = true,
                                     .attention_decode = attention_sharing::tiled,
                                     .layers = {}};

// `first`, and for its absent fields `second`. What `first` says of all layers goes before what `second` says of some.
constexpr hints merged(const hints& first, const hints& second) {
  hints h = first;
  const auto fill = [&](auto hints::* field) {
    if (!(h.*field)) h.*field = second.*field;
  };
  fill(&hints::prefill_threads), fill(&hints::decode_threads), fill(&hints::chunk), fill(&hints::units_per_claim);
  fill(&hints::spins), fill(&hints::fewer_threads), fill(&hints::huge_pages), fill(&hints::attention_decode);
  for (layer_hints l : second.layers) {
    if (first.units_per_claim) l.units_per_claim = {};
    if (first.attention_decode) l.attention_decode = {};
    if (l.units_per_claim || l.attention_decode) h.layers.push(l);
  }
  return h;
}

}  // namespace cke
