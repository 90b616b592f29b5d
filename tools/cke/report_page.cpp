// SPDX-License-Identifier: MIT
// report_page.cpp: the page of cke report: report.html with its places filled.
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

std::string file_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == path.npos || path.size() == 1 ? path : path.substr(slash + 1);
}

}  // namespace

std::string report_page(const json_object& given) {
  // From here on all texts are valid UTF-8, whatever a file was called.
  const json_object data = json_object::parse(given.dump(-1, ' ', false, json_object::error_handler_t::replace));
  const json_object &inspect = data["inspect"], &environment = data["environment"];
  const std::string name = file_name(inspect["file"]);
  std::string links;
  const auto link = [&](const char* id, const char* what) {
    links += std::string("<li><a href=\"#") + id + "\">" + what + "</a></li>";
  };
  link("summary", "In short"), link("time", "Time"), link("memory", "Memory"), link("program", "The program");
  if (!data["parity"].is_null()) link("parity", "Parity");
  if (!data["training"].is_null()) link("training", "Training");
  link("environment", "Environment");
  const std::string facts =
      concat({inspect["family"].get<std::string>(), ", ", short_count(inspect["parameters"].get<u64>()),
              " parameters, weights ", inspect["format"].get<std::string>(), ", keys and values ",
              inspect["kv"].get<std::string>(), ", ", environment["threads"].dump(), " threads, ",
              environment["instruction set"].get<std::string>()});
  return filled({{"title", escaped(name + " \xC2\xB7 cke report")},
                 {"heading", "<bdi>" + escaped(name) + "</bdi>"},
                 {"facts", escaped(facts)},
                 {"links", links},
                 {"sections",
                  summary_section(data) + time_section(data) + memory_section(data) + program_section(data) +
                      checks_section(data)},
                 {"origin",
                  escaped(concat({"Made by cke ", environment["cke"].get<std::string>(), " at ",
                                  environment["time"].get<std::string>(), "."}))},
                 {"data", script_json(data)}});
}

}  // namespace cke::tool::page
