// SPDX-License-Identifier: MIT
// bench_table.cpp: implements bench_table.hpp.
#include "bench_table.hpp"

#include <vector>

#include "report_page.hpp"
#include "rooms.hpp"
#include "source.hpp"
#include "terminal.hpp"

namespace cke::tool {

std::string fixed(double x, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

bench_table::bench_table(std::string form) : form_(std::move(form)) {}

void bench_table::row(const json_object& r) {
  const std::string text = r.dump(-1, ' ', false, json_object::error_handler_t::replace);
  if (form_ == "jsonl") put(text + '\n');
  else if (form_ == "json") put((begun_ ? ",\n " : "[\n ") + text);
  else if (form_ == "html") rows_.push_back(r);
  else if (form_ == "csv") put_csv(r);
  else put_md(r);
  begun_ = true;
}

void bench_table::end() {
  if (form_ == "json") put(begun_ ? "\n]\n" : "[]\n");
  else if (form_ == "html") put(page::bench_page(rows_));
}

// Leaves out the samples, which only the JSON forms have.
void bench_table::put_csv(const json_object& r) {
  std::string names, values;
  for (const auto& [key, value] : r.items()) {
    if (value.is_array()) continue;
    names += (names.empty() ? "" : ",") + key;
    std::string text = value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
    for (std::size_t at = 0; (at = text.find('"', at)) != text.npos; at += 2) text.insert(at, 1, '"');
    values += (values.empty() ? "\"" : ",\"") + text + '"';
  }
  put((begun_ ? "" : names + '\n') + values + '\n');
}

void bench_table::put_md(const json_object& r) {
  std::string title = "|", rule = "|", line = "|";
  const auto add = [&](const char* name, const char* align, const std::string& text) {
    title += std::string(" ") + name + " |", rule += std::string(" ") + align + " |", line += ' ' + text + " |";
  };
  const auto number = [&](const char* name, const char* field, int digits, double unit, const char* suffix) {
    if (const auto at = r.find(field); at != r.end())
      add(name, "---:", at->is_null() ? "-" : fixed(at->get<double>() * unit, digits) + suffix);
  };
  if (r.contains("op")) {
    add("test", "---", r["test"]), add("op", "---", r["op"]);
    number("calls", "calls", 0, 1, "");
    number("us", "ns", 1, 1e-3, "");
    number("share", "share", 1, 100, "%");
    number("MB", "bytes", 2, 1e-6, "");
    number("GB/s", "gbs", 1, 1, "");
    return put((begun_ ? "" : title + '\n' + rule + '\n') + line + '\n');
  }
  add("model", "---", r["model_type"]);
  add("size", "---:", bytes_text(r["model_size"].get<double>()));
  add("params", "---:", short_count(r["model_n_params"].get<u64>()));
  add("backend", "---", r["backends"]);
  add("threads", "---:", r["n_threads"].dump());
  add("test", "---:", r["test"]);
  add("t/s", "---:", fixed(r["avg_ts"], 2) + " ± " + fixed(r["stddev_ts"], 2));
  number("GB/s", "avg_gbs", 1, 1, "");
  number("cost of a pass", "pass_cost", 2, 1, "x");
  number("peak GB/s", "peak_gbs", 1, 1, "");
  number("of the bound", "bound_share", 0, 100, "%");
  put((begun_ ? "" : title + '\n' + rule + '\n') + line + '\n');
}

}  // namespace cke::tool
