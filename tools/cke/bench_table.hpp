// SPDX-License-Identifier: MIT
// bench_table.hpp: prints results in llama-bench's formats (md, csv, json, jsonl), or as one page (html).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "rooms.hpp"

namespace cke::tool {

using json_object = nlohmann::ordered_json;

// All rows have the same fields and are printed as they arrive, a page at the end. Markdown shows model_type,
// model_size, model_n_params, backends, n_threads, test, avg_ts ± stddev_ts, avg_gbs, and if present pass_cost,
// peak_gbs and bound_share; for a profile it shows test, op, calls, ns, share, bytes, gbs.
class bench_table {
 public:
  explicit bench_table(std::string form);
  void row(const json_object& r);
  void end();

 private:
  void put_csv(const json_object& r);
  void put_md(const json_object& r);

  std::string form_;
  bool begun_ = false;
  json_object rows_ = json_object::array();  // of a page
};

// A number with `digits` digits after the point.
std::string fixed(double x, int digits);

}  // namespace cke::tool
