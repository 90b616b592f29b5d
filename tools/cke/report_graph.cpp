// SPDX-License-Identifier: MIT
// report_graph.cpp: a block of a program as a picture: steps before and after fusion, registers and barriers.
#include <algorithm>
#include <cke/core/concat.hpp>
#include <map>

#include "report_sections.hpp"
#include "rooms.hpp"

namespace cke::tool::page {
namespace {

constexpr double row_height = 26, barrier_height = 18, top = 34;
constexpr double phase_x = 0, before_x = 92, before_width = 148, after_x = 272, after_width = 430, lane_x = 726,
                 lane_width = 27;
constexpr u32 stream = 0;

// The steps that fusion made one step of; itself, if it is none of these.
std::vector<std::string> parts_of(const json_object& plan, const std::string& op) {
  if (!plan["fusion"].contains("applied")) return {op};
  for (const json_object& f : plan["fusion"]["applied"]) {
    if (f["becomes"] != op) continue;
    std::vector<std::string> parts;
    const std::string pattern = f["pattern"];
    for (std::size_t at = 0, end; at < pattern.size(); at = end + 3) {
      end = std::min(pattern.find(" + ", at), pattern.size());
      parts.push_back(pattern.substr(at, end - at));
    }
    return parts;
  }
  return {op};
}

std::vector<u32> numbers(const json_object& list) { return list.get<std::vector<u32>>(); }
bool has(const std::vector<u32>& list, u32 x) { return std::ranges::find(list, x) != list.end(); }

// A value in a register, from the step that writes it to the last one that reads it. -1: it is there before the steps.
struct value_span {
  u32 reg;
  i32 begin, end;
  u32 lane = 0;
};

std::vector<value_span> spans_of(const json_object& code) {
  std::vector<value_span> all;
  std::map<u32, std::size_t> open;
  i32 step = 0;
  for (const json_object& i : code["instructions"]) {
    const auto in = numbers(i["in"]), out = numbers(i["out"]);
    for (const u32 r : in) {
      if (!open.contains(r)) open[r] = all.size(), all.push_back({r, -1, step});
      all[open[r]].end = step;
    }
    for (const u32 r : out) {
      if (!open.contains(r) || !has(in, r)) open[r] = all.size(), all.push_back({r, step, step});
      all[open[r]].end = step;
    }
    ++step;
  }
  // The stream goes on after a block.
  for (value_span& s : all)
    if (s.reg == stream && code["name"] != "footer") s.end = step;
  // The stream has the first lane; each other value the first that is free.
  std::vector<i32> busy{step + 1};
  for (value_span& s : all) {
    if (s.reg == stream) continue;
    s.lane = 1;
    while (s.lane < busy.size() && busy[s.lane] >= s.begin) ++s.lane;
    if (s.lane == busy.size()) busy.push_back(0);
    busy[s.lane] = s.end;
  }
  return all;
}

std::string register_text(const json_object& code, u32 r) {
  if (r == stream) return "the stream";
  for (const json_object& is : code["registers"])
    if (is["register"] == r)
      return concat({"r", r, ": ", is["width"].get<u64>(), " x ", is["type"].get<std::string>(), " a row"});
  return concat({"r", r});
}

struct placed_step {
  double from, to;  // y
};

class graph {
 public:
  graph(const json_object& plan, const json_object& code) : plan_(plan), code_(code), spans_(spans_of(code)) {
    double y = top;
    const json_object &ops = code["instructions"], &phases = code["forms"]["decode"]["phases"];
    std::size_t step = 0;
    for (const json_object& p : phases) {
      starts_.push_back(y);
      for (u64 n = p["per_thread"].get<u64>() + p["steps"].get<u64>(); n > 0 && step < ops.size(); --n, ++step) {
        const double height = row_height * static_cast<double>(parts_of(plan, ops[step]["op"]).size());
        steps_.push_back({y, y + height});
        y += height;
      }
      if (p["barrier"].get<bool>()) barriers_.push_back(y + barrier_height / 2), y += barrier_height;
    }
    height_ = y + 8;
    for (const value_span& s : spans_) lanes_ = std::max(lanes_, s.lane + 1);
  }

  std::string drawn() const {
    const double width = lane_x + lane_width * lanes_ + 20;
    drawing d(std::max(width, 960.0), height_, label());
    d.text(phase_x, 16, "phase", "head"), d.text(before_x, 16, "before fusion", "head");
    d.text(after_x, 16, "what runs", "head"), d.text(lane_x - 6, 16, "values between steps", "head");
    put_phases(d, width);
    put_lanes(d);
    double pending = -1;  // the top of a store of keys and values, which attention did itself before it became a step
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const json_object& op = code_["instructions"][i];
      const std::string name = op["op"];
      put_step(d, op, steps_[i]);
      const bool next_attends =
          i + 1 < steps_.size() && code_["instructions"][i + 1]["op"].get<std::string>().starts_with("attend");
      if (name == "kv_store" && next_attends) {
        pending = steps_[i].from;
        continue;
      }
      put_parts(d, parts_of(plan_, name), steps_[i], std::exchange(pending, -1));
    }
    return d.done();
  }

