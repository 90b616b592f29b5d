// SPDX-License-Identifier: MIT
// report_sections.hpp: the parts of the page of cke report, each made from the report's JSON alone.
#pragma once

#include <string>
#include <string_view>

#include "report_html.hpp"
#include "rooms.hpp"

namespace cke::tool::page {

// The whole page. `data` is what cke report gathers; report.cpp says what it has.
std::string report_page(const json_object& data);

std::string summary_section(const json_object& data);
std::string time_section(const json_object& data);
std::string memory_section(const json_object& data);
std::string program_section(const json_object& data);
std::string checks_section(const json_object& data);  // parity and training, where there are any; environment

// What kind of work a step is, which is also the class of its colour: matrix, expert, attention, state, row.
std::string_view kind_of(const json_object& code, const json_object& instruction);
// The pictures of the program and of its schedule: report_graph.cpp.
std::string graph_of(const json_object& plan, const json_object& code);
// "gate up [384, 128] bf16"
std::string weights_text(const json_object& code, const json_object& instruction);

}  // namespace cke::tool::page
