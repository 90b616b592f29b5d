// SPDX-License-Identifier: MIT
// report_html.hpp: text, numbers and drawings as HTML. Every text is escaped here: names come from strangers' files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <cke/core/types.hpp>

#include "rooms.hpp"

namespace cke::tool::page {

using json_object = nlohmann::ordered_json;

// Control characters become U+FFFD. Valid in the text and in a quoted attribute of HTML and XML.
std::string escaped(std::string_view text);
// JSON within a script element: no "<", ">" or "&", so that nothing in it ends the element.
std::string script_json(const json_object& data);

std::string number_text(double x, int digits);
std::string time_text(double ns);        // "0.213 ms"
std::string percent_text(double share);  // "34 %", "0.4 %"
std::string count_text(u64 n);           // "12 345"
std::string size_text(double bytes);     // "736.0 KiB"

// <tag class="...">escaped text</tag>
std::string element(std::string_view tag, std::string_view text, std::string_view classes = {});

// A table with a caption. Cells are HTML; a column is right-aligned if its title begins with '>'. The first cell of a
// row is its header.
class table {
 public:
  table(std::string_view caption, const std::vector<std::string>& titles, std::string_view classes = {});
  void row(const std::vector<std::string>& cells);
  std::string done() const { return html_ + "</tbody></table>\n"; }

 private:
  std::string html_;
  std::vector<bool> right_;
};

inline constexpr double picture_width = 960, axis_x = 70;  // as wide as the page; labels left of the axis
// An SVG picture; lengths are in pixels at full size. Colours come from the classes that the page's style has.
class drawing {
 public:
  // `label`: what a screen reader says in its place.
  drawing(double width, double height, std::string_view label);
  // `title`: shown while the pointer is on it.
  void box(double x, double y, double width, double height, std::string_view classes, std::string_view title = {});
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void dot(double x, double y, double radius, std::string_view classes, std::string_view title = {});
  void curve(const std::vector<std::pair<double, double>>& points, std::string_view classes);
  void text(double x, double y, std::string_view text, std::string_view classes = {});
  std::string done() const { return html_ + "</svg></div>\n"; }

 private:
  std::string html_;
};

// Of what fits into `width` pixels of the drawings' small type.
std::string fitted(std::string text, double width);

}  // namespace cke::tool::page
