// SPDX-License-Identifier: MIT
// config_check.hpp: checks a checkpoint's config against the type that is to load it, field by field.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/concat.hpp"
#include "core/function_ref.hpp"
#include "io/checkpoint.hpp"
#include "kernels/attention/rope_frequencies.hpp"
#include "models/config.hpp"

CKE_COLD_BEGIN
namespace cke {

inline std::string number_text(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

inline std::string words_text(const layer_words& words) {
  std::vector<std::string_view> all;
  for (const std::string_view w : words.out.all)
    if (!w.empty()) all.push_back(w);
  for (const std::string_view w : words.in.all)
    if (!w.empty()) all.push_back(w);
  std::string text;
  for (const std::string_view& w : all)
    text += concat({&w == &all.front() ? "" : &w == &all.back() ? " or " : ", ", w});
  return text;
}

[[noreturn]] inline void throw_problem(const config_problem& p, const std::string& file) {
  errc code = errc::config_range;
  std::string expected = "a config that cke can read";
  std::string_view found = p.found.empty() ? "nothing" : p.found;
  switch (p.what) {
    case trouble::missing: expected = "this key", found = "none"; break;
    case trouble::not_a_number:
    case trouble::out_of_range:
      expected = concat({"a number from ", number_text(p.least), " to ", number_text(p.most)});
      break;
    case trouble::not_a_bool: expected = "true or false"; break;
    case trouble::unknown_word:
    case trouble::unsupported:
      code = errc::unsupported;
      expected = p.words ? words_text(*p.words) : concat({p.wanted, p.other.empty() ? "" : " ", p.other});
      break;
    case trouble::none: found = {}; break;
  }
  throw Error(code, file, concat({"config key ", p.key}), expected, found);
}

// Reads and checks a checkpoint's config. `factors` must live as long as the result is used.
template <class Family> typename Family::config config_of(const io::checkpoint& from, rope_factors& factors) {
  if (!is_of<Family>(from.model_type, json{from.config}, from.as)) {
    const std::string_view name = name_in<Family>(from.as);
    throw Error(errc::config_mismatch, from.name, "model type", name == from.model_type ? Family::name : name,
                name == from.model_type ? concat({"another family of architecture ", name}) : from.model_type);
  }
  auto [config, bad] = read_config<Family>(json{from.config}, from.as, &factors);
  if (bad.what != trouble::none) throw_problem(bad, from.name);
  return config;
}

// Two descriptions of a rope are the same when they turn every position alike: llama 3's rule and the tensor that GGUF
// keeps of it, or a factor that is written and one that is implied.
inline bool same_rope(rotary a, rotary b, u32 head_dim, u32 context) {
  if (!a.dims) a.dims = head_dim;
  if (!b.dims) b.dims = head_dim;
  if (a.dims != b.dims || a.pairs != b.pairs) return false;
  const kernels::rope_frequencies x = kernels::rope_frequencies::of(a, head_dim, context),
                                  y = kernels::rope_frequencies::of(b, head_dim, context);
  auto close = [](double p, double q) {  // never of numbers that are not finite
    const double sum = std::abs(p) + std::abs(q);
    return std::isfinite(sum) && std::abs(p - q) <= 2e-5 * sum;
  };
  bool same = x.inverse.size() == y.inverse.size() &&
      close(static_cast<double>(x.attention_factor), static_cast<double>(y.attention_factor));
  for (std::size_t i = 0; same && i < x.inverse.size(); ++i)
    same = close(static_cast<double>(x.inverse[i]), static_cast<double>(y.inverse[i]));
  return same;
}

// Calls tell(key, expected, found) for each key, as the file spells it, whose value differs from the expected one.
template <class Family>
void each_mismatch(const typename Family::config& wanted, const typename Family::config& found, config_reader file,
                   u32 context,
                   function_ref<void(const config_reader::found&, std::string_view, std::string_view)> tell) {
  for (const config_key<typename Family::config>& k : Family::keys) {
    if (k.is_chosen || (k.only_with && !(wanted.*k.only_with && found.*k.only_with))) continue;
    const auto at = file.found_at(k);
    if (k.rope) {
      if (!same_rope(wanted.*k.rope, found.*k.rope, wanted.*k.head_dim, context))
        tell({rope_reader(file, k).spelled()}, "the rope of the type", "one with other frequencies");
    } else if (k.layers) {
      if (wanted.*k.layers != found.*k.layers) tell(at, "the layers of the type", "others");
    } else if (k.real_number) {
      const double want = (wanted.*k.real_number).v, has = (found.*k.real_number).v;
      if (std::abs(want - has) > 1e-5 * std::abs(want)) tell(at, number_text(want), number_text(has));
    } else if (k.number) {
      if (wanted.*k.number != found.*k.number) tell(at, concat({wanted.*k.number}), concat({found.*k.number}));
    } else if (k.flag && wanted.*k.flag != found.*k.flag) {
      tell(at, concat({u32{wanted.*k.flag}}), concat({u32{found.*k.flag}}));
    }
  }
}

// Throws config_mismatch naming the first key of a file's config whose value differs from the expected one.
template <class Family>
void match_config(const typename Family::config& wanted, const typename Family::config& found,
                  const io::checkpoint& from, u32 context) {
  each_mismatch<Family>(wanted, found, {json{from.config}, from.as}, context,
                        [&](const config_reader::found& at, std::string_view want, std::string_view has) {
                          throw Error(errc::config_mismatch, from.name, concat({"config key ", at.key}), want, has);
                        });
}

// Throws config_mismatch if the file is not of the type, config_range if its config is invalid. A model without a
// family is checked by its tensors alone.
template <class M> void match_config(const io::checkpoint& from, u32 context) {
  if constexpr (requires {
                  typename M::family;
                  M::config;
                }) {
    rope_factors factors;
    const auto file = config_of<typename M::family>(from, factors);
    match_config<typename M::family>(M::family::finish(M::config), file, from, context);
  } else {
    (void)from, (void)context;
  }
}

}  // namespace cke
CKE_COLD_END
