// SPDX-License-Identifier: MIT
// step_list.cpp: implements step_list.hpp.
#include "step_list.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "number_list.hpp"

namespace cke::tool {
namespace {

using json_object = nlohmann::ordered_json;

// Steps that are called after what their weight is for.
bool is_named_by_weight(std::string_view op) {
  constexpr std::array ops{"embedding", "matmul", "router", "rmsnorm", "layer_norm", "head_norm", "head_matmul"};
  return std::ranges::find(ops, op) != ops.end();
}

// Names the parts of steps in order. A name that was given before in a layer gets a number.
class namer {
 public:
  // The names of what an unfused step writes: one for each output, or two for columns of one.
  std::vector<std::string> name(const std::string& op, const std::vector<std::string>& roles, std::size_t outputs) {
    std::vector<std::string> names;
    if (is_named_by_weight(op) && !roles.empty()) {
      for (const std::string& role : roles) names.push_back(unique(role));
    } else if (op == "rope" || op == "head_norm") {
      for (std::size_t i = 0; i < outputs; ++i) names.push_back(unique(op + (i ? ".k" : outputs > 1 ? ".q" : "")));
    } else {
      for (std::size_t i = 0; i < outputs; ++i) names.push_back(unique(i ? op + ".rest" : op));
    }
    return names;
  }

 private:
  std::string unique(const std::string& name) {
    const u32 before = used_[name]++;
    return before ? name + '.' + std::to_string(before) : name;
  }
  std::map<std::string, u32> used_;
};

// One code of the plan, read.
class code_reader {
 public:
  code_reader(const json_object& code, const json_object& fusions) : code_(code), fusions_(fusions) {}

  // Adds its steps for one layer.
  void read(i32 layer, u32 number_of_code, namer& names, std::vector<model_step>& to) const {
    u32 index = 0;
    for (const json_object& i : code_["instructions"]) {
      model_step s{.number = static_cast<u32>(to.size()),
                   .layer = layer,
                   .code = number_of_code,
                   .index = index++,
                   .op = i["op"],
                   .letter = i["letter"],
                   .values = {},
                   .inside = {}};
      if (s.op != "residual_save" && s.op != "kv_store") add_values(i, names, s);  // copies of what is there
      to.push_back(std::move(s));
    }
  }

 private:
  struct part {
    std::string op;
    std::vector<std::string> names;
  };

  // The roles of an instruction's weights, biases apart.
  std::vector<std::string> roles_of(const json_object& i) const {
    std::vector<std::string> roles;
    for (const json_object& w : i["weights"])
      if (const json_object& slot = code_["weights"][w.get<std::size_t>()]; !slot["bias"].get<bool>())
        roles.push_back(slot["role"]);
    return roles;
  }

  // What a step is made of: itself, or the steps that were fused into it.
  std::vector<part> parts_of(const json_object& i) const {
    for (const json_object& f : fusions_)
      if (f["becomes"] == i["op"]) {
        std::vector<part> parts;
        for (const json_object& op : f["parts"]) parts.push_back({op, {}});
        return parts;
      }
    return {{i["op"], {}}};
  }

  void add_values(const json_object& i, namer& names, model_step& s) const {
    std::vector<part> parts = parts_of(i);
    const std::vector<std::string> roles = roles_of(i);
    const std::size_t outputs = i["out"].size();
    const auto named = std::ranges::count_if(parts, [](const part& p) { return is_named_by_weight(p.op); });
    const std::size_t each = named ? roles.size() / static_cast<std::size_t>(named) : 0;
    auto next = roles.begin();
    for (part& p : parts) {
      std::vector<std::string> own;
      if (is_named_by_weight(p.op))
        own.assign(next, next + static_cast<std::ptrdiff_t>(each)), next += static_cast<std::ptrdiff_t>(each);
      const bool by_head = p.op == "rope" || p.op == "head_norm";
      p.names = names.name(p.op, own, parts.size() == 1 || by_head ? outputs : 1);
    }
    // The outputs that are left after fusion are those of its last parts.
    std::vector<std::vector<std::string>> written;
    for (const part& p : parts) {
      const bool columns = p.names.size() > 1 && p.op == "matmul";
      if (columns) written.push_back(p.names);
      else
        for (const std::string& n : p.names) written.push_back({n});
    }
    const std::size_t inside = written.size() - std::min(written.size(), outputs);
    for (std::size_t k = 0; k < inside; ++k) s.inside.insert(s.inside.end(), written[k].begin(), written[k].end());
    for (std::size_t o = 0; o < outputs; ++o) {
      const json_object& reg = code_["registers"][i["out"][o].get<std::size_t>()];
      const u32 width = reg["width"];
      const auto& columns = written[inside + o];
      for (u32 k = 0, each_width = width / static_cast<u32>(columns.size()); k < columns.size(); ++k)
        s.values.push_back({columns[k], static_cast<u32>(o), k * each_width, each_width, reg["type"]});
    }
  }

