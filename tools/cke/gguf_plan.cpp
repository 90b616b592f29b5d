// SPDX-License-Identifier: MIT
// gguf_plan.cpp: implements gguf_plan.hpp.
#include "gguf_plan.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <cke/core/tensor_name.hpp>
#include <cke/graph/format_policy.hpp>

#include "rooms.hpp"

namespace cke::tool {
namespace {

class planner {
 public:
  planner(const checkpoint& from, const model_facts& model) : from_(from), model_(model) {
    std::ranges::copy_if(model.names, std::back_inserter(rules_), [&](const name_rule& rule) { return counts(rule); });
  }

  std::vector<planned_tensor> plan() {
    for (const place where : {place::header, place::body, place::footer})
      for (u32 layer = 0; layer < (where == place::body ? model_.layers : 1u); ++layer)
        for (const name_rule& rule : rules_)
          if (rule.where == where && !(rule.is == role::head && model_.tied))
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

  // Later rules win. If two name the same tensor, the shared expert's rule applies to models with experts.
  bool counts(const name_rule& rule) const {
    if (&rule != &name_of(model_.names, rule.where, {.is = rule.is, .nth = rule.nth})) return false;
    const auto is_shared = [](role r) {
      return r == role::gate_shared || r == role::up_shared || r == role::down_shared;
    };
    return from_.as == naming::gguf || std::ranges::none_of(model_.names, [&](const name_rule& other) {
             return other.hf == rule.hf && is_shared(other.is) != is_shared(rule.is) &&
                 is_shared(rule.is) != (model_.experts > 0);
           });
  }

  // Adds a role's rows, under the first of its names that the checkpoint has.
  void add(const name_rule& rule, bool bias, u32 layer) {
    if (of_experts(rule.is) && rule.in_file(from_.as) == change::transposed)
      throw Error(errc::unsupported, from_.name, "experts in a GGUF file", "matrices that are not transposed",
                  std::string(rule.hf[0].text));
    const spellings& names = rule.in(from_.as);
    u32 which = 0;
    const auto name = [&](u32 expert) { return tensor_name(names[which], bias, layer, expert); };
    while (which < names.count() && !from_.tensors.find(name(0))) ++which;
    if (which == names.count() || (bias && names[which].is_exact)) return;
    part mine{rule.gguf[0].index, {}};
    const tensor_ref* first = from_.tensors.find(name(0));
    const bool apart = name(0) != name(1);
    for (u32 expert = 0; expert < (apart ? model_.experts : 1u); ++expert) {
      const tensor_ref* t = from_.tensors.find(name(expert));
      if (!t)
        throw Error(errc::tensor_missing, from_.name, "tensor " + name(expert), "this tensor", "none of this name");
      if (t->shape.empty() || t->shape != first->shape)
        throw Error(errc::tensor_shape, from_.name, "tensor " + t->name, "the shape of " + first->name, "another");
      used_.insert(t);
      add_rows(mine, *t, rule, which, layer);
    }
    if (model_.tiled && by_value_head(rule) && rule.is != role::delta_out) tile(mine);
    std::vector<u64> shape(first->shape.begin(), first->shape.end());
    if (apart) shape.insert(shape.begin(), model_.experts);
    else if (of_heads(rule.is) && from_.as == naming::hf) shape.insert(shape.begin(), model_.heads);
    put(rule, names[which], bias, layer, std::move(shape), std::move(mine));
  }

  // GGUF stores no matrix of one row.
  static bool one_row(std::span<const u64> shape) { return shape.size() == 2 && shape[0] == 1; }

  // A tensor that holds several roles: takes all of it if GGUF stores it the same way, else this role's rows.
  void add_rows(part& mine, const tensor_ref& t, const name_rule& rule, u32 which, u32 layer) const {
    const auto there = [&](const name_rule& r) -> const spelling& { return r.in(from_.as)[which]; };
    const spelling& here = there(rule);
    const u64 rows = rows_of(t);
    if (!here.is_part()) return mine.rows.push_back({&t, 0, rows});
    bool stays = from_.as == naming::gguf || !(model_.tiled && of_linear(rule.is));
    std::vector<u64> shares;
    for (const name_rule& other : rules_) {
      if (!there(other).in_tensor_of(here)) continue;
      stays = stays && other.gguf[0].is_part() && other.gguf[0].in_tensor_of(rule.gguf[0]);
      shares.resize(std::max<std::size_t>(shares.size(), there(other).index + 1));
      shares[there(other).index] = std::max(shares[there(other).index], model_.rows_of(other, layer));
    }
    if (stays) return mine.rows.push_back({&t, 0, here.index == 0 ? rows : 0});
    const bool equal = std::ranges::find(shares, u64{0}) != shares.end();  // the family does not say
    if (equal) shares.assign(shares.size(), 1);
    const u64 groups = here.take == taking::head_rows  ? model_.key_heads
        : of_heads(rule.is)                            ? model_.heads
        : t.shape.size() == 3 && rule.is != role::conv ? t.shape[0]
                                                       : 1;
    const u64 each = rows / groups, all = std::accumulate(shares.begin(), shares.end(), u64{0});
    const bool whole =
        rows % groups == 0 && std::ranges::none_of(shares, [&](u64 share) { return each * share % all; });
    if (!whole || !(equal || all == each || all == rows))
      throw Error(errc::tensor_shape, from_.name, "tensor " + t.name,
                  concat({groups, " times ", equal ? "a multiple of " : "", all, " rows"}), concat({rows, " rows"}));
    const u64 before = each * std::accumulate(shares.begin(), shares.begin() + here.index, u64{0}) / all,
              ours = each * shares[here.index] / all;
    for (u64 g = 0; g < groups; ++g) mine.rows.push_back({&t, g * each + before, ours});
  }

  // Roles that a gated delta net has per value head.
  static bool by_value_head(const name_rule& r) {
    return r.is == role::delta_v || r.is == role::delta_gate || r.is == role::alpha || r.is == role::beta ||
        r.is == role::decay || r.is == role::step_bias || r.is == role::delta_out || (r.is == role::conv && r.nth == 2);
  }
  static bool of_linear(role r) {
    return r == role::delta_q || r == role::delta_k || r == role::delta_v || r == role::conv;
  }
  // GGUF's order of value heads: the first of each key head, then the second of each, and so on.
  u32 tiled_head(u32 i) const {
    return i % model_.key_heads * (model_.value_heads / model_.key_heads) + i / model_.key_heads;
  }
  void tile(part& mine) const {
    const row_run all = mine.rows.front();
    const u64 each = all.count / model_.value_heads;
    mine.rows.clear();
    for (u32 i = 0; i < model_.value_heads; ++i)
      mine.rows.push_back({all.from, all.first + tiled_head(i) * each, each});
  }

  static u64 rows_of(const tensor_ref& t) {
    u64 n = 1;
    if (one_row(t.shape)) return t.shape[1];
    for (std::size_t d = 0; d + 1 < t.shape.size() || d < 1; ++d) n *= t.shape[d];
    return n;
  }

  void put(const name_rule& rule, const spelling& found, bool bias, u32 layer, std::vector<u64> shape, part mine) {
    const std::string name = tensor_name(from_.as == naming::gguf ? found : rule.gguf[0], bias, layer, 0);
    const auto [entry, fresh] = parts_.try_emplace(name, tensor_in_parts{out_.size(), {}});
    if (fresh) {
      if (one_row(shape)) shape.erase(shape.begin());
      const bool small = rule.is == role::conv || rule.is == role::layer_project;  // llama.cpp does not quantise these
      if (rule.is == role::conv && shape.size() == 3) shape.erase(shape.begin() + 1);  // [channels, 1, taps]
      if (from_.as == naming::hf && model_.ssm_groups && may_be_folded(rule.is))
        fold(shape, mine, rule.is == role::ssm_norm ? model_.ssm_groups : shape[0]);
      const weight_slot slot{.is = rule.is, .quantisable = shape.size() > 1 && !small && !may_be_folded(rule.is)};
      const change done = from_.as == naming::gguf ? change::none
          : rule.gguf_change == change::none       ? rule.hf_change
                                                   : rule.gguf_change;
      out_.push_back({name, std::move(shape), rule.is, layer, narrows(slot), done, {}, {}, {}});
      if (model_.tiled && rule.is == role::delta_out)
        for (u32 i = 0; i < model_.value_heads; ++i) out_.back().heads.push_back(tiled_head(i));
    }
    if (rule.is == role::v || rule.is == role::delta_v) out_[entry->second.at].is = role::v;
    auto& parts = entry->second.parts;
    parts.insert(std::ranges::upper_bound(parts, mine.number, {}, &part::number), std::move(mine));
  }

  // Reshapes a vector into rows of equal length.
  void fold(std::vector<u64>& shape, part& mine, u64 rows) const {
    if (shape.size() != 1 || shape[0] % rows)
      throw Error(errc::tensor_shape, from_.name, "tensor " + mine.rows[0].from->name,
                  concat({"a multiple of ", rows, " numbers"}), "another shape");
    shape = {rows, shape[0] / rows};
    mine.rows[0].count = rows;
  }

  // Appends the rows of a part and counts them in the shape.
  void append(planned_tensor& t, part& p) const {
    u64 rows = 0;
    for (const row_run& r : p.rows)
      if (r.count) t.rows.push_back(r);
    for (const row_run& r : t.rows) rows += r.count;
    if (t.shape.size() == 3) t.shape[1] = rows / t.shape[0];
    else t.shape[0] = rows;
    if (t.was == change::transposed) std::swap(t.shape[1], t.shape[2]);
  }

  // A tensor without a role: ignored or copied if the model does not need it; otherwise throws tensor_unknown.
  void leave(const tensor_ref& t) {
    const bool hf = from_.as == naming::hf;
    const bool ahead = model_.ahead && lies_beyond(t.name, from_.as, model_.layers);
    if (const std::string_view name = t.name; hf && name.ends_with("_scale_inv"))  // scales of an f8_e4m3 tensor
      if (const tensor_ref* of = from_.tensors.find(name.substr(0, name.size() - 10)); of && of->type == dtype::f8_e4m3)
        return;
    if (hf && (ahead || (model_.tied && t.name == "lm_head.weight") || t.name.ends_with("rotary_emb.inv_freq"))) return;
    if (!hf && (ahead || t.name.starts_with("rope_f")) && !t.shape.empty())
      return out_.push_back({t.name,
                             {t.shape.begin(), t.shape.end()},
                             role::norm,
                             0,
                             false,
                             change::none,
                             {{&t, 0, rows_of(t)}},
                             {},
                             {}});
    throw Error(errc::tensor_unknown, from_.name, "tensor " + t.name, "only tensors of the model", "this one");
  }
  // GGUF stores llama3's and longrope's scaling as divisors of frequencies; for proportional rope they stop the rest.
  void make_rope() {
    const auto add_made = [&](const char* name, std::vector<float> numbers) {
      out_.push_back({name, {numbers.size()}, role::norm, 0, false, change::none, {}, {}, std::move(numbers)});
    };
    const rotary& rope = model_.rope;
    if (rope.rule == rope_scaling::llama3) {
      rotary plain = rope;
      plain.rule = rope_scaling::none;
      const auto usual = rope_frequencies::of(plain, model_.rope_head_dim, 0).inverse,
                 slowed = rope_frequencies::of(rope, model_.rope_head_dim, 0).inverse;
      std::vector<float> divisors(usual.size());
      std::ranges::transform(usual, slowed, divisors.begin(), std::divides<>{});
      add_made("rope_freqs.weight", std::move(divisors));
    }
    if (rope.rule == rope_scaling::proportional) {
      std::vector<float> divisors(model_.rope_head_dim / 2, 1e30f);
      std::fill_n(divisors.begin(), rope.dims / 2, 1.f);
      add_made("rope_freqs.weight", std::move(divisors));
    }
    if (rope.rule == rope_scaling::longrope) {
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

  const checkpoint& from_;
  const model_facts& model_;
  std::vector<name_rule> rules_;
  std::vector<planned_tensor> out_;
  std::map<std::string, tensor_in_parts> parts_;
  std::set<const tensor_ref*> used_;
};

}  // namespace

std::vector<planned_tensor> plan_gguf(const checkpoint& from, const model_facts& model) {
  return planner(from, model).plan();
}

}  // namespace cke::tool
