// SPDX-License-Identifier: MIT
// report_page.cpp: implements report_page.hpp: report.html with its places filled, and the page of cke report.
#include "report_page.hpp"

#include <cke/core/concat.hpp>

#include "report_sections.hpp"
#include "rooms.hpp"
#include "source.hpp"

// The assembler includes report.html as it is (CMakeLists.txt sets its path).
asm(".pushsection .rodata\n"
    "cke_report_begin: .incbin \"" CKE_REPORT_PAGE
    "\"\n"
    "cke_report_end:\n"
    ".popsection");
extern const char report_begin[] asm("cke_report_begin"), report_end[] asm("cke_report_end");

namespace cke::tool::page {
namespace {

// What stands for {{name}}, as HTML. A place that a text brings along is not filled: only the template's are.
std::string filled(const std::vector<std::pair<std::string_view, std::string>>& places) {
  const std::string_view page(report_begin, static_cast<std::size_t>(report_end - report_begin));
  std::string out;
  std::size_t at = 0;
  for (const auto& [name, html] : places) {
    const std::string mark = "{{" + std::string(name) + "}}";
    const std::size_t next = page.find(mark, at);
    out += page.substr(at, next - at);
    out += html;
    at = next + mark.size();
  }
  return out += page.substr(at);
}

}  // namespace

std::string page_of(const page_parts& p) {
  std::string links;
  for (const auto& [id, name] : p.sections) links += "<li><a href=\"#" + id + "\">" + escaped(name) + "</a></li>";
  return filled({{"title", escaped(p.name + " \xC2\xB7 " + p.command)},
                 {"heading", "<bdi>" + escaped(p.name) + "</bdi>"},
                 {"facts", escaped(p.facts)},
                 {"links", links},
                 {"sections", p.html},
                 {"origin", escaped(concat({"Made by cke ", p.version, " at ", p.time, "."}))},
                 {"data", script_json(p.data)}});
}

std::string file_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == path.npos || path.size() == 1 ? path : path.substr(slash + 1);
}

std::string report_page(const json_object& given) {
  // From here on all texts are valid UTF-8, whatever a file was called.
  const json_object data = json_object::parse(given.dump(-1, ' ', false, json_object::error_handler_t::replace));
  const json_object &inspect = data["inspect"], &environment = data["environment"];
  page_parts p{
      .name = file_name(inspect["file"]),
      .command = "cke report",
      .facts = concat({inspect["family"].get<std::string>(), ", ", short_count(inspect["parameters"].get<u64>()),
                       " parameters, weights ", inspect["format"].get<std::string>(), ", keys and values ",
                       inspect["kv"].get<std::string>(), ", ", environment["threads"].dump(), " threads, ",
                       environment["instruction set"].get<std::string>()}),
      .sections = {{"summary", "In short"}, {"time", "Time"}, {"memory", "Memory"}, {"program", "The program"}},
      .html = summary_section(data) + time_section(data) + memory_section(data) + program_section(data) +
          checks_section(data),
      .version = environment["cke"],
      .time = environment["time"],
      .data = data};
  if (!data["parity"].is_null()) p.sections.emplace_back("parity", "Parity");
  if (!data["training"].is_null()) p.sections.emplace_back("training", "Training");
  p.sections.emplace_back("environment", "Environment");
  return page_of(p);
}

}  // namespace cke::tool::page
