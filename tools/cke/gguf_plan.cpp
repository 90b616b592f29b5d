// SPDX-License-Identifier: MIT
// gguf_plan.cpp: see gguf_plan.hpp.
#include "gguf_plan.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <cke/graph/format.hpp>

namespace cke::tool {
namespace {

class planner {
 public:
  planner(const checkpoint& from, const model_facts& model) : from_(from), model_(model) {}

  std::vector<planned_tensor> plan() {
    for (const place where : {place::header, place::body, place::footer})
      for (u32 layer = 0; layer < (where == place::body ? model_.layers : 1u); ++layer)
        for (const name_rule& rule : model_.names)
          if (rule.where == where && &rule == &name_of(model_.names, where, {.is = rule.is, .nth = rule.nth}) && !(rule.is == role::head && model_.tied))
            for (const bool bias : {false, true}) add(rule, bias, layer);
    for (auto& [name, tensor] : parts_)
      for (part& p : tensor.parts) append(out_[tensor.at], p);
    for (const tensor_ref& t : from_.tensors.tensors())
      if (!used_.contains(&t)) leave(t);
    if (from_.as == naming::hf) make_rope();
    return std::move(out_);
  }

 private:
  struct part {
    u32 number;
    std::vector<row_run> rows;
  };
  struct tensor_in_parts {
    std::size_t at;
    std::vector<part> parts;
  };

  // A role's rows, under the first of its names that the checkpoint has.
  void add(const name_rule& rule, bool bias, u32 layer) {
    const std::string_view names = rule.in(from_.as);
    u32 which = 0;
    const auto name = [&](u32 expert) { return tensor_name(alternative(names, which), bias, layer, expert); };
    while (!alternative(names, which).empty() && !from_.tensors.find(name(0))) ++which;
    const std::string_view found = alternative(names, which);
    if (found.empty() || (bias && found.starts_with('='))) return;
    part mine{part_of(rule.gguf).number, {}};
    const tensor_ref* first = from_.tensors.find(name(0));
    const bool apart = name(0) != name(1);
    for (u32 expert = 0; expert < (apart ? model_.experts : 1u); ++expert) {
      const tensor_ref* t = from_.tensors.find(name(expert));
      if (!t) throw Error(errc::tensor_missing, from_.name, "tensor " + name(expert), "this tensor", "none of this name");
      if (t->shape.empty() || t->shape != first->shape) throw Error(errc::tensor_shape, from_.name, "tensor " + t->name, "the shape of " + first->name, "another");
      used_.insert(t);
      add_rows(mine, *t, rule, which);
    }
    std::vector<u64> shape = first->shape;
    if (apart) shape.insert(shape.begin(), model_.experts);
    put(rule, found, bias, layer, std::move(shape), std::move(mine));
  }

  // GGUF has no matrix of one row.
  static bool one_row(std::span<const u64> shape) { return shape.size() == 2 && shape[0] == 1; }

  // Of a tensor that keeps several roles: the whole of it where GGUF does the same, else this role's share.
  void add_rows(part& mine, const tensor_ref& t, const name_rule& rule, u32 which) const {
    const auto here = part_of(alternative(rule.in(from_.as), which)), there = part_of(rule.gguf);
    const bool shared = here.tensor != alternative(rule.in(from_.as), which), stays = there.tensor != rule.gguf;
    const u64 rows = rows_of(t);
    if (!shared) return mine.rows.push_back({&t, 0, rows});
    if (stays) return mine.rows.push_back({&t, 0, here.number == 0 ? rows : 0});
    u32 parts = 0;
    for (const name_rule& other : model_.names)
      if (part_of(alternative(other.in(from_.as), which)).tensor == here.tensor) parts = std::max(parts, part_of(alternative(other.in(from_.as), which)).number + 1);
    const u64 matrices = t.shape.size() == 3 ? t.shape[0] : 1, each = rows / matrices / parts;
    if (each * parts * matrices != rows)
      throw Error(errc::tensor_shape, from_.name, "tensor " + t.name, std::to_string(parts) + " parts of as many rows", std::to_string(rows / matrices) + " rows");
    for (u64 m = 0; m < matrices; ++m) mine.rows.push_back({&t, (m * parts + here.number) * each, each});
  }
  static u64 rows_of(const tensor_ref& t) {
    u64 n = 1;
    if (one_row(t.shape)) return t.shape[1];
    for (std::size_t d = 0; d + 1 < t.shape.size() || d < 1; ++d) n *= t.shape[d];
    return n;
  }

