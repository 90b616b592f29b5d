// SPDX-License-Identifier: MIT
// config.hpp: a config.json (or GGUF metadata shown as one) becomes a family's config aggregate.
// The same reader runs on constants, for a program's own model, and on files at run time.
#pragma once

#include "family.hpp"
#include "rope_reader.hpp"

CKE_COLD_BEGIN
namespace cke {

template <class Config> struct parsed_config {
  Config config;
  config_problem bad;
};

template <class Family> constexpr typename Family::config defaults_of(naming as) {
  if constexpr (requires { Family::gguf_defaults; })
    if (as == naming::gguf) return Family::gguf_defaults;
  return Family::defaults;
}

// `keys` are the family's, in any order.
template <class Family>
constexpr parsed_config<typename Family::config> read_config(const auto& keys, json root, naming as,
                                                             rope_factors* factors) {
  using config = typename Family::config;
  static_assert(binds_each_member_once<config>(Family::keys),
                "cke: config: a family's keys bind every member of its config, and none twice");
  static_assert(numbers_have_ranges(Family::keys), "cke: config: the key of a number says its range()");
  config c = defaults_of<Family>(as);
  config_reader r{root, as, factors};
  for (const config_key<config>& k : keys) {
    if (k.number) r.read(k, c.*k.number);
    else if (k.real_number) r.read(k, c.*k.real_number);
    else if (k.flag) r.read(k, c.*k.flag);
    else if (k.rope) rope_reader(r, k).read(c.*k.rope);
  }
  bool by_type = false;
  if constexpr (binds_layers(Family::keys))
    for (const config_key<config>& k : keys)
      if (k.layers) r.read(k, c.layers, c.*k.layers), by_type = by_type || k.hf[0].text == "layer_types";
  for (const requirement& must : Family::must_be) r.check(must);
  if (!by_type) r.all_see_everything();
  if (r.bad.what != trouble::none) return {c, r.bad};
  c = Family::finish(c);
  for (const config_key<config>& k : keys)
    if (k.rope) rope_reader(r, k).read_part(c.*k.rope, c.*k.head_dim);
  if constexpr (requires { Family::refuses(root, as, c); })
    if (r.bad.what == trouble::none) r.bad = Family::refuses(root, as, c);
  for (const relation<config>& must : Family::relations)
    if (!must.holds(c))
      r.fail(trouble::unsupported, r.spelled(keys, must.about), {}, 0, 0, must.wanted,
             must.other.empty() ? must.other : r.spelled(keys, must.other));
  for (const config_key<config>& k : keys)
    if (k.rope) rope_reader(r, k).check_part(c.*k.rope, c.*k.head_dim, r.spelled(keys, k.head_dim_name));
  return {c, r.bad};
}
template <class Family>
constexpr parsed_config<typename Family::config> read_config(json root, naming as, rope_factors* factors) {
  return read_config<Family>(Family::keys, root, as, factors);
}

}  // namespace cke
CKE_COLD_END
