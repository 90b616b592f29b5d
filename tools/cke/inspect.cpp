// SPDX-License-Identifier: MIT
// inspect.cpp: cke inspect: describes a checkpoint and the program compiled for it.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include <cke/core/json.hpp>
#include <cke/io/hf_vision.hpp>

#include "bundle.hpp"
#include "cache.hpp"
#include "commands.hpp"
#include "inspected.hpp"
#include "model_hints.hpp"
#include "plan_text.hpp"
#include "rank_plan.hpp"
#include "rooms.hpp"
#include "source.hpp"
#include "terminal.hpp"
#include "tower_unit.hpp"
#include "trainer_model.hpp"

namespace cke::tool {
namespace {

using json_object = nlohmann::ordered_json;

constexpr u32 training_rows = 512;  // the ids of a pass that --train tells the memory of

json_object shown_facts(const checkpoint& from, const unit& u) {
  std::map<std::string, json_object> stored;
  u64 parameters = 0, bytes = 0;
  for (const tensor_ref& t : from.tensors.tensors()) {
    u64 elements = 1;
    for (const u64 n : t.shape) elements *= n;
    json_object& row = stored[t.type == dtype::none ? t.stored : std::string(info(t.type).name)];
    if (row.is_null()) row = {{"tensors", u64{0}}, {"elements", u64{0}}, {"bytes", u64{0}}};
    row["tensors"] = row["tensors"].get<u64>() + 1;
    row["elements"] = row["elements"].get<u64>() + elements;
    const u64 size = t.type == dtype::none ? t.bytes.size() : elements / info(t.type).block * info(t.type).bytes;
    row["bytes"] = row["bytes"].get<u64>() + size;
    parameters += elements, bytes += size;
  }
  return {{"family", u.family},       {"type", u.type},  // in C++ syntax, to paste into a program
          {"parameters", parameters}, {"bytes", bytes},       {"stored", stored},
          {"format", u.format},       {"kv", info(u.kv).name}};
}

// Values may be kept for the way back, or recomputed.
json_object training_facts(const checkpoint& from, const model_args& model) {
  const auto door =
      library_of(make_unit(from, {.format = "f32", .kv = "f32", .door = door_kind::trainer}), made_for::this_command)
          .door;
  json_object facts{{"ids", training_rows}};
  for (const bool recompute : {false, true}) {
    const cke_train_plan p = training_plan_of(*door,
                                              {.threads = model.threads,
                                               .context = model.context,
                                               .rows = training_rows,
                                               .gradients_only = 0,
                                               .pads = 0,
                                               .padding = 0,
                                               .recompute = recompute,
                                               .bf16 = 0,
                                               .in_f32 = nullptr,
                                               .label_smoothing = 0,
                                               .z_loss = 0,
                                               .balance_loss = 0,
                                               .rank = 0,
                                               .alpha = 0,
                                               .seed = 0,
                                               .targets = nullptr});
    if (!recompute) facts.update({{"weights", p.weights}, {"gradients", p.gradients}, {"moments", p.moments}});
    facts[recompute ? "recomputed" : "kept"] = {
        {"values", p.values}, {"value_gradients", p.value_slopes}, {"rest", p.rest}};
  }
  return facts;
}

// How passes run, and whether a program of one's own would do better with cke::unrolled.
json_object executor_facts(u64 weight_bytes, bool sees_images) {
  constexpr u64 gains_below = u64{12} << 20;  // docs/decisions/039-unrolled.md
  const bool gains = !sees_images && weight_bytes < gains_below;
  const std::string limit = bytes_text(gains_below), weights = bytes_text(static_cast<double>(weight_bytes));
  std::string why = "as always in the command; ";
  if (sees_images) why += "cke::unrolled takes no model that sees images";
  else if (gains)
    why += "on one thread a program of your own gains from cke::unrolled: " + weights + " of weights, below " + limit;
  else why += "cke::unrolled would gain little: " + weights + " of weights, not below " + limit;
  return {{"is", "tables"}, {"why", why}, {"unrolled_gains", gains}};
}

json_object hint_facts(const model_hints& h) {
  json_object all = json_object::array();
  for (const auto& [of, value, from] : h.all.explain())
    all.push_back({{"knob", of->name}, {"value", of->text(value)}, {"source", h.origin(from)}, {"what", of->what}});
  h.all.explain_layers([&](const hint_stack::choice& c, const layer_hints& range) {
    all.push_back({{"knob", c.of->name},
                   {"layers", range_text(range)},
                   {"value", c.of->text(c.value)},
                   {"source", h.origin(c.from)},
                   {"what", c.of->what}});
  });
  return all;
}
std::string hints_text(const json_object& all) {
  std::string out = "hints\n";
  for (const json_object& h : all) {
    std::string row = "  " + h["knob"].get<std::string>();
    if (h.contains("layers")) row += "@" + h["layers"].get<std::string>();
    for (const auto& [key, width] : {std::pair{"value", 20u}, std::pair{"source", 32u}})
      row.resize(std::max<std::size_t>(row.size() + 2, width), ' '), row += h[key].get<std::string>();
    out += row + '\n';
  }
  return out;
}

json_object text_facts(const checkpoint& from, const unit& u, const inspect_args& args, const hints& packed = {}) {
  json_object facts = shown_facts(from, u);
  facts["max_position_embeddings"] = u.max_position;
  facts["vocabulary"] = from.tokens ? json_object(from.tokens->tokens.size()) : json_object(nullptr);
  facts["stop_ids"] = from.stop_ids;
  if (!args.plan && !args.explain) return facts;
  const model_hints how = hints_of(args.model, u, packed);
  if (args.explain) facts["hints"] = hint_facts(how);
  if (!args.plan) return facts;
  model_options options{.context = args.model.context, .hints = how.all.get()};
  if (options.context == 0) options.context = std::min(u.max_position ? u.max_position : 4096u, 4096u);
  facts["plan"] = json_object::parse(library_of(u, made_for::this_command).door->plan_json(options));
  facts["executor"] =
      executor_facts(facts["plan"]["weight_bytes"].get<u64>(), json{from.config}["sees_images"].s == "true");
  if (args.train) facts["training"] = training_facts(from, args.model);
  return facts;
}
unit_options on_ranks(const inspect_args& args) {
  unit_options numbers = args.model.numbers;
  numbers.door = door_kind::ranked;
  return numbers;
}
json_object rank_facts(const unit& u, u32 ranks) {
  return json_object::parse(library_of(u, made_for::this_command).door->ranks_plan_json(ranks));
}
// What a bundle adds to its checkpoint.
json_object bundle_facts(const manifest& m) {
  return {{"cke", m.version},
          {"isa", m.isa},
          {"bytes", m.weights.bytes},
          {"weights", m.list.size()},
          {"packed_from", m.source.path}};
}
json_object tower_facts(const checkpoint& from, const inspect_args& args) {
  constexpr u32 patches = 4096;  // those of an image of 1024 x 1024 pixels in patches of 16
  const unit u = make_tower_unit(from, args.model.numbers);
  json_object facts = shown_facts(from, u);
  if (args.plan)
    facts["plan"] = json_object::parse(library_of(u, made_for::this_command).door->tower_plan_json(patches));
  return facts;
}

std::string line(std::string key, const std::string& value) {
  key.resize(14, ' ');
  return key + value + '\n';
}
// What a text model and a tower have.
std::string facts_text(const json_object& facts) {
  std::string out = line("type", facts["type"].get<std::string>()) +
      line("parameters", facts["parameters"].dump() + " (" + short_count(facts["parameters"].get<u64>()) + ')');
  for (const auto& [type, row] : facts["stored"].items())
    out +=
        line("stored as", type + ": " + row["tensors"].dump() + " tensors, " + bytes_text(row["bytes"].get<double>()));
  return out +
      line("runs as",
           "weights " + facts["format"].get<std::string>() + ", keys and values " + facts["kv"].get<std::string>());
}
std::string bundle_facts_text(const json_object& packed) {
  return line("packed by", "cke " + packed["cke"].get<std::string>() + " for " + packed["isa"].get<std::string>()) +
      line("packed from", packed["packed_from"].get<std::string>()) +
      line("packed", packed["weights"].dump() + " weights, " + bytes_text(packed["bytes"].get<double>()));
}
std::string text_facts_text(const json_object& facts) {
  std::string ids;
  for (const auto& id : facts["stop_ids"]) ids += (ids.empty() ? "" : ", ") + id.dump();
  return facts_text(facts) + line("positions", facts["max_position_embeddings"].dump()) +
      line("tokenizer", facts["vocabulary"].is_null() ? "none" : facts["vocabulary"].dump() + " tokens") +
      line("stop ids", ids.empty() ? "none" : ids);
}

std::string training_text(const json_object& facts) {
  const auto row = [](const char* what, const json_object& bytes, const std::string& more = {}) {
    return line(what, bytes_text(bytes.get<double>()) + more);
  };
  const json_object &kept = facts["kept"], &again = facts["recomputed"];
  const auto two = [&](const char* what, const char* key) {
    return row(what, kept[key], "   with --recompute " + bytes_text(again[key].get<double>()));
  };
  return "training of all weights, in f32, a pass of " + facts["ids"].dump() + " ids\n" +
      row("weights", facts["weights"]) + row("gradients", facts["gradients"]) + row("moments", facts["moments"]) +
      two("values", "values") + two("their slopes", "value_gradients") + two("rest", "rest");
}

}  // namespace

json_object inspected(const inspect_args& args) {
  const std::string& path = args.model.path;
  json_object facts{{"file", path}}, tower;
  bool sees_only = false;
  if (std::filesystem::is_directory(path) && io::has_tower(path)) {
    const checkpoint from = io::hf_vision(path);
    tower = tower_facts(from, args);
    sees_only = from.model_type == "siglip_vision_model";
  }
  if (is_bundle(path)) {
    const bundle packed(path);
    const checkpoint from = packed.as_checkpoint();
    facts["bundle"] = bundle_facts(packed.about());
    facts.update(
        text_facts(from, unit_of_bundle(packed.about(), from, args.model.numbers), args, packed.about().hints));
    if (args.ranks) facts["ranks"] = rank_facts(unit_of_bundle(packed.about(), from, on_ranks(args)), args.ranks);
  } else if (!sees_only) {
    const checkpoint from = open_checkpoint(path);
    facts.update(text_facts(from, make_unit(from, args.model.numbers), args));
    if (args.ranks) facts["ranks"] = rank_facts(make_unit(from, on_ranks(args)), args.ranks);
  }
  if (!tower.is_null()) facts["tower"] = tower;
  return facts;
}

void inspect(const inspect_args& args) {
  const json_object facts = inspected(args), tower = facts.contains("tower") ? facts["tower"] : json_object();
  if (args.json) return put(facts.dump(2, ' ', false, json_object::error_handler_t::replace) + '\n');

  std::string out = line("file", facts["file"].get<std::string>());
  if (facts.contains("bundle")) out += bundle_facts_text(facts["bundle"]);
  if (facts.contains("type")) out += text_facts_text(facts);
  if (facts.contains("hints")) out += '\n' + hints_text(facts["hints"]);
  if (facts.contains("executor"))
    out += '\n' +
        line("executor",
             facts["executor"]["is"].get<std::string>() + ": " + facts["executor"]["why"].get<std::string>());
  if (facts.contains("plan")) out += '\n' + plan_text(facts["plan"]);
  if (facts.contains("ranks")) out += '\n' + rank_plan_text(facts["ranks"]);
  if (facts.contains("training")) out += '\n' + training_text(facts["training"]);
  if (!tower.is_null()) out += "\nvision tower\n" + facts_text(tower);
  if (tower.contains("plan")) out += '\n' + plan_text(tower["plan"]);
  put(out);
}

}  // namespace cke::tool
