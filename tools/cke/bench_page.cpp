// SPDX-License-Identifier: MIT
// bench_page.cpp: the page of cke bench -o html: each test beside the machine's peaks, and its rounds.
#include <algorithm>
#include <array>
#include <cke/core/concat.hpp>
#include <cmath>
#include <map>

#include "baseline.hpp"
#include "bench_sections.hpp"
#include "report_page.hpp"
#include "rooms.hpp"

namespace cke::tool::page {
namespace {

constexpr std::array colours{"matrix", "attention", "expert", "state", "row", "wait"};
constexpr const char* dash = "\xE2\x80\x93";

std::string percent_around(double share) { return concat({share < 0 ? "" : "+", number_text(100 * share, 1), " %"}); }

std::string bars_of(const json_object& rows, bool of_prompts) {
  row_list mine;
  double longest = 0;
  for (const json_object& r : rows)
    if (reads(r) == of_prompts) mine.push_back(&r), longest = std::max(longest, token_ns(r));
  if (mine.empty()) return {};
  const bool limits = bounded(*mine[0]);
  std::vector<std::string> titles{"test",
                                  limits ? "time of a token, and the least that the machine allows" : "time of a token",
                                  ">time", ">tokens/s", ">GB/s"};
  if (limits) titles.emplace_back(">of the limit");
  table t(of_prompts ? "Reading a prompt" : "Generating", titles, "bars");
  for (const json_object* r : mine) {
    const double ns = token_ns(*r), least = limits ? std::min(least_ns(*r), ns) : 0;
    std::vector<std::string> cells{"<code>" + escaped(name_of(*r, rows)) + "</code>",
                                   "<div class=\"bar matrix\"><i style=\"width:" + number_text(100 * ns / longest, 2) +
                                       "%\"></i><b style=\"width:" + number_text(100 * least / longest, 2) +
                                       "%\"></b></div>",
                                   time_text(ns), speed_text(speed(*r)), speed_text((*r)["avg_gbs"])};
    if (limits) cells.push_back(percent_text((*r)["bound_share"]));
    t.row(cells);
  }
  return t.done();
}

std::string summary_section(const json_object& rows) {
  std::string out = "<section aria-labelledby=\"summary\"><h2 id=\"summary\">In short</h2>\n<ul class=\"answer\">\n";
  for (const bool of_prompts : {true, false})
    for (const json_object& r : rows)
      if (reads(r) == of_prompts) {
        out += "<li>" +
            element("strong",
                    concat({name_of(r, rows), of_prompts ? " reads " : " generates ", speed_text(speed(r)),
                            " tokens a second"})) +
            escaped(bounded(r) ? concat({", ", percent_text(r["bound_share"]),
                                         " of what this machine\xE2\x80\x99s peaks allow.\n"})
                               : ".\n") +
            "</li>\n";
        break;  // the first of its kind stands for the others, which follow
      }
  out += "</ul>\n" + bars_of(rows, true) + bars_of(rows, false);
  out += element("p",
                 concat({"ppN reads a prompt of N tokens, tgN generates N; dN: after N tokens that are there before; "
                         "bN: N sequences together. Times are medians of ",
                         u64{rows[0]["samples_ns"].size()}, " rounds."}),
                 "soft");
  const json_object& first = rows[0];
  if (bounded(first))
    out += element(
        "p",
        concat({"The full part of a bar is the least time in which this machine could read the bytes and do the "
                "multiplications. In these rounds it read ",
                number_text(first["peak_gbs"], 1), " GB/s from memory, and did ",
                number_text(first["peak_int8_gops"], 0), " GOP/s in int8, ", number_text(first["peak_bf16_gops"], 0),
                " in bf16, ", number_text(first["peak_f32_gops"], 0),
                " in f32. A test above 100 % found its bytes in the cache."}),
        "soft");
  return out + "</section>\n";
}

// Those that alternate: of one number of threads, and of one depth.
std::vector<row_list> rounds_of(const json_object& rows) {
  std::vector<row_list> groups;
  for (const json_object& r : rows) {
    const auto same = std::ranges::find_if(groups, [&](const row_list& g) {
      return (*g[0])["n_threads"] == r["n_threads"] && (*g[0])["n_depth"] == r["n_depth"];
    });
    (same == groups.end() ? groups.emplace_back() : *same).push_back(&r);
  }
  return groups;
}

// Each test beside its own median, round by round.
std::string rounds_drawing(const row_list& group, const json_object& rows) {
  constexpr double high = 170, top = 10;
  const std::size_t count = speeds(*group[0]).size();
  double most = 0.02;
  for (const json_object* r : group)
    for (const double ts : speeds(*r)) most = std::max(most, std::abs(ts / speed(*r) - 1));
  drawing d(width, high + 40, "Speed of each test in each round, beside its median");
  const auto x = [&](std::size_t i) {
    return left + 20 +
        (right - left - 40) * static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(count - 1, 1));
  };
  const auto y = [&](double share) { return top + high * (most - share) / (2 * most); };
  for (const double tick : {1.0, 0.5, 0.0, -0.5, -1.0}) {
    d.line(left, y(tick * most), right, y(tick * most), tick == 0 ? "axis" : "grid");
    d.text(0, y(tick * most) + 4, tick == 0 ? "median" : percent_around(tick * most), "tiny soft");
  }
  for (std::size_t i = 0; i < count; i += 1 + count / 16)
    d.text(x(i) - 3, high + 28, std::to_string(i + 1), "tiny soft");
  d.text(right + 12, high + 28, "round", "tiny soft");
  for (std::size_t n = 0; n < group.size(); ++n) {
    const std::vector<double> all = speeds(*group[n]);
    const double median = speed(*group[n]);
    const std::string name = name_of(*group[n], rows), colour = colours[n % colours.size()];
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i < count; ++i) points.emplace_back(x(i), y(all[i] / median - 1));
    d.curve(points, "course " + colour);
    for (std::size_t i = 0; i < count; ++i)
      d.dot(points[i].first, points[i].second, 3.5, "sample " + colour,
            concat({name, ", round ", u64{i + 1}, ": ", speed_text(all[i]), " tokens a second"}));
    if (n < 10) {  // as many names as fit beside the picture; the table has all
      d.dot(right + 16, top + 8 + 16 * static_cast<double>(n), 4, "sample " + colour);
      d.text(right + 26, top + 12 + 16 * static_cast<double>(n), name, "small");
    }
  }
  return d.done();
}

