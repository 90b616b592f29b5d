// SPDX-License-Identifier: MIT
// rank_plan.cpp: see rank_plan.hpp.
#include "rank_plan.hpp"

#include "rooms.hpp"
#include "source.hpp"

namespace cke::tool {

std::string rank_plan_text(const nlohmann::ordered_json& plan) {
  const auto list = [](const nlohmann::ordered_json& numbers, auto text) {
    std::string all;
    for (const auto& n : numbers) all += (all.empty() ? "" : ", ") + text(n);
    return all;
  };
  const auto plain = [](const auto& n) { return n.dump(); };
  std::string out = plan["ranks"].dump() + " ranks: " + plan["exchanges"].dump() + " exchanges a token\n";
  out += "  weights   " +
      list(plan["weight_bytes"], [](const auto& n) { return bytes_text(n.template get<double>()); }) +
      ", in the formats of files\n";
  out += "  sent      " + list(plan["sent_bytes"], plain) + " bytes a token\n";
  for (const auto& c : plan["codes"]) {
    if (c["exchanges"].empty()) continue;
    out += "  " + c["name"].get<std::string>();
    if (c["layers"] != 1) out += ", " + c["layers"].dump() + " layers from layer " + c["first_layer"].dump();
    out += '\n';
    for (const auto& e : c["exchanges"]) {
      std::string row = "    " + list(e["of"], [](const auto& name) { return name.template get<std::string>(); });
      row.resize(std::max<std::size_t>(row.size() + 2, 40), ' ');
      out += row + list(e["bytes"], plain) + " bytes\n";
    }
  }
  return out;
}

}  // namespace cke::tool
