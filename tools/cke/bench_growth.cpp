// SPDX-License-Identifier: MIT
// bench_growth.cpp: of the page of cke bench, how cost grows with prompts, depths, sequences and threads.
#include <cmath>
#include <map>

#include "bench_sections.hpp"

namespace cke::tool::page {
namespace {

// What grows while the rest stays as it is.
struct dimension {
  const char *field, *axis, *title;
};
constexpr dimension dimensions[]{{"n_prompt", "tokens of the prompt", "Longer prompts"},
                                 {"n_gen", "tokens generated", "More tokens generated"},
                                 {"n_depth", "tokens before", "More tokens before"},
                                 {"n_sequences", "sequences", "More sequences together"},
                                 {"n_threads", "threads", "More threads"}};

// Rows that differ in d alone, in its order; those with a single value of it are left out.
std::vector<row_list> growing(const json_object& rows, const dimension& d) {
  std::map<std::string, row_list> by_rest;
  for (const json_object& r : rows) {
    std::string rest;
    for (const dimension& other : dimensions)
      if (other.field != d.field) rest += r[other.field].dump() + ' ';
      else if (whole(r, d.field) == 0 && d.field != std::string_view("n_depth")) rest += "none ";
    by_rest[rest].push_back(&r);
  }
  std::vector<row_list> all;
  for (auto& [rest, list] : by_rest) {
    std::ranges::stable_sort(list, {}, [&](const json_object* r) { return whole(*r, d.field); });
    if (whole(*list.front(), d.field) != whole(*list.back(), d.field)) all.push_back(std::move(list));
  }
  return all;
}

std::string growth_drawing(const row_list& list, const dimension& dim) {
  constexpr double high = 180, top = 10;
  double most = 0;
  for (const json_object* r : list) most = std::max(most, token_ns(*r));
  most *= 1.1;
  const double begin = (*list.front())[dim.field], end = (*list.back())[dim.field];
  const bool logarithmic = begin > 0 && end / begin >= 8;
  const auto scaled = [&](double v) { return logarithmic ? std::log(v) : v; };
  drawing d(width, high + 44, concat({dim.title, ": time of a token over ", dim.axis}));
  const auto x = [&](const json_object& r) {
    return left + 20 + (right - left - 40) * (scaled(r[dim.field]) - scaled(begin)) / (scaled(end) - scaled(begin));
  };
  const auto y = [&](double ns) { return top + high * (1 - ns / most); };
  for (u32 tick = 0; tick <= 4; ++tick) {
    d.line(left, y(most * tick / 4), right, y(most * tick / 4), tick == 0 ? "axis" : "grid");
    d.text(0, y(most * tick / 4) + 4, tick == 0 ? "0" : time_text(most * tick / 4), "tiny soft");
  }
  d.text(right + 12, high + 28, dim.axis, "tiny soft");
  std::vector<std::pair<double, double>> measured, least;
  double named = -100;
  for (const json_object* r : list) {
    measured.emplace_back(x(*r), y(token_ns(*r)));
    if (bounded(*r)) least.emplace_back(x(*r), y(std::min(least_ns(*r), most)));
    if (measured.back().first > named + 40)
      d.text(named = measured.back().first, high + 28, (*r)[dim.field].dump(), "tiny soft");
  }
  d.curve(measured, "course matrix");
  for (std::size_t i = 0; i < list.size(); ++i)
    d.dot(measured[i].first, measured[i].second, 4, "sample matrix",
          concat({(*list[i])["test"].get<std::string>(), ": ", time_text(token_ns(*list[i]))}));
  d.text(right + 12, measured.back().second + 4, "measured", "small");
  if (!least.empty()) {
    d.curve(least, "course least attention");
    const bool close = std::abs(least.back().second - measured.back().second) < 14;
    d.text(right + 12, close ? measured.back().second + 18 : least.back().second + 4, "the least, by the peaks",
           "small");
  }
  return d.done();
}

}  // namespace

std::string growth_section(const json_object& rows) {
  std::string out;
  for (const dimension& dim : dimensions)
    for (const row_list& list : growing(rows, dim)) {
      const json_object& first = *list.front();
      const bool limits = bounded(first);
      out += element("h3", concat({dim.title, ", from ", name_of(first, rows)})) + growth_drawing(list, dim);
      std::vector<std::string> titles{"test", std::string(">") + dim.axis, ">time of a token", ">against the first"};
      if (limits) titles.insert(titles.end(), {">the least", ">of the limit"});
      table t(concat({"Time of a token over ", dim.axis}), titles);
      for (const json_object* r : list) {
        std::vector<std::string> cells{"<code>" + escaped(name_of(*r, rows)) + "</code>",
                                       count_text(whole(*r, dim.field)), time_text(token_ns(*r)),
                                       number_text(token_ns(*r) / token_ns(first), 2)};
        if (limits) cells.insert(cells.end(), {time_text(least_ns(*r)), percent_text((*r)["bound_share"])});
        t.row(cells);
      }
      out += t.done();
    }
  if (out.empty()) return {};
  return "<section aria-labelledby=\"growth\"><h2 id=\"growth\">Growth</h2>\n" + out + "</section>\n";
}

}  // namespace cke::tool::page
