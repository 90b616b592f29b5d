// SPDX-License-Identifier: MIT
// model_hints.cpp: implements model_hints.hpp.
#include "model_hints.hpp"

#include <filesystem>

#include <cke/core/sha256.hpp>

#include "cache_directory.hpp"
#include "cpu_name.hpp"

namespace cke::tool {

std::string model_hints::origin(hint_source from) const {
  return concat({name(from), from == hint_source::profile ? " " : "", from == hint_source::profile ? profile : ""});
}

std::string program_of(const unit& u) { return sha256_of(text_of_model(u)).substr(0, 16); }

hint_profile::target target_here(const std::string& program, u32 threads) {
  return {program, cpu_name(), threads ? threads : default_threads()};
}

std::string profile_path(const std::string& cache, const hint_profile::target& target) {
  const std::string key = sha256_of(concat({target.program, "\n", target.cpu, "\n", target.threads}));
  return concat({cache, "/profiles/", key.substr(0, 16), ".yaml"});
}

model_hints hints_of(const model_args& args, const unit& u, const hints& packed) {
  model_hints h;
  h.all.set(hint_source::runtime, args.hinted);
  h.all.set(hint_source::manifest, packed);
  const hint_profile::target here = target_here(program_of(u), args.threads);
  if (!args.profile.empty()) h.profile = args.profile;
  else if (const std::string cache = existing_cache_directory(); !cache.empty()) {
    std::error_code ignored;
    if (const std::string usual = profile_path(cache, here); std::filesystem::exists(usual, ignored)) h.profile = usual;
  }
  if (h.profile.empty()) return h;
  const hint_profile p = read_profile(h.profile);
  check_target(p, here, h.profile);
  h.all.set(hint_source::profile, p.hints);
  return h;
}

std::string set_hint(const std::string& text, hints& to) {
  const std::size_t at = std::min(text.find('='), text.size()), of = std::min(text.find('@'), at);
  const knob* const k = knob_named(text.substr(0, of));
  if (at == text.size() || !k)
    return concat({"expected KNOB=VALUE, with one of ", knob_names(), ", found \"", text, "\""});
  const auto value = k->value(std::string_view(text).substr(at + 1));
  if (!value) return concat({"expected ", k->name, "=", k->range(), ", found \"", text, "\""});
  if (of == at) return k->write(to, *value), std::string();
  std::string expected;
  layer_hints* const l =
      k->write_of_layers ? layers_named(std::string_view(text).substr(of + 1, at - of - 1), to, expected) : nullptr;
  if (!k->write_of_layers) expected = concat({"one of ", layer_knob_names()});
  if (!l) return concat({"expected KNOB@LAYERS=VALUE, with ", expected, ", found \"", text, "\""});
  k->write_of_layers(*l, *value);
  return {};
}

}  // namespace cke::tool
