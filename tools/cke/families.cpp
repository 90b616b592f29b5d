// SPDX-License-Identifier: MIT
// families.cpp: cke families: which models it knows, by all their names.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "terminal.hpp"
#include "unit.hpp"
#include "rooms.hpp"

namespace cke::tool {

void families(const families_args& args) {
  const std::vector<known_family> all = known_families();
  if (args.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const known_family& f : all) out.push_back({{"model_type", f.model_type}, {"gguf", f.architecture}, {"presets", f.presets}});
    return put(out.dump(2) + '\n');
  }
  std::string out;
  const auto line = [&](std::string model_type, std::string gguf, std::string_view presets) {
    model_type.resize(20, ' '), gguf.resize(16, ' ');
    out += model_type + gguf + std::string(presets) + '\n';
  };
  line("model_type", "GGUF", "presets");
  for (const known_family& f : all) {
    std::string presets;
    for (const std::string_view name : f.presets) presets += (presets.empty() ? "" : ", ") + std::string(name);
    line(std::string(f.model_type), std::string(f.architecture), presets);
  }
  put(out);
}

}  // namespace cke::tool
