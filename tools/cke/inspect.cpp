// SPDX-License-Identifier: MIT
// inspect.cpp: cke inspect: what a checkpoint is, and the program that it becomes.
#include <map>
#include <nlohmann/json.hpp>

#include "cache.hpp"
#include "commands.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

using json_object = nlohmann::ordered_json;

json_object facts_of(const checkpoint& from, const unit& u) {
  std::map<std::string, json_object> stored;
  u64 parameters = 0, bytes = 0;
  for (const tensor_ref& t : from.tensors.tensors()) {
    u64 elements = 1;
    for (const u64 n : t.shape) elements *= n;
    json_object& row = stored[t.type == dtype::none ? t.stored : std::string(info(t.type).name)];
    if (row.is_null()) row = {{"tensors", u64{0}}, {"elements", u64{0}}, {"bytes", u64{0}}};
    row["tensors"] = row["tensors"].get<u64>() + 1;
    row["elements"] = row["elements"].get<u64>() + elements;
    row["bytes"] = row["bytes"].get<u64>() + t.bytes.size();
    parameters += elements, bytes += t.bytes.size();
  }
  // The type is shown as C++ spells it, so it can be pasted into a program.
  const std::string_view text = u.text;
  const std::size_t begin = text.find("using model = ") + 14;
  return {{"file", from.name},
          {"family", u.family},
          {"type", text.substr(begin, text.find(";\n", begin) - begin)},
          {"parameters", parameters},
          {"bytes", bytes},
          {"stored", stored},
          {"format", info(u.format).name},
          {"kv", info(u.kv).name},
          {"max_position_embeddings", u.max_position},
          {"vocabulary", from.tokens ? json_object(from.tokens->tokens.size()) : json_object(nullptr)},
          {"stop_ids", from.stop_ids}};
}

std::string cell(const json_object& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json_object::error_handler_t::replace);
}

void print_facts(const json_object& facts) {
  std::string out;
  for (const auto& [key, value] : facts.items()) {
    if (key == "plan") continue;
    if (key == "stored") {
      for (const auto& [type, row] : value.items())
        out += "stored " + type + std::string(18 - std::min<std::size_t>(18, type.size()), ' ') + cell(row["tensors"]) +
               " tensors, " + cell(row["elements"]) + " elements, " + cell(row["bytes"]) + " bytes\n";
    } else {
      out += key + std::string(25 - std::min<std::size_t>(25, key.size()), ' ') + cell(value) + '\n';
    }
  }
  put(out);
}

}  // namespace

void inspect(const inspect_args& args) {
  const checkpoint from = open_checkpoint(args.model.path);
  const unit u = make_unit(from, args.model.numbers);
  json_object facts = facts_of(from, u);
  if (args.plan) {
    model_options options{.context = args.model.context, .chunk = args.model.chunk};
    if (options.context == 0) options.context = std::min(u.max_position ? u.max_position : 4096u, 4096u);
    facts["plan"] = json_object::parse(library_of(u).door->plan_json(options));
  }
  if (args.json) return put(facts.dump(2, ' ', false, json_object::error_handler_t::replace) + '\n');
  print_facts(facts);
  if (args.plan) put(facts["plan"].dump(2) + '\n');
}

}  // namespace cke::tool