std::string rounds_table(const row_list& group, const json_object& rows) {
  table t("Tokens a second, over the rounds",
          {"test", ">median", ">slowest", ">fastest", ">deviation", ">against the first of its kind, round by round"});
  std::map<bool, const json_object*> first;
  for (const json_object* r : group) {
    const std::vector<double> all = speeds(*r);
    const json_object* other = first.emplace(reads(*r), r).first->second;
    std::string against = dash;
    if (other != r) {
      std::vector<double> ratios;
      const std::vector<double> theirs = speeds(*other);
      for (std::size_t i = 0; i < all.size(); ++i) ratios.push_back(all[i] / theirs[i]);
      against = concat({number_text(percentile(ratios, 0.5), 3), " (", number_text(std::ranges::min(ratios), 3), " to ",
                        number_text(std::ranges::max(ratios), 3), ")"});
    }
    t.row({"<code>" + escaped(name_of(*r, rows)) + "</code>", speed_text(speed(*r)), speed_text(std::ranges::min(all)),
           speed_text(std::ranges::max(all)),
           percent_text((*r)["stddev_ts"].get<double>() / (*r)["avg_ts"].get<double>()), against});
  }
  return t.done();
}

std::string rounds_section(const json_object& rows) {
  std::string out = "<section aria-labelledby=\"rounds\"><h2 id=\"rounds\">Rounds</h2>\n";
  out +=
      element("p",
              "In each round every test of a depth runs once, one after the other, so what the machine does meanwhile "
              "falls on all of them alike: a ratio within a round says more than two medians.");
  for (const row_list& group : rounds_of(rows)) {
    out += element("h3",
                   concat({(*group[0])["n_threads"].dump(), (*group[0])["n_threads"] == 1 ? " thread, " : " threads, ",
                           (*group[0])["n_depth"].dump(), " tokens before"}));
    if (speeds(*group[0]).size() > 1) out += rounds_drawing(group, rows);
    out += rounds_table(group, rows);
  }
  return out + "</section>\n";
}

std::string measured_with(const json_object& first) {
  table t("What this was measured with", {"what", "value"});
  for (const auto& [name, field] : {std::pair{"cke", "build_commit"},
                                    {"processor", "cpu_info"},
                                    {"instruction set", "isa"},
                                    {"model", "model_type"},
                                    {"keys and values", "type_k"},
                                    {"chunk", "n_batch"}})
    t.row({name, escaped(first[field].is_string() ? first[field].get<std::string>() : first[field].dump())});
  t.row({"weights", size_text(first["model_size"])});
  return "<section aria-labelledby=\"environment\"><h2 id=\"environment\">Environment</h2>\n" + t.done() +
      "</section>\n";
}

}  // namespace

std::string bench_page(const json_object& given) {
  const json_object rows = json_object::parse(given.dump(-1, ' ', false, json_object::error_handler_t::replace));
  const json_object& first = rows[0];
  const std::string growth = growth_section(rows);
  page_parts p{.name = file_name(first["model_filename"]),
               .command = "cke bench",
               .facts = concat({first["model_type"].get<std::string>(), ", ", size_text(first["model_size"]),
                                " of weights, keys and values ", first["type_k"].get<std::string>(), ", ",
                                first["isa"].get<std::string>()}),
               .sections = {{"summary", "In short"}, {"rounds", "Rounds"}},
               .html = summary_section(rows) + rounds_section(rows) + growth + measured_with(first),
               .version = first["build_commit"],
               .time = first["test_time"],
               .data = rows};
  if (!growth.empty()) p.sections.emplace_back("growth", "Growth");
  p.sections.emplace_back("environment", "Environment");
  return page_of(p);
}

}  // namespace cke::tool::page
