// SPDX-License-Identifier: MIT
// baseline.hpp: earlier results of cke bench, against which later ones are held.
#pragma once

#include <string>
#include <vector>

#include <cke/core/types.hpp>

#include "bench_table.hpp"
#include "rooms.hpp"

namespace cke::tool {

// The value below which a share of the samples lies, between neighbours by their distance, as in NumPy.
double percentile(std::vector<double> samples, double share);

class baseline {
 public:
  // Reads what `cke bench -o json` or `-o jsonl` wrote. Throws file, malformed.
  explicit baseline(const std::string& path);

  // `facts`: the fields of a row that do not come from a measurement. Throws config_mismatch if the baseline is of
  // another model, machine or format, or has no row of this test.
  void check(const json_object& facts, const std::string& test) const;
  // Holds a new row against the old one of its test: medians, 95th percentiles and peak memory.
  void compare(const json_object& row, double tolerance);
  // Throws config_range if a figure was beyond its tolerance, after a table of those on standard error.
  void finish(double tolerance) const;

 private:
  const json_object* find(const std::string& test, const json_object& threads) const;

  std::string path_;
  std::vector<json_object> rows_;
  std::string worse_;  // lines of the table
  u32 compared_ = 0, regressed_ = 0;
};

}  // namespace cke::tool
