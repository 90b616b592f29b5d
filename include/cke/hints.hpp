// SPDX-License-Identifier: MIT
// hints.hpp: the knobs of hints by name, and the sources that turn them, merged field by field.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>
#include <string_view>

#include "core/concat.hpp"
#include "core/error.hpp"
#include "core/hints.hpp"

CKE_COLD_BEGIN
namespace cke {

// A field of hints by its name in profiles, manifests and command lines. A value is a number from `least` to `most`;
// the first ones may have words instead.
struct knob {
  std::string_view name{}, what{};
  u32 least{}, most{};
  std::span<const std::string_view> words{};  // words[v] stands for v
  bool in_prefill{}, in_decode{};             // the passes whose speed it changes
  std::optional<u32> (*read)(const hints&) = nullptr;
  void (*write)(hints&, u32) = nullptr;
  // Of some layers alone. If there is no write, it is one for the whole model, and no layer has a value of its own.
  std::optional<u32> (*read_of_layers)(const layer_hints&) = [](const layer_hints&) { return std::optional<u32>(); };
  void (*write_of_layers)(layer_hints&, u32) = nullptr;

  std::string text(u32 value) const { return value < words.size() ? std::string(words[value]) : concat({value}); }
  // What text() may return, or another word for it. None: it stands for no value.
  std::optional<u32> value(std::string_view text) const {
    constexpr std::pair<std::string_view, std::string_view> others[]{
        {"true", "on"}, {"false", "off"}, {"tiled_large", "tiled"}, {"tiled_small", "tiled"}};
    if (text == "auto") return read(default_hints);
    for (const auto& [other, word] : others)
      if (text == other) text = word;
    if (const auto word = std::ranges::find(words, text); word != words.end())
      return static_cast<u32>(word - words.begin());
    u32 number{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    const u32 first = std::max(least, static_cast<u32>(words.size()));
    const bool right = failed == std::errc{} && end == text.data() + text.size() && number >= first && number <= most;
    return right ? std::optional(number) : std::nullopt;
  }
  // What value() takes: "all, or 1 to 1024".
  std::string range() const {
    std::string all;
    for (const std::string_view word : words) all += concat({all.empty() ? "" : " or ", word});
    const u32 first = std::max(least, static_cast<u32>(words.size()));
    if (first <= most) all += concat({all.empty() ? "" : ", or ", first, " to ", most});
    return all;
  }
};

namespace detail {
template <class Hints, class T> std::optional<u32> read_field(const Hints& h, std::optional<T> Hints::* field) {
  return h.*field ? std::optional<u32>(static_cast<u32>(*(h.*field))) : std::nullopt;
}
template <auto Field> constexpr knob knob_of(knob k) {
  using number = typename std::remove_cvref_t<decltype(hints{}.*Field)>::value_type;
  k.read = [](const hints& h) { return read_field(h, Field); };
  k.write = [](hints& h, u32 value) { h.*Field = static_cast<number>(value); };
  return k;
}
template <auto Field, auto OfLayers> constexpr knob knob_of(knob k) {
  using number = typename std::remove_cvref_t<decltype(hints{}.*Field)>::value_type;
  k = knob_of<Field>(k);
  k.read_of_layers = [](const layer_hints& h) { return read_field(h, OfLayers); };
  k.write_of_layers = [](layer_hints& h, u32 value) { h.*OfLayers = static_cast<number>(value); };
  return k;
}
inline constexpr std::string_view all_of_them[]{"all"}, switches[]{"off", "on"}, sharings[]{"tiled", "streaming"};
}  // namespace detail

inline constexpr u32 most_hinted_threads = 1024;
inline constexpr std::array knobs{
    detail::knob_of<&hints::prefill_threads>({.name = "prefillThreads",
                                              .what = "threads of a pass of many tokens, at most",
                                              .least = 0,
                                              .most = most_hinted_threads,
                                              .words = detail::all_of_them,
                                              .in_prefill = true}),
    detail::knob_of<&hints::decode_threads>({.name = "decodeThreads",
                                             .what = "threads of a pass of few tokens, at most",
                                             .least = 0,
                                             .most = most_hinted_threads,
                                             .words = detail::all_of_them,
                                             .in_decode = true}),
    detail::knob_of<&hints::chunk>({.name = "chunk",
                                    .what = "tokens of one pass, at most",
                                    .least = 1,
                                    .most = hints::longest_chunk,
                                    .in_prefill = true}),
    detail::knob_of<&hints::units_per_claim, &layer_hints::units_per_claim>(
        {.name = "unitsPerClaim",
         .what = "units of work (32 rows of a matrix) that a thread takes at a time",
         .least = 1,
         .most = hints::most_claimed,
         .in_prefill = true,
         .in_decode = true}),
    detail::knob_of<&hints::spins>({.name = "spins",
                                    .what = "pauses before a waiting thread goes to sleep",
                                    .least = 1,
                                    .most = hints::most_spins,
                                    .in_prefill = true,
                                    .in_decode = true}),
    detail::knob_of<&hints::fewer_threads>({.name = "fewerThreads",
                                            .what = "work with fewer threads while they have to wait for cpus",
                                            .least = 0,
                                            .most = 1,
                                            .words = detail::switches,
                                            .in_prefill = true,
                                            .in_decode = true}),
    detail::knob_of<&hints::huge_pages>({.name = "hugePages",
                                         .what = "huge pages for weights, activations and caches",
                                         .least = 0,
                                         .most = 1,
                                         .words = detail::switches,
                                         .in_prefill = true,
                                         .in_decode = true}),
    detail::knob_of<&hints::attention_decode, &layer_hints::attention_decode>(
        {.name = "attentionDecode",
         .what = "what a thread takes of attention: tiles of keys, or a kv head",
         .least = 0,
         .most = 1,
         .words = detail::sharings,
         .in_decode = true}),
};

inline const knob* knob_named(std::string_view name) {
  const auto at = std::ranges::find(knobs, name, &knob::name);
  return at == knobs.end() ? nullptr : &*at;
}
inline std::string knob_names() {
  std::string all;
  for (const knob& k : knobs) all += concat({all.empty() ? "" : ", ", k.name});
  return all;
}

// The entry of `to` for layers "0-5" or "7", made if there is none. Null if the text is no range, shares layers with
// another one, or would be one too many; `expected` then says what a right one is.
inline layer_hints* layers_named(std::string_view text, hints& to, std::string& expected) {
  layer_hints range;
  const auto number = [](std::string_view digits, u32& n) {
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return failed == std::errc{} && end == digits.data() + digits.size();
  };
  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::string_view last = dash < text.size() ? text.substr(dash + 1) : text;
  if (!number(text.substr(0, dash), range.first) || !number(last, range.last) || range.first > range.last)
    return expected = "layers such as 0-5 or 7", nullptr;
  for (layer_hints& l : to.layers) {
    if (l.first == range.first && l.last == range.last) return &l;
    if (l.first <= range.last && range.first <= l.last)
      return expected = concat({"layers outside of ", l.first, "-", l.last}), nullptr;
  }
  if (to.layers.count == hints::most_layer_hints)
    return expected = concat({"at most ", hints::most_layer_hints, " ranges of layers"}), nullptr;
  return &to.layers[to.layers.push(range)];
}
// "0-5", or "7".
inline std::string range_text(const layer_hints& l) {
  return l.first == l.last ? concat({l.first}) : concat({l.first, "-", l.last});
}
// The knobs that layers may have on their own.
inline std::string layer_knob_names() {
  std::string all;
  for (const knob& k : knobs)
    if (k.write_of_layers) all += concat({all.empty() ? "" : ", ", k.name});
  return all;
}

// Who says what a knob is, the first before the others.
enum class hint_source : u8 { runtime, profile, manifest, measured };
constexpr std::string_view name(hint_source s) {
  constexpr std::string_view names[]{"run time", "profile", "manifest", "default"};
  return names[static_cast<u8>(s)];
}

// The hints of one model. They end with it: nothing is kept for the process.
class hint_stack {
 public:
  // Replaces what that source, which is not `measured`, said before. Throws config_range.
  void set(hint_source from, const hints& h) {
    if (h.layers.count > hints::most_layer_hints)
      throw Error(errc::config_range, {}, "hints.layers", concat({"at most ", hints::most_layer_hints, " ranges"}),
                  concat({h.layers.count}));
    said_[static_cast<u8>(from)] = h;
  }
  const hints& said_by(hint_source from) const { return said_[static_cast<u8>(from)]; }
  // Every field is set.
  hints get() const {
    hints all = default_hints;
    for (std::size_t s = said_.size(); s-- > 0;) all = merged(said_[s], all);
    return all;
  }

  struct choice {
    const knob* of{};
    u32 value{};
    hint_source from{};
  };
  // Calls f(choice, range) for what is said of some layers. Of several with a layer and a knob, the first counts.
  template <class F> void explain_layers(F f) const {
    hints before;  // what sources that go before say of all layers
    for (std::size_t s = 0; s < said_.size(); before = merged(before, said_[s++]))
      for (const layer_hints& l : said_[s].layers)
        for (const knob& k : knobs)
          if (const auto value = k.read_of_layers(l); value && !k.read(before))
            f(choice{&k, *value, static_cast<hint_source>(s)}, l);
  }
  std::array<choice, knobs.size()> explain() const {
    std::array<choice, knobs.size()> all{};
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      all[k] = {&knobs[k], *knobs[k].read(default_hints), hint_source::measured};
      for (std::size_t s = said_.size(); s-- > 0;)
        if (const auto value = knobs[k].read(said_[s]))
          all[k].value = *value, all[k].from = static_cast<hint_source>(s);
    }
    return all;
  }

 private:
  std::array<hints, 3> said_{};
};

}  // namespace cke
CKE_COLD_END