  void put(const name_rule& rule, std::string_view found, bool bias, u32 layer, std::vector<u64> shape, part mine) {
    const std::string name = tensor_name(from_.as == naming::gguf ? found : alternative(rule.gguf, 0), bias, layer, 0);
    const auto [entry, fresh] = parts_.try_emplace(name, tensor_in_parts{out_.size(), {}});
    if (fresh) {
      if (from_.as == naming::hf && (rule.hf_change != change::none || rule.gguf_change > change::plus_one))
        throw Error(errc::unsupported, from_.name, "tensor " + name, "a change that cke can make for GGUF");
      if (one_row(shape)) shape.erase(shape.begin());
      const bool small = rule.is == role::conv || rule.is == role::layer_project;  // llama.cpp leaves them as they are
      if (rule.is == role::conv && shape.size() == 3) shape.erase(shape.begin() + 1);  // [channels, 1, taps]
      const weight_slot slot{.is = rule.is, .quantisable = shape.size() > 1 && !small};
      out_.push_back({name, std::move(shape), rule.is, layer, narrows(slot), from_.as == naming::hf ? rule.gguf_change : change::none, {}, {}});
    }
    if (rule.is == role::v || rule.is == role::delta_v) out_[entry->second.at].is = role::v;
    auto& parts = entry->second.parts;
    parts.insert(std::ranges::upper_bound(parts, mine.number, {}, &part::number), std::move(mine));
  }

  // The rows of a part behind those before it; then the shape says how many there are.
  void append(planned_tensor& t, part& p) const {
    u64 rows = 0;
    for (const row_run& r : p.rows)
      if (r.count) t.rows.push_back(r);
    for (const row_run& r : t.rows) rows += r.count;
    if (t.shape.size() == 3) t.shape[1] = rows / t.shape[0];
    else t.shape[0] = rows;
  }

  // What no role takes: nothing that matters, or this is another model.
  void leave(const tensor_ref& t) {
    const bool hf = from_.as == naming::hf;
    const bool ahead = model_.ahead && is_ahead(t.name);
    if (hf && (ahead || (model_.tied && t.name == "lm_head.weight") || t.name.ends_with("rotary_emb.inv_freq"))) return;
    if (!hf && (ahead || t.name.starts_with("rope_f")))
      return out_.push_back({t.name, t.shape, role::norm, 0, false, change::none, {{&t, 0, rows_of(t)}}, {}});
    throw Error(errc::tensor_unknown, from_.name, "tensor " + t.name, "only tensors of the model", "this one");
  }
  // GGUF keeps the rules llama3 and longrope as what they divide the frequencies by.
  void make_rope() {
    const auto add_made = [&](const char* name, std::vector<float> numbers) {
      out_.push_back({name, {numbers.size()}, role::norm, 0, false, change::none, {}, std::move(numbers)});
    };
    const rotary& rope = model_.rope;
    if (rope.rule == stretch::llama3) {
      rotary plain = rope;
      plain.rule = stretch::none;
      std::vector<float> divisors = rope_frequencies::of(plain, model_.head_dim, 0).inverse;
      const std::vector<float> slowed = rope_frequencies::of(rope, model_.head_dim, 0).inverse;
      std::ranges::transform(divisors, slowed, divisors.begin(), std::divides<>{});
      add_made("rope_freqs.weight", std::move(divisors));
    }
    if (rope.rule == stretch::longrope) {
      const rope_factors& factors = *model_.factors;
      const auto list = [](const double* first, u32 count) {
        std::vector<float> out(count);
        std::ranges::transform(first, first + count, out.begin(), [](double v) { return static_cast<float>(v); });
        return out;
      };
      add_made("rope_factors_long.weight", list(factors.longs, factors.long_count));
      add_made("rope_factors_short.weight", list(factors.shorts, factors.short_count));
    }
  }
  bool is_ahead(std::string_view name) const {
    const std::string_view before = from_.as == naming::hf ? "model.layers." : "blk.";
    u64 layer = 0;
    if (!name.starts_with(before)) return false;
    for (name.remove_prefix(before.size()); !name.empty() && name[0] >= '0' && name[0] <= '9' && layer < model_.layers; name.remove_prefix(1))
      layer = 10 * layer + static_cast<u64>(name[0] - '0');
    return layer >= model_.layers;
  }

  const checkpoint& from_;
  const model_facts& model_;
  std::vector<planned_tensor> out_;
  std::map<std::string, tensor_in_parts> parts_;
  std::set<const tensor_ref*> used_;
};

}  // namespace

std::vector<planned_tensor> plan_gguf(const checkpoint& from, const model_facts& model) { return planner(from, model).plan(); }

}  // namespace cke::tool
