// SPDX-License-Identifier: MIT
// plan_text.cpp: implements plan_text.hpp.
#include "plan_text.hpp"

#include <algorithm>

#include <cke/core/types.hpp>

#include "rooms.hpp"
#include "source.hpp"

namespace cke::tool {
namespace {

using json_object = nlohmann::ordered_json;

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.resize(std::max(width, text.size()), ' ');
  return out;
}

std::string registers(const json_object& list) {
  std::string out;
  for (const auto& r : list) out += (out.empty() ? "r" : " r") + r.dump();
  return out;
}

// "q[128, 128]:bf16"
std::string weight_text(const json_object& w) {
  std::string shape;
  for (const auto& n : w["shape"]) shape += (shape.empty() ? "" : ", ") + n.dump();
  return w["role"].get<std::string>() + (w["bias"].get<bool>() ? ".bias[" : "[") + shape +
      "]:" + w["format"].get<std::string>();
}

// One line per instruction; its number counts the barriers before it.
std::string code_text(const json_object& code) {
  std::string out = code["name"].get<std::string>();
  if (const u64 layers = code["layers"].get<u64>(); layers > 1) out += ", " + std::to_string(layers) + " layers";
  out += '\n';
  const json_object &ops = code["instructions"], &phases = code["forms"]["decode"]["phases"];
  u64 barriers = 0;
  for (u64 p = 0; p < phases.size(); barriers += phases[p++]["barrier"].get<bool>()) {
    const u64 first = phases[p]["first"].get<u64>();
    const u64 end = first + phases[p]["per_thread"].get<u64>() + phases[p]["steps"].get<u64>();
    for (u64 i = first; i < end; ++i) {
      out += "  " + std::to_string(barriers) + "  " + padded(registers(ops[i]["out"]), 10) + " = " +
          padded(ops[i]["op"].get<std::string>(), 20) + ' ' + registers(ops[i]["in"]);
      for (const auto& w : ops[i]["weights"]) out += ' ' + weight_text(code["weights"][w.get<u64>()]);
      out += '\n';
    }
  }
  return out;
}

}  // namespace

std::string plan_text(const json_object& plan) {
  std::string out = plan["steps"]["all"].dump() + " steps a token, " + plan["barriers"]["decode"].dump() +
      " barriers (prefill: " + plan["barriers"]["prefill"].dump() + " a chunk)\n";
  for (const auto& fusion : plan["fusion"]["applied"])
    if (fusion["times"].get<u64>())
      out += "  fused " + padded(fusion["pattern"].get<std::string>(), 30) + " -> " +
          padded(fusion["becomes"].get<std::string>(), 20) + " x " + fusion["times"].dump() + '\n';
  for (const auto& code : plan["codes"]) out += '\n' + code_text(code);

  const json_object &k = plan["capacity"], &memory = plan["memory"];
  out += "\nmemory, for " + k["context"].dump() + " positions in chunks of " + k["chunk"].dump() + '\n';
  for (const auto& [name, bytes] : memory.items()) {
    std::string number = bytes.dump();
    number.insert(0, 14 - std::min<std::size_t>(14, number.size()), ' ');
    out += "  " + padded(name, 20) + number + "  " + bytes_text(bytes.get<double>()) + '\n';
  }
  return out;
}

}  // namespace cke::tool
