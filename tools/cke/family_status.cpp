// SPDX-License-Identifier: MIT
// family_status.cpp: see family_status.hpp.
#include "family_status.hpp"

#include <algorithm>
#include <cke/core/error.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "commands.hpp"
#include "own_file.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

namespace fs = std::filesystem;
// {"program": ..., "commit": ..., "families": {"qwen3": ["config", ...]}}
void add_program(const std::string& file, const nlohmann::json& program, family_status& to) {
  const auto wrong = [&](std::string_view what, std::string_view want, const nlohmann::json& found) {
    return Error(errc::malformed, file, what, want,
                 found.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  };
  if (!program.is_object()) throw wrong("family status", "what a test program wrote", program);
  const nlohmann::json commit = program.value("commit", nlohmann::json()),
                       families = program.value("families", nlohmann::json());
  if (!commit.is_string()) throw wrong("\"commit\"", "a text", commit);
  if (!families.is_object()) throw wrong("\"families\"", "an object", families);
  to.commits.insert(commit);
  for (const auto& [family, columns] : families.items()) {
    if (!columns.is_array()) throw wrong("\"" + family + "\"", "a list of columns", columns);
    for (const nlohmann::json& c : columns) {
      if (!c.is_string() || std::ranges::find(status_columns, c.get<std::string>()) == std::end(status_columns))
        throw wrong("\"" + family + "\"", "a column of cke families", c);
      to.columns[family].insert(c);
    }
  }
}
void add_file(const std::string& file, family_status& to) {
  const nlohmann::json all = nlohmann::json::parse(file_text(file), nullptr, false);
  if (all.is_discarded()) throw Error(errc::malformed, file, "family status", "JSON", "something else");
  if (!all.is_array()) return add_program(file, all, to);
  for (const nlohmann::json& program : all) add_program(file, program, to);
}

}  // namespace

std::optional<family_status> read_family_status(const std::optional<std::string>& path) {
  std::error_code ignored;
  fs::path from;
  if (path) {
    from = *path;
  } else {
    const fs::path folder = own_file().parent_path();
    from = folder / "family-status";
    if (!fs::exists(from, ignored)) from = folder.parent_path() / "share/cke/family-status.json";
    if (!fs::exists(from, ignored)) return {};
  }
  family_status all;
  if (!fs::is_directory(from, ignored)) return add_file(from, all), all;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(from))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  for (const std::string& file : files) add_file(file, all);
  if (files.empty() && !path) return {};
  return all;
}

}  // namespace cke::tool
