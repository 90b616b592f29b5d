// SPDX-License-Identifier: MIT
// option_table.cpp: reads the table of commands from CLI11's.
#include "option_table.hpp"

#include <CLI/CLI.hpp>

#include "rooms.hpp"

namespace cke::tool {
namespace {

// "TEXT:{f32,f16}" as f32 and f16.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.find('}');
  std::vector<std::string> all;
  if (open == type.npos || close == type.npos) return all;
  for (std::size_t at = open + 1; at < close;) {
    const std::size_t end = std::min(type.find(',', at), close);
    all.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

option_words words_of(const CLI::Option& o) {
  option_words w{.names = {}, .about = o.get_description(), .value = {}, .choices = {}};
  w.positional = o.get_positional();
  for (const std::string& name : o.get_snames()) w.names.push_back('-' + name);
  for (const std::string& name : o.get_lnames()) w.names.push_back("--" + name);
  if (w.positional) w.names = {o.get_name(true)};
  if (o.get_items_expected_max() > 0) {
    const std::string type = o.get_type_name();
    w.choices = choices_of(type);
    w.value = w.choices.empty() ? type.substr(0, type.find(':')) : "WORD";
    w.is_file = w.positional ? w.choices.empty() : w.value == "FILE" || w.value.starts_with("MODEL");
  }
  return w;
}

command_words words_of(const CLI::App& app) {
  command_words c{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const bool positional : {true, false})
    for (const CLI::Option* o : app.get_options())
      if (o->get_positional() == positional) c.options.push_back(words_of(*o));
  return c;
}

}  // namespace

std::vector<command_words> table_of(const CLI::App& app) {
  std::vector<command_words> all{words_of(app)};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    all.push_back(words_of(*command));
  return all;
}

}  // namespace cke::tool
