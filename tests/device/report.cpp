// SPDX-License-Identifier: MIT
// report.cpp: how rows are printed, and how they come through a pipe.
#include "report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace device_check {

namespace {

using object = nlohmann::ordered_json;
std::string text_of(const object& j, int indent = -1) {
  return j.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

struct report::rows {
  object all = object::object();
  int pipe = -1;
  bool good = true;

  void put(const object& row) {
    if (pipe >= 0) return send(text_of(row) + '\n');
    const std::string name = row["name"];
    object value = row["value"];
    std::string why = row.value("why", "");
    if (value.is_number_float() && !std::isfinite(value.get<double>())) value = nullptr;
    if (value.is_null() && row.contains("unit")) why = "not a finite number", good = false;
    if (value.is_boolean()) {
      std::fprintf(stderr, "%-56s %12s\n", name.c_str(), value.get<bool>() ? "holds" : "DOES NOT HOLD");
      good = good && value.get<bool>();
    } else if (value.is_number()) {
      std::fprintf(stderr, "%-56s %12.5g %s\n", name.c_str(), value.get<double>(), row.value("unit", "").c_str());
    } else if (value.is_null()) {
      std::fprintf(stderr, "%-56s %12s (%s)\n", name.c_str(), "not asked", why.c_str());
      all[name + "_not_asked"] = why;
    } else {
      std::string line = value.get<std::string>();
      std::ranges::replace(line, '\n', ' ');
      std::fprintf(stderr, "%-56s %s\n", name.c_str(), line.c_str());
    }
    all[name] = value;
  }
  void send(const std::string& line) const {
    for (std::size_t at = 0; at < line.size();) {
      const ssize_t n = ::write(pipe, line.data() + at, line.size() - at);
      if (n <= 0) return;  // nobody listens any more
      at += static_cast<std::size_t>(n);
    }
  }
};

report::report() : all_(std::make_unique<rows>()) {}
report::~report() = default;
void report::number(const std::string& name, double value, const char* unit) {
  all_->put({{"name", name}, {"value", value}, {"unit", unit}});
}
void report::check(const std::string& name, bool holds) { all_->put({{"name", name}, {"value", holds}}); }
void report::absent(const std::string& name, const std::string& why) {
  all_->put({{"name", name}, {"value", nullptr}, {"why", why}});
}
void report::text(const std::string& name, const std::string& value) { all_->put({{"name", name}, {"value", value}}); }
void report::to_pipe(int end) { all_->pipe = end; }
void report::take(const std::string& row) {
  if (const object j = object::parse(row, nullptr, false); j.is_object() && j.contains("name") && j.contains("value"))
    all_->put(j);
}
double report::value(const std::string& name) const {
  const auto it = all_->all.find(name);
  return it != all_->all.end() && it->is_number() ? it->get<double>() : std::nan("");
}
std::string report::json() const { return text_of(all_->all, 1); }
bool report::good() const { return all_->good; }

}  // namespace device_check
