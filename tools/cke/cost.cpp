// SPDX-License-Identifier: MIT
// cost.cpp: implements cost.hpp.
#include "cost.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <cke/core/params.hpp>

#include "rooms.hpp"

namespace cke::tool {

void program_cost::work::add(std::string_view format, double count) {
  (format == "bf16" ? bf16 : format == "f32" || format == "f16" ? f32 : int8) += count;
}

double program_cost::work::ns(const machine_peaks& peaks) const {
  const auto part = [](double count, double gops) { return gops > 0 ? 2 * count / gops : 0; };
  return part(int8, peaks.int8_gops) + part(bf16, peaks.bf16_gops) + part(f32, peaks.f32_gops);
}

double program_cost::experts::read(u32 rows) const { return bytes * count * (1 - std::pow(1 - active / count, rows)); }

program_cost::program_cost(const nlohmann::ordered_json& plan, u64 weight_bytes)
    : kv_format_(plan["capacity"]["kv"]),
      end_layer_(plan["row_end"]["layer"]),
      end_instruction_(plan["row_end"]["instruction"]) {
  // Packed weights may be smaller than their format implies.
  const double scale = static_cast<double>(weight_bytes) / plan["weight_bytes"].get<double>();
  const auto& variant_of_layer = plan["variant_of_layer"];
  for (u32 number = 0; const auto& code : plan["codes"]) {
    const bool header = code["name"] == "header", footer = code["name"] == "footer";
    const auto layers_at = [&, variant = number++ - 1](u32 instruction) {
      layer_counts n{};
      if (header || footer) n.all = 1;
      else
        for (u32 l = 0; l < variant_of_layer.size(); ++l)
          if (variant_of_layer[l] == variant) (ends_before(l, instruction) ? n.wanted : n.all) += 1;
      return n;
    };
    double active = 0;  // experts per row
    for (const auto& i : code["instructions"])
      if (i["params"].contains("route")) active = i["params"]["route"]["active"];
    std::vector<u32> reader(code["weights"].size());  // the first instruction that reads each slot
    for (u32 i = static_cast<u32>(code["instructions"].size()); i-- > 0;)
      for (const auto& slot : code["instructions"][i]["weights"]) reader.at(slot.get<std::size_t>()) = i;
    for (std::size_t slot = 0; const auto& weight : code["weights"]) {
      const layer_counts layers = layers_at(reader[slot++]);
      if (header && weight["role"] == "embed") continue;  // reads one row of it
      const double bytes = scale * weight["bytes"].get<double>(), count = weight.value("experts", 0.0);
      if (count > 0) experts_.push_back({bytes / count, layers, count, active});
      else (footer ? head_bytes_ : body_bytes_) += layers.all * bytes, wanted_bytes_ += layers.wanted * bytes;
      if (const auto& shape = weight["shape"]; shape.size() == 2) {
        const double each = shape[0].get<double>() * shape[1].get<double>() * (count > 0 ? active / count : 1);
        (footer ? head_ : body_).add(weight["format"].get<std::string>(), layers.all * each);
        wanted_.add(weight["format"].get<std::string>(), layers.wanted * each);
      }
    }
    steps_.emplace_back();
    u32 at = 0;
    for (const auto& i : code["instructions"]) {
      const layer_counts layers = layers_at(at++);
      step_cost& s = steps_.back().emplace_back(
          step_cost{.op = i["op"], .weights = 0, .chosen = {}, .of_each_row = 0, .window = 0});
      for (const auto& slot : i["weights"]) {
        const auto& w = code["weights"][slot.get<std::size_t>()];
        const double bytes = scale * w["bytes"].get<double>();
        if (const double count = w.value("experts", 0.0); count > 0)
          s.chosen = {s.chosen.bytes + bytes / count, {1, 0}, count, active};
        else header ? s.of_each_row += bytes / w["shape"][0].get<double>() : s.weights += bytes;
        if (const auto& shape = w["shape"]; !header && shape.size() == 2) {
          const double share = w.contains("experts") ? active / w["experts"].get<double>() : 1;
          s.of_row.add(w["format"].get<std::string>(), shape[0].get<double>() * shape[1].get<double>() * share);
        }
      }
      if (!s.op.starts_with("attend")) continue;
      const auto& p = i["params"];
      s.window = p.value("window", everything);
      s.per_pair = 2.0 * p["heads"].get<double>() * p["head_dim"].get<double>();
      attentions_.push_back({s.per_pair, layers, s.window});
    }
  }
  if (const auto& states = plan["states"]; states["count"] > 0)
    kv_bytes_ = states["block_bytes"].get<double>() / states["count"].get<double>() / key_block;
}

double program_cost::bytes(const pass& p) const {
  double sum = body_bytes_ + (p.wanted() ? wanted_bytes_ : 0) + (p.logits ? head_bytes_ : 0);
  for (const experts& e : experts_) sum += e.layers.all * e.read(p.rows) + e.layers.wanted * e.read(p.wanted());
  for (const attention& a : attentions_) {
    const u64 seen = std::min(u64{p.position}, u64{a.window}) + p.of_each();
    sum += static_cast<double>(seen) * p.sequences * (a.layers.all + (p.wanted() ? a.layers.wanted : 0)) * kv_bytes_;
  }
  return sum;
}

double program_cost::bytes(u32 code, u32 step, const pass& p) const {
  const auto& s = steps_.at(code).at(step);
  const u64 seen = s.window ? std::min(u64{p.position}, u64{s.window}) + p.of_each() : 0;
  return s.weights + s.chosen.read(p.rows) + p.rows * s.of_each_row +
      static_cast<double>(seen) * p.sequences * kv_bytes_;
}

program_cost::bound program_cost::step_bound(u32 code, u32 step, u32 layer, const pass& p,
                                             const machine_peaks& peaks) const {
  const auto& s = steps_.at(code).at(step);
  const bool footer = code + 1 == codes();
  const u32 rows = footer ? p.logits : code > 0 && ends_before(layer, step) ? p.wanted() : p.rows;
  if (rows == 0) return {};
  work sum = s.of_row.times(rows);
  if (s.window) {
    double pairs = 0;
    for (u32 row = p.of_each() - rows / p.sequences + 1; row <= p.of_each(); ++row)
      pairs += std::min(p.position + row, s.window);
    sum.add(kv_format_, p.sequences * pairs * s.per_pair);
  }
  const u64 seen = s.window ? std::min(u64{p.position}, u64{s.window}) + p.of_each() : 0;
  const double read =
      s.weights + s.chosen.read(rows) + rows * s.of_each_row + static_cast<double>(seen) * p.sequences * kv_bytes_;
  const double reading = read / peaks.read_gbs, computing = sum.ns(peaks);
  if (sum.sum() == 0 && s.of_each_row == 0) return {read, 0, 0, ""};
  const char* const arithmetic = sum.int8 >= sum.bf16 && sum.int8 >= sum.f32 ? "int8"
      : sum.bf16 >= sum.f32                                                  ? "bf16"
                                                                             : "f32";
  return {read, 2 * sum.sum(), std::max(reading, computing), reading >= computing ? "memory" : arithmetic};
}

double program_cost::least_ns(const pass& p, const machine_peaks& peaks) const {
  work scores;
  for (const attention& a : attentions_) {
    double pairs = 0;
    for (u32 row = 1; row <= p.of_each(); ++row)
      pairs += std::min(p.position + row, a.window) *
          (a.layers.all + (row + p.wanted() / p.sequences > p.of_each() ? a.layers.wanted : 0));
    scores.add(kv_format_, p.sequences * pairs * a.per_pair);
  }
  const double compute =
      p.rows * body_.ns(peaks) + p.wanted() * wanted_.ns(peaks) + p.logits * head_.ns(peaks) + scores.ns(peaks);
  return std::max(compute, bytes(p) / peaks.read_gbs);
}

}  // namespace cke::tool
