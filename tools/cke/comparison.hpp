// SPDX-License-Identifier: MIT
// comparison.hpp: how far what a step wrote is from a reference, and tables of that.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dump_file.hpp"
#include "rooms.hpp"

namespace cke::tool {

// Of one value. A number x is wrong where |x - y| > tolerance (1 + |y|), for y the reference's, or one alone is no
// number.
struct difference {
  double largest = 0;                     // |x - y|; infinite where one alone is no number
  double relative = 0;                    // the largest, of the reference's largest
  double cosine = 1;                      // of the angle between all numbers of the two
  u64 wrong = 0;                          // numbers
  u64 row = 0, column = 0;                // of the first wrong one, or of the largest difference
  float found = 0, wanted = 0;            // there
  u64 wrong_rows = 0, wrong_columns = 0;  // that have a wrong number
};
difference difference_of(std::span<const float> found, std::span<const float> wanted, u64 width, double tolerance);

// Of rows of logits.
struct logit_difference {
  double kl = 0;    // mean of the divergence of what was found from the reference, in nats
  double top1 = 1;  // share of rows with the same likeliest id
};
logit_difference logit_difference_of(std::span<const float> found, std::span<const float> wanted, u64 width);

// Gathers the rows of values that come in several parts. Parts of different values alternate: the steps after the
// layers run once for every few rows, and all steps once for every chunk.
class value_parts {
 public:
  // All rows of the value, if these are the last of them.
  std::optional<std::vector<float>> add(const dumped_value& v, std::span<const float> rows);

 private:
  std::map<std::string, std::vector<float>> parts_;  // by full name
};

// A table of differences, row by row.
std::string comparison_head();
std::string comparison_row(const dumped_value& v, const difference& d);
// Throws malformed, naming `of`, if the reference has another shape.
void check_shape(const dumped_value& v, const dumped_value& reference, const dump_directory& of);
// Throws config_mismatch: what was found in `in` is not what `reference` has.
[[noreturn]] void refuse(const dumped_value& v, const difference& d, const std::string& in,
                         const std::string& reference);

}  // namespace cke::tool
