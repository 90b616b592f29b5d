// SPDX-License-Identifier: MIT
// baseline.cpp: implements baseline.hpp.
#include "baseline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "commands.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

std::string percent(double share, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f%%", digits, 100 * share);
  return text;
}

// One JSON list, or an object in each line.
std::vector<json_object> rows_of(const std::string& text, const std::string& path) {
  std::vector<json_object> rows;
  try {
    for (std::size_t at = text.find_first_not_of(" \n\r\t"); at < text.size();) {
      const std::size_t end = text[at] == '[' ? text.size() : std::min(text.find('\n', at), text.size());
      json_object part = json_object::parse(text.substr(at, end - at));
      if (part.is_array()) rows.insert(rows.end(), part.begin(), part.end());
      else rows.push_back(std::move(part));
      at = text.find_first_not_of(" \n\r\t", end);
    }
  } catch (const json_object::parse_error&) {
    throw Error(errc::malformed, path, {}, "what cke bench -o json or jsonl wrote", "something else");
  }
  if (rows.empty()) throw Error(errc::malformed, path, {}, "rows of cke bench", "none");
  return rows;
}

bool positive(const json_object& v) { return v.is_number() && v.get<double>() > 0; }

}  // namespace

double percentile(std::vector<double> samples, double share) {
  std::ranges::sort(samples);
  const double at = share * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (at - static_cast<double>(below)) * (samples[above] - samples[below]);
}

baseline::baseline(const std::string& path) : path_(path), rows_(rows_of(file_text(path), path)) {
  for (const json_object& r : rows_) {
    const auto need = [&](bool there, const char* field, const char* what) {
      if (!there) throw Error(errc::malformed, path_, concat({"field ", field}), what, "something else, or nothing");
    };
    need(r.is_object() && r.contains("test") && r["test"].is_string(), "test", "a name");
    const auto samples = r.find("samples_ns");
    need(samples != r.end() && samples->is_array() && !samples->empty() && std::ranges::all_of(*samples, positive),
         "samples_ns", "a list of times");
    need(r.contains("peak_memory") && positive(r["peak_memory"]), "peak_memory", "a number of bytes");
  }
}

const json_object* baseline::find(const std::string& test, const json_object& threads) const {
  for (const json_object& r : rows_)
    if (r["test"] == test && r.contains("n_threads") && r["n_threads"] == threads) return &r;
  return nullptr;
}

void baseline::check(const json_object& facts, const std::string& test) const {
  for (const char* field : {"model_type", "model_n_params", "cpu_info", "isa", "type_k", "type_v", "n_ubatch"})
    for (const json_object& r : rows_) {
      const json_object had = r.contains(field) ? r[field] : json_object();
      const auto shown = [](const json_object& v) { return v.is_string() ? v.get<std::string>() : v.dump(); };
      if (had != facts[field])
        throw Error(errc::config_mismatch, path_, field, concat({shown(facts[field]), ", which is measured now"}),
                    shown(had));
    }
  if (!find(test, facts["n_threads"]))
    throw Error(errc::config_mismatch, path_, concat({"test ", test, " with ", facts["n_threads"].dump(), " threads"}),
                "a row", "none");
}

void baseline::compare(const json_object& row, double tolerance) {
  const json_object& old = *find(row["test"], row["n_threads"]);
  const auto figure = [&](const char* name, double before, double now, auto text) {
    ++compared_;
    if (now <= before * (1 + tolerance)) return;
    ++regressed_;
    worse_ += concat({"| ", row["test"].get<std::string>(), " | ", row["n_threads"].dump(), " | ", name, " | ",
                      text(before), " | ", text(now), " | +", percent(now / before - 1, 1), " |\n"});
  };
  const auto ms = [](double ns) { return fixed(ns * 1e-6, 3) + " ms"; };
  const auto was = old["samples_ns"].get<std::vector<double>>(), is = row["samples_ns"].get<std::vector<double>>();
  figure("p50", percentile(was, 0.5), percentile(is, 0.5), ms);
  figure("p95", percentile(was, 0.95), percentile(is, 0.95), ms);
  figure("peak memory", old["peak_memory"].get<double>(), row["peak_memory"].get<double>(), bytes_text);
}

void baseline::finish(double tolerance) const {
  if (regressed_ == 0) return;
  std::fprintf(stderr,
               "| test | threads | figure | baseline | now | change |\n| --- | ---: | --- | ---: | ---: | ---: |\n%s",
               worse_.c_str());
  throw Error(errc::config_range, path_, "baseline",
              concat({"nothing more than ", percent(tolerance, tolerance < 0.1 ? 1 : 0), " beyond it"}),
              concat({regressed_, " of ", compared_, " figures"}));
}

}  // namespace cke::tool
