// SPDX-License-Identifier: MIT
// report_time.cpp: the section of a report on time: timelines of measured passes, the roofline, tokens in a row.
#include <algorithm>
#include <cke/core/concat.hpp>
#include <cmath>

#include "report_sections.hpp"
#include "rooms.hpp"

namespace cke::tool::page {
namespace {

constexpr std::size_t most_threads = 16;  // that are drawn

// A step that a thread did: [code, step, layer, begin, end], in ns from the start of the pass. step -1: it waited.
struct event {
  i64 code, step, layer;
  double begin, end;
};
std::vector<event> events_of(const json_object& thread) {
  std::vector<event> all;
  for (const json_object& e : thread)
    all.push_back({e[0].get<i64>(), e[1].get<i64>(), e[2].get<i64>(), e[3].get<double>(), e[4].get<double>()});
  return all;
}

// Those that worked, up to so many.
std::vector<std::size_t> drawn_threads(const json_object& pass) {
  std::vector<std::size_t> all;
  for (std::size_t t = 0; t < pass["threads"].size() && all.size() < most_threads; ++t)
    if (!pass["threads"][t].empty()) all.push_back(t);
  return all;
}

std::string place_text(i64 layer) { return layer < 0 ? "outside the layers" : concat({"layer ", layer}); }

// What happens between `from` and `to`. named: boxes have the names of their steps.
std::string timeline(const json_object& data, const json_object& pass, double from, double to, bool named,
                     const std::string& label) {
  const json_object& codes = data["inspect"]["plan"]["codes"];
  const std::vector<std::size_t> threads = drawn_threads(pass);
  const std::size_t count = threads.size();
  const double high = named ? 44 : 30, y0 = 20;
  const u64 each = 1 + data["inspect"]["plan"]["layers"].get<u64>() / 13;  // layers from one that is named to the next
  drawing d(picture_width, y0 + (high + 6) * static_cast<double>(count) + 26, label);
  const auto x = [&](double ns) { return axis_x + (picture_width - axis_x) * (ns - from) / (to - from); };
  for (std::size_t t = 0; t < count; ++t) {
    const double y = y0 + (high + 6) * static_cast<double>(t);
    d.text(0, y + high / 2 + 4, concat({"thread ", u64{threads[t]}}));
    i64 layer = -2;
    for (const event& e : events_of(pass["threads"][threads[t]])) {
      if (e.end <= from || e.begin >= to) continue;
      const double begin = x(std::max(e.begin, from)), w = x(std::min(e.end, to)) - begin;
      if (t == 0 && e.layer != layer) {
        d.line(begin, y0 - 8, begin, y0 + (high + 6) * static_cast<double>(count), "grid");
        layer = e.layer;
        if (e.layer >= 0 && (named || static_cast<u64>(e.layer) % each == 0))
          d.text(begin + 3, y0 - 6, place_text(e.layer), "tiny soft");
      }
      if (e.step < 0) {
        d.box(begin, y, w, high, "wait", concat({"waiting, ", time_text(e.end - e.begin)}));
        continue;
      }
      const json_object& code = codes[static_cast<std::size_t>(e.code)];
      const json_object& op = code["instructions"][static_cast<std::size_t>(e.step)];
      const std::string name = op["op"];
      d.box(begin, y, w, high, concat({"event ", kind_of(code, op)}),
            concat({name, ", ", place_text(e.layer), ", ", time_text(e.end - e.begin)}));
      if (named) {
        d.text(begin + 4, y + 18, fitted(name, w - 6), "mono tiny");
        if (w > 50) d.text(begin + 4, y + 34, time_text(e.end - e.begin), "tiny");
      }
    }
  }
  const double base = y0 + (high + 6) * static_cast<double>(count);
  for (u32 tick = 0; tick <= 4; ++tick) {
    const double ns = from + (to - from) * tick / 4;
    d.text(x(ns), base + 16, time_text(ns), tick == 4 ? "tiny soft end" : "tiny soft");
    d.line(x(ns), base, x(ns), base + 5, "axis");
  }
  return d.done();
}

std::string timelines_of(const json_object& data, const json_object& pass) {
  const bool token = pass["name"] == "token";
  std::string out = element("h3", token ? "A token" : concat({"A prompt of ", pass["rows"].get<u64>(), " ids"}));
  const double ns = pass["ns"];
  const std::string what = token ? "Timeline of a token" : "Timeline of a prompt";
  out += timeline(data, pass, 0, ns, false, what);
  const u64 layers = data["inspect"]["plan"]["layers"].get<u64>();
  double from = -1, to = 0;
  const auto middle = static_cast<i64>(layers / 2);
  if (!pass["threads"].empty())
    for (const event& e : events_of(pass["threads"][0]))
      if (e.layer == middle) from = from < 0 ? e.begin : from, to = e.end;
  if (from >= 0 && to > from)
    out += element("p", concat({"Its layer ", middle, ", closer:"}), "soft") +
        timeline(data, pass, from, to, true, concat({what, ", layer ", middle}));
  const u64 drawn = drawn_threads(pass).size(), all = pass["threads"].size();
  if (drawn < all)
    out +=
        element("p",
                drawn < most_threads ? concat({"A pass as small as this runs on ", drawn, " of the ", all, " threads."})
                                     : concat({"The first ", drawn, " of ", all, " threads are drawn."}),
                "soft");
  return out;
}

// Operations a second over operations a byte, both logarithmic.
std::string roofline(const json_object& data) {
  constexpr double high = 330, right = picture_width - 130, low_x = -2, high_x = 11;  // log2 of operations a byte
  const json_object& peaks = data["peaks"];
  const double gbs = peaks["read_gbs"];
  double most = gbs;
  for (const char* rate : {"int8_gops", "bf16_gops", "f32_gops"}) most = std::max(most, peaks[rate].get<double>());
  double least = most;
  for (const json_object& p : data["passes"])
    for (const json_object& op : p["ops"])
      if (op["operations"] > 0) least = std::min(least, op["operations"].get<double>() / op["ns"].get<double>());
  const double high_y = std::ceil(std::log2(most) + .3),
               low_y = std::max(std::floor(std::log2(least) - 1), high_y - 20);
  const auto x = [&](double log) { return axis_x + (right - axis_x) * (log - low_x) / (high_x - low_x); };
  const auto y = [&](double log) { return 10 + high * (high_y - log) / (high_y - low_y); };
  drawing d(picture_width, high + 50,
            "Roofline: operations a second of each operation over its operations a byte of weights and cache");
  for (double log = low_x; log <= high_x; log += 1) {
    d.line(x(log), 10, x(log), 10 + high, "grid");
    if (std::fmod(log, 2) == 0)
      d.text(x(log) - 6, high + 26, log < 0 ? "1/" + number_text(std::exp2(-log), 0) : number_text(std::exp2(log), 0),
             "tiny soft");
  }
  d.text(axis_x + 250, high + 44, "operations for each byte read", "soft");
  for (double log = low_y; log <= high_y; log += 3) {
    d.line(axis_x, y(log), right, y(log), "grid");
    d.text(0, y(log) + 4, number_text(std::exp2(log), log < 0 ? 2 : 0) + " GOP/s", "tiny soft");
  }
  const double slope = std::log2(gbs), begin = std::max(low_x, low_y - slope);
  d.curve({{x(begin), y(slope + begin)}, {x(std::log2(most) - slope), y(std::log2(most))}}, "roof");
  d.text(x(std::log2(most) - slope) - 10, y(std::log2(most)) + 4, concat({"memory ", number_text(gbs, 0), " GB/s"}),
         "small end");
  double named = -100;
  for (const char* rate : {"int8", "bf16", "f32"}) {
    const double log = std::log2(std::max(peaks[std::string(rate) + "_gops"].get<double>(), 1e-3));
    d.curve({{x(std::min(std::max(log - slope, low_x), high_x)), y(log)}, {right, y(log)}}, "roof");
    const double at = std::max(y(log) + 4, named + 13);
    d.text(right + 6, named = at, concat({rate, " ", number_text(std::exp2(log), 0)}), "small");
  }
  std::vector<std::pair<double, double>> names;  // where they stand
  for (const json_object& p : data["passes"])
    for (const json_object& op : p["ops"]) {
      if (!op.contains("kind") || op["bytes"] == 0 || op["operations"] == 0) continue;
      const double per_byte = std::log2(op["operations"].get<double>() / op["bytes"].get<double>());
      const double rate = std::log2(op["operations"].get<double>() / op["ns"].get<double>());
      const bool token = p["name"] == "token";
      const std::string name = op["op"];
      const double at = x(std::clamp(per_byte, low_x, high_x)), tall = y(std::clamp(rate, low_y, high_y));
      d.dot(at, tall, 5, concat({token ? "token " : "prompt ", op["kind"].get<std::string>()}),
            concat({name, " of a ", p["name"].get<std::string>(), ": ", number_text(std::exp2(per_byte), 1),
                    " operations a byte, ", number_text(std::exp2(rate), 1), " GOP/s"}));
      double place = tall + 4;
      for (bool moved = true; moved;) {  // only down, past one name after the other
        moved = false;
        for (const auto& [nx, ny] : names)
          if (std::abs(nx - at) < 150 && place > ny - 12 && place < ny + 12) place = ny + 12, moved = true;
      }
      names.emplace_back(at, place);
      d.text(at + 9, place, name, "tiny");
    }
  return d.done();
}

std::string tokens_of(const json_object& answer) {
  const auto all = answer["ns"].get<std::vector<double>>();
  if (all.size() < 2) return {};
  // What the system did meanwhile can make one token many times as long: its bar is cut.
  const double most = std::min(std::ranges::max(all), 4 * answer["p50_ns"].get<double>());
  constexpr double high = 110;
  drawing d(picture_width, high + 30, concat({"Time of each of ", u64{all.size()}, " tokens in a row"}));
  const double column = (picture_width - axis_x) / static_cast<double>(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double h = high * std::min(all[i] / most, 1.0);
    d.box(axis_x + column * static_cast<double>(i) + .5, 6 + high - h, std::max(column - 1, .5), h, "token-time",
          concat({"token ", u64{i + 1}, ": ", time_text(all[i])}));
  }
  d.text(0, 16, time_text(most), "tiny soft"), d.text(0, high + 6, "0", "tiny soft");
  d.line(axis_x, 6 + high, picture_width, 6 + high, "axis");
  d.text(axis_x, high + 22, "the first token after the prompt", "tiny soft");
  d.text(picture_width, high + 22, concat({"token ", u64{all.size()}}), "tiny soft end");
  return d.done();
}

}  // namespace

std::string time_section(const json_object& data) {
  std::string out = "<section aria-labelledby=\"time\"><h2 id=\"time\">Time</h2>\n";
  out +=
      element("p",
              "Each row is a thread, each box a step that it worked on, in paler colours of the bars above. Grey is a "
              "wait for other threads, white is between steps. The steps of a phase take turns and are drawn one "
              "after the other. Point at a box for its name and time.");
  for (const json_object& p : data["passes"]) out += timelines_of(data, p);
  out += element("h3", "How near each operation is to the roofline");
  out += element("p",
                 "A full dot is an operation of a token, a ring one of the prompt. None can be above the roof, unless "
                 "its weights stay in the cache: memory bounds what does little with each byte, the dot products of "
                 "its format the rest. Both axes are logarithmic.");
  out += roofline(data);
  const json_object& answer = data["answer"];
  if (const std::string tokens = tokens_of(answer); !tokens.empty())
    out += element("h3", "Tokens in a row") +
        element("p",
                concat({"After the prompt ", answer["ids"].get<u64>(),
                        " tokens were generated, greedily and without "
                        "tracing: the median is ",
                        time_text(answer["p50_ns"]), ", the 95th percentile ", time_text(answer["p95_ns"]), "."})) +
        tokens;
  if (answer["text"].is_string())
    out += element("h4", "What was read and written") + "<blockquote><p>" +
        element("span", data["prompt"]["text"].get<std::string>(), "soft") +
        escaped(answer["text"].get<std::string>()) + "</p></blockquote>\n";
  return out + "</section>\n";
}

}  // namespace cke::tool::page
