// SPDX-License-Identifier: MIT
// families.cpp: cke families: which models it knows, by all their names, and what tests established of each.
#include <algorithm>
#include <nlohmann/json.hpp>

#include <cke/io/hf_vision.hpp>

#include "commands.hpp"
#include "family_status.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "unit.hpp"

namespace cke::tool {

void families(const families_args& args) {
  const std::vector<known_family> all = known_families();
  const std::optional<family_status> status = read_family_status(args.status);
  const auto established = [&](const known_family& f, std::string_view column) {
    if (!status) return false;
    const auto found = status->columns.find(std::string(f.model_type));
    return found != status->columns.end() && found->second.contains(std::string(column));
  };
  if (args.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const known_family& f : all) {
      nlohmann::ordered_json columns;  // null: no tests have run
      if (status) columns = nlohmann::ordered_json::object();
      for (const std::string_view c : status_columns)
        if (status) columns[std::string(c)] = established(f, c);
      out.push_back(
          {{"model_type", f.model_type}, {"gguf", f.architecture}, {"presets", f.presets}, {"established", columns}});
    }
    return put(out.dump(2) + '\n');
  }
  std::string out;
  const auto cell = [&](std::string_view text, std::size_t width) {
    out += std::string(text) + std::string(width - std::min(width - 1, text.size()), ' ');
  };
  cell("model_type", 19), cell("GGUF", 15);
  for (const std::string_view c : status_columns) cell(c, c.size() + 2);
  out += "presets\n";
  for (const known_family& f : all) {
    cell(f.model_type, 19), cell(f.architecture, 15);
    for (const std::string_view c : status_columns) cell(established(f, c) ? "yes" : "-", c.size() + 2);
    std::string presets;
    for (const std::string_view name : f.presets) presets += (presets.empty() ? "" : ", ") + std::string(name);
    out += presets + '\n';
  }
  if (!status) {
    out += "\nNo tests have run in this build: what they establish is not known.\n";
  } else {
    out += "\nyes: established by the tests of commit";
    for (const std::string& commit : status->commits) out += ' ' + commit;
    out += "; -: not tested\n";
  }
  out += "\nVision towers, on CPUs only (docs/vision.md):\n";
  for (const io::detail::tower_of_model& model : io::detail::towers_of_models)
    cell(model.model_type, 24), out += std::string(model.tower) + '\n';
  put(out);
}

}  // namespace cke::tool
