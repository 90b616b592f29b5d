// SPDX-License-Identifier: MIT
// report_summary.cpp: the first section of a report: what takes the time, how near the limit it is, where memory goes.
#include <algorithm>
#include <cke/core/concat.hpp>

#include "report_sections.hpp"
#include "rooms.hpp"

namespace cke::tool::page {
namespace {

const json_object* longest_step(const json_object& pass) {
  const json_object* most = nullptr;
  for (const json_object& op : pass["ops"])
    if (op.contains("kind") && (!most || op["ns"] > (*most)["ns"])) most = &op;
  return most;
}

// The one that is furthest above its limit, in ns; none: no operation has a limit.
const json_object* most_lost(const json_object& pass) {
  const json_object* most = nullptr;
  const auto lost = [](const json_object& op) { return op["ns"].get<double>() - op["least_ns"].get<double>(); };
  for (const json_object& op : pass["ops"])
    if (op.contains("kind") && op["limit"] != "" && (!most || lost(op) > lost(*most))) most = &op;
  return most;
}

// "at 61 % of what memory allows"
std::string nearness(const json_object& op) {
  const double share = op["least_ns"].get<double>() / op["ns"].get<double>();
  if (op["limit"] == "") return "it reads no weights, so the machine\xE2\x80\x99s peaks set it no limit";
  const std::string limit = op["limit"] == "memory" ? "memory" : "arithmetic";
  if (share > 1)
    return concat({"faster than memory could feed it, because its weights stay in the cache (", percent_text(share),
                   " of what memory allows)"});
  return concat({"at ", percent_text(share), " of what ", limit, " allows"});
}

std::string words(const json_object& data) {
  std::string out;
  const auto line = [&](const std::string& strong, const std::string& rest) {
    out += "<li>" + element("strong", strong) + ' ' + escaped(rest) + "</li>\n";
  };
  for (const json_object& p : data["passes"]) {
    const bool token = p["name"] == "token";
    const double ns = p["ns"], share = p["least_ns"].get<double>() / ns;
    const u64 rows = p["rows"].get<u64>();
    line(token ? concat({"A token of an answer takes ", time_text(ns), ","})
               : concat({"A prompt of ", rows, rows == 1 ? " id takes " : " ids takes ", time_text(ns), ","}),
         concat({number_text(static_cast<double>(rows) * 1e9 / ns, 0), " tokens a second, ", percent_text(share),
                 " of what this machine\xE2\x80\x99s peaks allow."}));
    if (const json_object* most = longest_step(p))
      line(concat({"Its longest operation is ", (*most)["op"].get<std::string>(), ": ",
                   percent_text((*most)["share"].get<double>()), " of the time,"}),
           nearness(*most) + '.');
    if (const json_object* most = most_lost(p); most && (*most)["ns"] > (*most)["least_ns"])
      line(concat({"Most is lost in ", (*most)["op"].get<std::string>(), ":"}),
           concat(
               {time_text((*most)["ns"].get<double>() - (*most)["least_ns"].get<double>()), " more than its limit."}));
  }
  const json_object& memory = data["inspect"]["plan"]["memory"];
  const double weights = data["memory"]["packed_weights"], states = memory["states"], rest = memory["activations"];
  const double all = weights + states + rest;
  line(concat({"Memory is ", size_text(all), ":"}),
       concat({"weights ", percent_text(weights / all), " (", size_text(weights), "), states of a sequence ",
               percent_text(states / all), " (", size_text(states), "), activations ", percent_text(rest / all), " (",
               size_text(rest), ")."}));
  return "<ul class=\"answer\">\n" + out + "</ul>\n";
}

// The whole bar is the time that was measured, the full part of it the least that the machine's peaks allow.
std::string bars_of(const json_object& pass) {
  double longest = 0;
  for (const json_object& op : pass["ops"]) longest = std::max(longest, op["ns"].get<double>());
  const bool token = pass["name"] == "token";
  table t(
      token ? "Where the time of a token goes" : "Where the time of the prompt goes",
      {"operation", "time, and the least that the machine allows", ">time", ">of the pass", ">of the limit", "limit"},
      "bars");
  for (const json_object& op : pass["ops"]) {
    const double ns = op["ns"], least = op["least_ns"], share = least / std::max(ns, 1.0);
    const std::string kind = op.contains("kind") ? op["kind"].get<std::string>() : "wait";
    const bool limited = op["limit"] != "";
    t.row({"<code>" + escaped(op["op"].get<std::string>()) + "</code>",
           "<div class=\"bar " + kind + "\"><i style=\"width:" + number_text(100 * ns / longest, 2) +
               "%\"></i><b style=\"width:" + number_text(100 * std::min(least, ns) / longest, 2) + "%\"></b></div>",
           time_text(ns), percent_text(op["share"].get<double>()), limited ? percent_text(share) : "\xE2\x80\x93",
           limited ? escaped(op["limit"].get<std::string>()) : "\xE2\x80\x93"});
  }
  return t.done();
}

std::string legend_of(const json_object& data) {
  std::string out;
  for (const auto& [kind, what] : {std::pair{"matrix", "matrices"},
                                   {"expert", "experts"},
                                   {"attention", "attention"},
                                   {"state", "recurrent states"},
                                   {"row", "rows"}}) {
    bool any = false;
    for (const json_object& p : data["passes"])
      for (const json_object& op : p["ops"]) any |= op.contains("kind") && op["kind"] == kind;
    if (any) out += concat({"<span class=\"bar ", kind, "\"></span> ", what, " "});
  }
  return "<p class=\"legend\">" + out + "<span class=\"bar wait\"></span> waiting, and between steps</p>\n";
}

}  // namespace

std::string summary_section(const json_object& data) {
  std::string out = "<section aria-labelledby=\"summary\"><h2 id=\"summary\">In short</h2>\n" + words(data);
  for (const json_object& p : data["passes"]) out += bars_of(p);
  const json_object& peaks = data["peaks"];
  out += legend_of(data);
  out += element(
      "p",
      concat({"The pale bar is the time that was measured, a mean over the threads of the fastest of several traced "
              "passes. "
              "The full part of it is "
              "the least time in which this machine could read the bytes of weights and caches and do the "
              "multiplications: it read ",
              number_text(peaks["read_gbs"], 1), " GB/s from memory in this run, and did ",
              number_text(peaks["int8_gops"], 0), " GOP/s in int8, ", number_text(peaks["bf16_gops"], 0), " in bf16, ",
              number_text(peaks["f32_gops"], 0),
              " in f32, where a multiplication and its addition are two. A step above 100 % found its bytes in the "
              "cache. A step that multiplies no matrix and reads no cache has no such limit (\xE2\x80\x93)."}),
      "soft");
  return out + "</section>\n";
}

}  // namespace cke::tool::page
