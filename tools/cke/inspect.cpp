// SPDX-License-Identifier: MIT
// inspect.cpp: cke inspect: describes a checkpoint and the program compiled for it.
#include <map>
#include <nlohmann/json.hpp>

#include "cache.hpp"
#include "commands.hpp"
#include "plan_text.hpp"
#include "rooms.hpp"
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
  return {{"file", from.name},
          {"family", u.family},
          {"type", u.type},  // in C++ syntax, to paste into a program
          {"parameters", parameters},
          {"bytes", bytes},
          {"stored", stored},
          {"format", u.format},
          {"kv", info(u.kv).name},
          {"max_position_embeddings", u.max_position},
          {"vocabulary", from.tokens ? json_object(from.tokens->tokens.size()) : json_object(nullptr)},
          {"stop_ids", from.stop_ids}};
}

void print_facts(const json_object& facts) {
  std::string out;
  const auto line = [&](std::string key, const std::string& value) {
    key.resize(14, ' ');
    out += key + value + '\n';
  };
  line("file", facts["file"].get<std::string>());
  line("type", facts["type"].get<std::string>());
  line("parameters", facts["parameters"].dump() + " (" + short_count(facts["parameters"].get<u64>()) + ')');
  for (const auto& [type, row] : facts["stored"].items())
    line("stored as", type + ": " + row["tensors"].dump() + " tensors, " + bytes_text(row["bytes"].get<double>()));
  line("runs as",
       "weights " + facts["format"].get<std::string>() + ", keys and values " + facts["kv"].get<std::string>());
  line("positions", facts["max_position_embeddings"].dump());
  line("tokenizer", facts["vocabulary"].is_null() ? "none" : facts["vocabulary"].dump() + " tokens");
  std::string ids;
  for (const auto& id : facts["stop_ids"]) ids += (ids.empty() ? "" : ", ") + id.dump();
  line("stop ids", ids.empty() ? "none" : ids);
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
    facts["plan"] = json_object::parse(library_of(u, made_for::this_command).door->plan_json(options));
  }
  if (args.json) return put(facts.dump(2, ' ', false, json_object::error_handler_t::replace) + '\n');
  print_facts(facts);
  if (args.plan) put('\n' + plan_text(facts["plan"]));
}

}  // namespace cke::tool
