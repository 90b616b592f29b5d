// SPDX-License-Identifier: MIT
// report_page.hpp: the frame that the pages of cke report and cke bench share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report_html.hpp"
#include "rooms.hpp"

namespace cke::tool::page {

// What fills the frame: `html` is HTML, and all other texts are escaped.
struct page_parts {
  std::string name, command, facts;                           // of the model; "cke report"; one line
  std::vector<std::pair<std::string, std::string>> sections;  // id and title, in their order
  std::string html;
  std::string version, time;
  const json_object& data;  // which the page carries along
};
std::string page_of(const page_parts& p);
std::string file_name(std::string path);  // the last part of it

// The page of cke bench -o html. `rows`: an array of rows as -o json has them.
std::string bench_page(const json_object& rows);

}  // namespace cke::tool::page
