// SPDX-License-Identifier: MIT
// bench_sections.hpp: what the parts of the page of cke bench ask of a row, which is as -o json has it.
#pragma once

#include <algorithm>
#include <cke/core/concat.hpp>

#include "report_html.hpp"
#include "rooms.hpp"

namespace cke::tool::page {

using row_list = std::vector<const json_object*>;

// Of drawings: the names stand right of `right`.
inline constexpr double width = 960, left = 70, right = width - 190;

inline u64 whole(const json_object& r, const char* field) { return r[field].get<u64>(); }
inline bool reads(const json_object& r) { return whole(r, "n_prompt") > 0; }
// The median of its rounds.
inline double token_ns(const json_object& r) {
  const u64 tokens = whole(r, "n_prompt") + whole(r, "n_gen") * whole(r, "n_sequences");
  return r["p50_ns"].get<double>() / static_cast<double>(tokens);
}
inline double speed(const json_object& r) { return 1e9 / token_ns(r); }  // the median
inline double least_ns(const json_object& r) { return 1e9 / r["bound_ts"].get<double>(); }
inline bool bounded(const json_object& r) { return r.contains("bound_ts"); }
// Of each round.
inline std::vector<double> speeds(const json_object& r) { return r["samples_ts"].get<std::vector<double>>(); }
inline std::string speed_text(double ts) { return number_text(ts, ts < 10 ? 2 : ts < 1000 ? 1 : 0); }

// With its threads, where the tests have several numbers of them.
inline std::string name_of(const json_object& r, const json_object& all) {
  const bool several = std::ranges::any_of(all, [&](const json_object& o) { return o["n_threads"] != r["n_threads"]; });
  std::string name = r["test"];
  return several ? name + " t" + r["n_threads"].dump() : name;
}

// How the time of a token grows, wherever rows differ in one number alone; empty if none do.
std::string growth_section(const json_object& rows);

}  // namespace cke::tool::page