 private:
  std::string label() const {
    return concat({"Program of ", code_["name"].get<std::string>(), ": ", u64{steps_.size()}, " steps, ",
                   u64{barriers_.size()}, " barriers in decode"});
  }
  void put_phases(drawing& d, double width) const {
    std::size_t at = 0;
    for (const json_object& p : code_["forms"]["decode"]["phases"]) {
      d.text(phase_x, starts_[at] + 15, std::to_string(at), "strong");
      const u64 alone = p["per_thread"].get<u64>();
      double line = starts_[at] + 15;
      if (alone) d.text(phase_x + 14, line, "per thread", "soft"), line += 15;
      if (p["steps"].get<u64>()) d.text(phase_x + 14, line, p["split"].get<std::string>(), "soft");
      ++at;
    }
    for (const double y : barriers_) {
      d.line(phase_x, y, width, y, "barrier");
      d.text(phase_x, y - 4, "barrier", "barrier-name");
    }
  }
  void put_step(drawing& d, const json_object& op, const placed_step& at) const {
    const std::string name = op["op"], kind(kind_of(code_, op));
    const std::string weights = weights_text(code_, op);
    d.box(after_x, at.from + 2, after_width, at.to - at.from - 4, "step " + kind, weights.empty() ? name : weights);
    d.text(after_x + 10, at.from + 17, name, "strong mono");
    const bool tall = at.to - at.from > 1.5 * row_height;
    const double beside = after_x + 22 + 7.4 * static_cast<double>(name.size());
    d.text(tall ? after_x + 10 : beside, tall ? at.from + 35 : at.from + 17,
           fitted(weights, tall ? after_width - 20 : after_x + after_width - 8 - beside), "mono");
  }
  void put_parts(drawing& d, const std::vector<std::string>& parts, const placed_step& at, double pending) const {
    double y = at.from;
    for (std::size_t k = 0; k < parts.size(); ++k, y += row_height) {
      const double from = k == 0 && pending >= 0 ? pending : y;
      d.box(before_x, from + 3, before_width, y + row_height - from - 6, "part");
      d.text(before_x + 8, (from + y + row_height) / 2 + 4, parts[k], "mono");
      d.line(before_x + before_width, (from + y + row_height) / 2, after_x, (from + y + row_height) / 2, "link");
    }
  }
  double x_of(const value_span& s) const { return lane_x + lane_width * s.lane; }
  void put_lanes(drawing& d) const {
    for (const value_span& s : spans_) {
      const bool through = s.end == static_cast<i32>(steps_.size());
      const double from = s.begin < 0 ? top - 8 : steps_[static_cast<std::size_t>(s.begin)].to - 9;
      const double to = through ? height_ : steps_[static_cast<std::size_t>(s.end)].from + 9;
      d.line(x_of(s), from, x_of(s), std::max(from, to), s.reg == stream ? "lane stream" : "lane");
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const json_object& op = code_["instructions"][i];
      put_ports(d, numbers(op["in"]), static_cast<i32>(i), steps_[i].from + 9, false);
      put_ports(d, numbers(op["out"]), static_cast<i32>(i), steps_[i].to - 9, true);
    }
  }
  void put_ports(drawing& d, const std::vector<u32>& registers, i32 step, double y, bool writes) const {
    for (const value_span& s : spans_) {
      if (!has(registers, s.reg) || step < s.begin || step > s.end || (!writes && step == s.begin)) continue;
      d.line(after_x + after_width, y, x_of(s), y, "port");
      d.dot(x_of(s), y, 4, writes ? "write" : "read", register_text(code_, s.reg));
      if (writes && s.begin == step && s.reg != stream) d.text(x_of(s) + 6, y - 3, concat({"r", s.reg}), "tiny");
    }
  }

  const json_object &plan_, &code_;
  std::vector<value_span> spans_;
  std::vector<placed_step> steps_;
  std::vector<double> starts_, barriers_;  // y of phases and barriers
  double height_ = 0;
  u32 lanes_ = 1;
};

}  // namespace

std::string_view kind_of(const json_object& code, const json_object& instruction) {
  const std::string op = instruction["op"];
  bool multiplies = false;
  for (const json_object& slot : instruction["weights"]) {
    const json_object& w = code["weights"][slot.get<std::size_t>()];
    if (w.contains("experts")) return "expert";
    multiplies |= w["shape"].size() == 2;
  }
  if (op.starts_with("attend") || op == "kv_store") return "attention";
  if (instruction.contains("state")) return "state";
  return multiplies && code["name"] != "header" ? "matrix" : "row";  // an embedding is looked up
}

std::string weights_text(const json_object& code, const json_object& instruction) {
  std::string out, shape, format;
  const auto end = [&] {
    if (!shape.empty()) out += shape + ' ' + format;
  };
  for (const json_object& slot : instruction["weights"]) {
    const json_object& w = code["weights"][slot.get<std::size_t>()];
    std::string is = "[";
    for (const json_object& n : w["shape"]) is += (is.size() > 1 ? ", " : "") + n.dump();
    is += ']';
    if (!shape.empty() && (is != shape || w["format"] != format)) end(), out += "  ";
    shape = is, format = w["format"];
    out += w["role"].get<std::string>() + (w["bias"].get<bool>() ? " bias " : " ");
  }
  end();
  return out;
}

std::string graph_of(const json_object& plan, const json_object& code) { return graph(plan, code).drawn(); }

}  // namespace cke::tool::page
