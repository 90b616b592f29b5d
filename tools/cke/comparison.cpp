// SPDX-License-Identifier: MIT
// comparison.cpp: implements comparison.hpp.
#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "distribution.hpp"
#include "step_list.hpp"

namespace cke::tool {
namespace {

std::string number_text(double x, const char* form = "%.1e") {
  char text[40];
  std::snprintf(text, sizeof text, form, x);
  return text;
}
std::string column(std::string text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text + ' ';
}

// |x - y|. Numbers that are the same, infinities too, do not differ, and neither do two that are none.
double apart(float x, float y) {
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  const double d = std::abs(static_cast<double>(x) - static_cast<double>(y));
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

}  // namespace

difference difference_of(std::span<const float> found, std::span<const float> wanted, u64 width, double tolerance) {
  difference d;
  double greatest = 0, product = 0, square_found = 0, square_wanted = 0;
  std::vector<bool> columns(width);
  const auto here = [&](u64 i) { d.row = i / width, d.column = i % width, d.found = found[i], d.wanted = wanted[i]; };
  u64 last_row = ~u64{0};
  for (u64 i = 0; i < found.size(); ++i) {
    const double x = static_cast<double>(found[i]), y = static_cast<double>(wanted[i]), by = apart(found[i], wanted[i]);
    if (std::isfinite(y)) greatest = std::max(greatest, std::abs(y));
    product += x * y, square_found += x * x, square_wanted += y * y;
    const bool wrong = by > tolerance * (1 + std::abs(y)) || (std::isinf(by));
    if ((wrong && d.wrong == 0) || (!wrong && d.wrong == 0 && by > d.largest)) here(i);
    d.largest = std::max(d.largest, by);
    if (!wrong) continue;
    ++d.wrong, columns[i % width] = true;
    if (i / width != last_row) last_row = i / width, ++d.wrong_rows;
  }
  d.wrong_columns = static_cast<u64>(std::ranges::count(columns, true));
  d.relative = d.largest == 0 ? 0 : d.largest / greatest;
  const double lengths = std::sqrt(square_found) * std::sqrt(square_wanted);
  d.cosine = d.largest == 0 ? 1 : product / lengths;
  return d;
}

logit_difference logit_difference_of(std::span<const float> found, std::span<const float> wanted, u64 width) {
  const u64 rows = found.size() / width;
  double kl = 0, same = 0;
  distribution p, q;
  for (u64 r = 0; r < rows; ++r) {
    const auto mine = found.subspan(r * width, width), theirs = wanted.subspan(r * width, width);
    p.set(theirs), q.set(mine);
    kl += divergence(p, theirs, q, mine);
    same += p.best() == q.best();
  }
  return {kl / static_cast<double>(rows), same / static_cast<double>(rows)};
}

std::optional<std::vector<float>> value_parts::add(const dumped_value& v, std::span<const float> rows) {
  const auto at = parts_.try_emplace(full_name(v.layer, v.name)).first;
  at->second.insert(at->second.end(), rows.begin(), rows.end());
  if (at->second.size() < v.rows * v.width) return std::nullopt;
  return std::move(parts_.extract(at).mapped());
}

std::string comparison_head() {
  return "step  layer  op                 name               max abs   relative  cosine      wrong\n";
}
std::string comparison_row(const dumped_value& v, const difference& d) {
  return column(std::to_string(v.step), 6) + column(v.layer < 0 ? "" : std::to_string(v.layer), 7) + column(v.op, 19) +
      column(v.name, 19) + column(number_text(d.largest), 10) + column(number_text(d.relative), 10) +
      column(number_text(d.cosine, "%.8f"), 12) + std::to_string(d.wrong) + '\n';
}

void check_shape(const dumped_value& v, const dumped_value& reference, const dump_directory& of) {
  if (v.rows != reference.rows || v.width != reference.width)
    throw Error(errc::malformed, of.path() + "/index.json", "value " + full_name(v.layer, v.name),
                concat({"[", v.rows, ", ", v.width, "]"}), concat({"[", reference.rows, ", ", reference.width, "]"}));
}

void refuse(const dumped_value& v, const difference& d, const std::string& in, const std::string& reference) {
  const auto number = [](float x) { return number_text(static_cast<double>(x), "%.6g"); };
  const auto many = [](u64 n, const char* one, const char* more) { return concat({n, n == 1 ? one : more}); };
  throw Error(errc::config_mismatch, in, concat({"first difference, ", full_name(v.layer, v.name)}),
              concat({number(d.wanted), " as in ", reference}),
              concat({number(d.found), " at row ", d.row, ", column ", d.column, "; ",
                      many(d.wrong, " number is wrong, in ", " numbers are wrong, in "),
                      many(d.wrong_rows, " row and ", " rows and "), many(d.wrong_columns, " column", " columns")}));
}

}  // namespace cke::tool
