// SPDX-License-Identifier: MIT
// report_checks.cpp: the sections of a report on parity and on training, where there are any, and on the environment.
#include <algorithm>
#include <cke/core/concat.hpp>
#include <cmath>

#include "report_sections.hpp"
#include "rooms.hpp"

namespace cke::tool::page {
namespace {

std::string scientific(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1e", x);
  return text;
}
std::string name_of(const json_object& value) {
  const i64 layer = value["layer"].get<i64>();
  return (layer < 0 ? "" : std::to_string(layer) + '.') + value["name"].get<std::string>();
}

std::string parity_section(const json_object& parity) {
  std::string out = "<section aria-labelledby=\"parity\"><h2 id=\"parity\">Parity</h2>\n";
  const json_object& values = parity["values"];
  const json_object* wrong = nullptr;
  for (const json_object& v : values)
    if (v["wrong"] != 0 && !wrong) wrong = &v;
  out += element(
      "p",
      concat({wrong ? concat({"The first value that differs is ", name_of(*wrong), ", which ",
                              (*wrong)["op"].get<std::string>(), " writes. "})
                    : concat({"All of ", u64{values.size()}, " values are right. "}),
              "The reference is ", parity["reference"].get<std::string>(), ", of ", parity["ids"].get<u64>(), " ids; ",
              parity["without"].get<u64>(), " values are not in it. A number x is wrong where |x \xE2\x88\x92 y| > ",
              scientific(parity["tolerance"]), " (1 + |y|)."}),
      wrong ? "bad" : "");
  constexpr double high = 150, low = -9, top = 1;  // log10
  drawing d(picture_width, high + 36,
            concat({"Largest difference of each of ", u64{values.size()}, " values from the reference"}));
  const double column = (picture_width - axis_x) / std::max<double>(static_cast<double>(values.size()), 1);
  const auto y = [&](double log) { return 8 + high * (top - std::clamp(log, low, top)) / (top - low); };
  for (double log = low; log <= top; log += 2) {
    d.line(axis_x, y(log), picture_width, y(log), "grid");
    d.text(0, y(log) + 4, "1e" + number_text(log, 0), "tiny soft");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const json_object& v = values[i];
    const double apart = v["largest"].is_null() ? 1e9 : v["largest"].get<double>();
    const double at = y(apart > 0 ? std::log10(apart) : low);
    d.box(axis_x + column * static_cast<double>(i) + .5, at, std::max(column - 1, .5), 8 + high - at,
          v["wrong"] != 0 ? "wrong" : "right", concat({name_of(v), ": ", scientific(apart)}));
  }
  d.line(axis_x, 8 + high, picture_width, 8 + high, "axis");
  d.text(axis_x, high + 26, "largest difference of each value, in the order of the steps", "tiny soft");
  out += d.done();
  table t("Values beside the reference", {"value", "operation", ">largest difference", ">relative", ">wrong numbers"});
  for (const json_object& v : values)
    t.row({"<code>" + escaped(name_of(v)) + "</code>", escaped(v["op"].get<std::string>()),
           v["largest"].is_null() ? "no number" : scientific(v["largest"]),
           v["relative"].is_null() ? "\xE2\x80\x93" : scientific(v["relative"]), count_text(v["wrong"].get<u64>())});
  return out + "<details><summary>All values</summary>" + t.done() + "</details>\n</section>\n";
}

std::string training_section(const json_object& training) {
  std::string out = "<section aria-labelledby=\"training\"><h2 id=\"training\">Training</h2>\n";
  const json_object& steps = training["steps"];
  double least = 1e300, most = -1e300;
  for (const json_object& s : steps)
    for (const char* key : {"loss", "held_out_loss"})
      if (s.contains(key)) least = std::min(least, s[key].get<double>()), most = std::max(most, s[key].get<double>());
  const double first = steps.front()["loss"], last = steps.back()["loss"];
  out += element("p",
                 concat({training["log"].get<std::string>(), " has ", u64{steps.size()}, " steps: the loss went from ",
                         number_text(first, 4), " to ", number_text(last, 4), "."}));
  constexpr double high = 220;
  drawing d(picture_width, high + 40, "Loss of each training step");
  const double begin = steps.front()["step"], end = std::max(steps.back()["step"].get<double>(), begin + 1);
  const double span = std::max(most - least, 1e-9);
  const auto x = [&](double step) { return axis_x + (picture_width - axis_x - 10) * (step - begin) / (end - begin); };
  const auto y = [&](double loss) { return 10 + high * (most - loss) / span; };
  for (u32 tick = 0; tick <= 4; ++tick) {
    d.line(axis_x, y(least + span * tick / 4), picture_width, y(least + span * tick / 4), "grid");
    d.text(0, y(least + span * tick / 4) + 4, number_text(least + span * tick / 4, 3), "tiny soft");
  }
  std::vector<std::pair<double, double>> curve;
  for (const json_object& s : steps) curve.emplace_back(x(s["step"]), y(s["loss"]));
  d.curve(curve, "loss");
  bool held_out = false;
  for (const json_object& s : steps)
    if (s.contains("held_out_loss")) {
      held_out = true;
      d.dot(x(s["step"]), y(s["held_out_loss"]), 4, "held-out",
            concat({"step ", s["step"].get<u64>(), ", held out: ", number_text(s["held_out_loss"], 4)}));
    }
  d.text(axis_x, high + 30, concat({"step ", steps.front()["step"].get<u64>()}), "tiny soft");
  d.text(picture_width, high + 30, concat({"step ", steps.back()["step"].get<u64>()}), "tiny soft end");
  if (held_out) d.text(picture_width / 2, high + 30, "dots: the loss of what was held out", "tiny soft");
  out += d.done();
  table said("What the model made of --sample", {"Step", "Text"});
  bool any = false;
  for (const json_object& s : steps)
    if (s.contains("sample")) {
      any = true;
      said.row({count_text(s["step"].get<u64>()), escaped(s["sample"].get<std::string>())});
    }
  if (any) out += said.done();
  return out + "</section>\n";
}

std::string environment_section(const json_object& data) {
  std::string out = "<section aria-labelledby=\"environment\"><h2 id=\"environment\">Environment</h2>\n";
  table t("What this was measured with", {"what", "value"});
  for (const auto& [name, value] : data["environment"].items())
    t.row({escaped(name), value.is_string() ? escaped(value.get<std::string>()) : escaped(value.dump())});
  return out + t.done() + "</section>\n";
}

}  // namespace

std::string checks_section(const json_object& data) {
  std::string out;
  if (!data["parity"].is_null()) out += parity_section(data["parity"]);
  if (!data["training"].is_null()) out += training_section(data["training"]);
  return out + environment_section(data);
}

}  // namespace cke::tool::page
