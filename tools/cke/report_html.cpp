// SPDX-License-Identifier: MIT
// report_html.cpp: implements report_html.hpp.
#include "report_html.hpp"

#include <cmath>

#include "bench_table.hpp"
#include "source.hpp"

namespace cke::tool::page {
namespace {

constexpr double letter_width = 6.7;  // of 11 px in a monospaced font, rounded up

std::string attribute(std::string_view name, std::string_view value) {
  return value.empty() ? std::string() : ' ' + std::string(name) + "=\"" + escaped(value) + '"';
}
std::string length(std::string_view name, double x) { return ' ' + std::string(name) + "=\"" + fixed(x, 2) + '"'; }
// Ends an element that may have a title.
std::string ended(std::string_view tag, std::string_view title) {
  if (title.empty()) return "/>";
  return "><title>" + escaped(title) + "</title></" + std::string(tag) + '>';
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (c == '\'') out += "&#39;";
    else if ((static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') || c == 127) out += "\xEF\xBF\xBD";
    else out += c;
  }
  return out;
}

std::string script_json(const json_object& data) {
  std::string out;
  for (const char c : data.dump(-1, ' ', true, json_object::error_handler_t::replace)) {
    if (c == '<') out += "\\u003c";
    else if (c == '>') out += "\\u003e";
    else if (c == '&') out += "\\u0026";
    else out += c;
  }
  return out;
}

std::string number_text(double x, int digits) { return fixed(x, digits); }
std::string time_text(double ns) {
  if (ns < 1e3) return fixed(ns, 0) + " ns";
  const auto with = [](double x, const char* unit) { return fixed(x, x < 10 ? 2 : x < 100 ? 1 : 0) + unit; };
  return ns < 1e6 ? with(ns * 1e-3, " µs") : ns < 1e9 ? with(ns * 1e-6, " ms") : with(ns * 1e-9, " s");
}
std::string percent_text(double share) { return fixed(100 * share, share > 0 && share < 0.095 ? 1 : 0) + " %"; }
std::string count_text(u64 n) {
  std::string out = std::to_string(n);
  for (std::size_t at = out.size(); at > 3;) out.insert(at -= 3, "\xE2\x80\x89");  // a thin space
  return out;
}

std::string size_text(double bytes) {
  return bytes < 1024 ? fixed(bytes, 0) + " B" : bytes < 1048576 ? fixed(bytes / 1024, 1) + " KiB" : bytes_text(bytes);
}

std::string element(std::string_view tag, std::string_view text, std::string_view classes) {
  return '<' + std::string(tag) + attribute("class", classes) + '>' + escaped(text) + "</" + std::string(tag) + ">";
}

table::table(std::string_view caption, const std::vector<std::string>& titles, std::string_view classes) {
  html_ = "<table" + attribute("class", classes) + "><caption>" + escaped(caption) + "</caption><thead><tr>";
  for (std::string_view title : titles) {
    right_.push_back(title.starts_with('>'));
    if (right_.back()) title.remove_prefix(1);
    html_ +=
        std::string("<th scope=\"col\"") + (right_.back() ? " class=\"number\"" : "") + '>' + escaped(title) + "</th>";
  }
  html_ += "</tr></thead><tbody>\n";
}
void table::row(const std::vector<std::string>& cells) {
  html_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string tag = i == 0 ? "th" : "td";
    html_ += '<' + tag + (i == 0 ? " scope=\"row\"" : "") + (right_[i] ? " class=\"number\"" : "") + '>' + cells[i] +
        "</" + tag + '>';
  }
  html_ += "</tr>\n";
}

drawing::drawing(double width, double height, std::string_view label) {
  html_ = "<div class=\"drawing\" tabindex=\"0\" role=\"region\"" + attribute("aria-label", label) +
      "><svg role=\"img\"" + attribute("aria-label", label) + length("width", width) + length("height", height) +
      " viewBox=\"0 0 " + fixed(width, 0) + ' ' + fixed(height, 0) + "\">\n";
}
void drawing::box(double x, double y, double width, double height, std::string_view classes, std::string_view title) {
  html_ += "<rect" + attribute("class", classes) + length("x", x) + length("y", y) +
      length("width", std::max(width, 0.0)) + length("height", std::max(height, 0.0)) + ended("rect", title) + '\n';
}
void drawing::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  html_ += "<line" + attribute("class", classes) + length("x1", x1) + length("y1", y1) + length("x2", x2) +
      length("y2", y2) + "/>\n";
}
void drawing::dot(double x, double y, double radius, std::string_view classes, std::string_view title) {
  html_ += "<circle" + attribute("class", classes) + length("cx", x) + length("cy", y) + length("r", radius) +
      ended("circle", title) + '\n';
}
void drawing::curve(const std::vector<std::pair<double, double>>& points, std::string_view classes) {
  std::string list;
  for (const auto& [x, y] : points) list += concat({list.empty() ? "" : " ", fixed(x, 2), ",", fixed(y, 2)});
  html_ += "<polyline" + attribute("class", classes) + " points=\"" + list + "\"/>\n";
}
void drawing::text(double x, double y, std::string_view text, std::string_view classes) {
  html_ += "<text" + attribute("class", classes) + length("x", x) + length("y", y) + '>' + escaped(text) + "</text>\n";
}

std::string fitted(std::string text, double width) {
  const auto most = static_cast<std::size_t>(std::max(width / letter_width, 0.0));
  if (text.size() <= most) return text;
  if (most < 3) return {};
  text.resize(most - 1);
  return text + "\xE2\x80\xA6";  // the names of the program are ASCII
}

}  // namespace cke::tool::page