  const json_object &code_, &fusions_;
};

std::string padded(std::string text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

}  // namespace

std::string full_name(i32 layer, const std::string& name) {
  return layer < 0 ? name : std::to_string(layer) + '.' + name;
}

step_list::step_list(nlohmann::ordered_json plan) : plan_(std::move(plan)), layers_(plan_["layers"]) {
  const json_object& codes = plan_["codes"];
  const auto read = [&](std::size_t code, i32 layer, namer& names) {
    code_reader(codes[code], plan_["fusions"]).read(layer, static_cast<u32>(code), names, steps_);
  };
  namer outside;  // header and footer
  read(0, -1, outside);
  for (u32 l = 0; l < layers_; ++l) {
    namer inside;
    read(plan_["code_of_layer"][l], static_cast<i32>(l), inside);
  }
  read(codes.size() - 1, -1, outside);
}

const model_step& step_list::find(const std::string& name, const char* option) const {
  for (const model_step& s : steps_)
    for (const step_value& v : s.values)
      if (name == v.name || name == full_name(s.layer, v.name)) return s;
  throw Error(errc::usage, {}, option, "a name that cke dump --list prints, alone or with its layer: 2.attend", name);
}

std::string step_list::text() const {
  std::string out = "step  layer  op                 name               width  type   of\n";
  for (const model_step& s : steps_)
    for (const step_value& v : s.values)
      out += padded(std::to_string(s.number), 6) + padded(s.layer < 0 ? "" : std::to_string(s.layer), 7) +
          padded(s.op, 19) + padded(v.name, 19) + padded(std::to_string(v.width), 7) + padded(v.type, 7) + s.letter +
          '\n';
  return out;
}

json_object step_list::json() const {
  json_object out{{"family", plan_.value("family", "")}, {"fused", plan_["fused"]}, {"layers", layers_}};
  out["steps"] = json_object::array();
  for (const model_step& s : steps_) {
    const json_object &code = plan_["codes"][s.code], &i = code["instructions"][s.index];
    json_object row{{"step", s.number},
                    {"layer", s.layer},
                    {"op", s.op},
                    {"letter", s.letter},
                    {"in", i["in"]},
                    {"out", i["out"]},
                    {"values", json_object::array()}};
    for (const step_value& v : s.values)
      row["values"].push_back(
          {{"name", v.name}, {"output", v.output}, {"first", v.first}, {"width", v.width}, {"type", v.type}});
    row["weights"] = json_object::array();
    for (const json_object& w : i["weights"]) row["weights"].push_back(code["weights"][w.get<std::size_t>()]);
    row["params"] = i["params"];
    if (!s.inside.empty()) row["inside"] = s.inside;
    out["steps"].push_back(std::move(row));
  }
  return out;
}

value_filter::value_filter(const step_list& steps, const std::optional<std::string>& ops,
                           const std::optional<std::string>& range)
    : glob(ops) {
  if (range) {
    std::vector<u32> chosen;
    const u32 last = steps.layers() - 1;
    if (!add_numbers(*range, {0, last}, chosen))
      throw Error(errc::usage, {}, "--layers", concat({"numbers and ranges from 0 to ", last, ", such as 0-2,5"}),
                  *range);
    layers.resize(steps.layers());
    for (const u32 l : chosen) layers[l] = true;
  }
  for (const model_step& s : steps.all())
    for (const step_value& v : s.values)
      if (takes(s, v)) return;
  throw Error(errc::usage, {}, "--ops", "a pattern of names that cke dump --list prints", ops.value_or(""));
}

bool value_filter::takes(const model_step& step, const step_value& value) const {
  if (!layers.empty() && (step.layer < 0 || !layers[static_cast<std::size_t>(step.layer)])) return false;
  return !glob || fnmatch(glob->c_str(), value.name.c_str(), 0) == 0 || fnmatch(glob->c_str(), step.op.c_str(), 0) == 0;
}

}  // namespace cke::tool
