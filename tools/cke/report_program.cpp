// SPDX-License-Identifier: MIT
// report_program.cpp: the section of a report on the program: types, blocks, fusion, barriers, kernels.
#include <cke/core/concat.hpp>
#include <set>

#include "report_sections.hpp"
#include "rooms.hpp"

namespace cke::tool::page {
namespace {

// "Block of layers 0 to 3 and 5 (x 5 layers)"
std::string code_title(const json_object& plan, const json_object& code, std::size_t number) {
  if (code["name"] == "header") return "Before the layers";
  if (code["name"] == "footer") return "After the layers";
  std::string layers;
  const auto of = plan["variant_of_layer"].get<std::vector<u64>>();
  for (std::size_t l = 0; l < of.size(); ++l) {
    if (of[l] != number) continue;
    std::size_t end = l;
    while (end + 1 < of.size() && of[end + 1] == number) ++end;
    layers += (layers.empty() ? "" : ", ") + std::to_string(l) + (end > l ? "\xE2\x80\x93" + std::to_string(end) : "");
    l = end;
  }
  const u64 count = code["layers"].get<u64>();
  return concat({"Block ", u64{number}, " \xC3\x97 ", count, count == 1 ? " layer: " : " layers: ", layers});
}

std::string fusion_table(const json_object& plan) {
  const json_object& fusion = plan["fusion"];
  if (!fusion.contains("applied")) return {};
  table t("Fusion: steps of all layers that became one", {"before", "after", ">times"});
  bool any = false;
  for (const json_object& f : fusion["applied"])
    if (const u64 times = f["times"].get<u64>()) {
      any = true;
      t.row({"<code>" + escaped(f["pattern"].get<std::string>()) + "</code>",
             "<code>" + escaped(f["becomes"].get<std::string>()) + "</code>", count_text(times)});
    }
  const u64 after = plan["steps"]["all"].get<u64>(), removed = fusion["removed"].get<u64>(),
            elided = fusion["saves_elided"].get<u64>();
  return element("p",
                 concat({"A token\xE2\x80\x99s program has ", after + removed, " steps before fusion and ", after,
                         " after it; ", elided,
                         " copies of the stream are not made, since nothing writes to it meanwhile."})) +
      (any ? t.done() : std::string());
}

// How a form of the schedule has a step: the number of its phase, how threads share it, whether a barrier follows it.
struct scheduled {
  std::string phase = "\xE2\x80\x93", split = "\xE2\x80\x93", barrier;
};
std::vector<scheduled> schedule_of(const json_object& code, const char* form) {
  std::vector<scheduled> steps(code["instructions"].size());
  if (!code["forms"].contains(form)) return steps;
  u64 number = 0;
  for (const json_object& p : code["forms"][form]["phases"]) {
    const u64 first = p["first"].get<u64>(), alone = p["per_thread"].get<u64>(), count = alone + p["steps"].get<u64>();
    for (u64 i = 0; i < count; ++i)
      steps[first + i] = {std::to_string(number), i < alone ? "every thread" : p["split"].get<std::string>(),
                          i + 1 == count && p["barrier"].get<bool>() ? "barrier" : ""};
    ++number;
  }
  return steps;
}

// Of a pass whose last row alone has logits: code without that form runs as in decode.
u64 barriers_of(const json_object& plan, const char* form) {
  u64 all = 0;
  for (const json_object& code : plan["codes"]) {
    const bool body = code["name"] != "header" && code["name"] != "footer";
    const json_object& forms = code["forms"];
    const u64 times = body ? code["layers"].get<u64>() : 1;
    all += times * forms[forms.contains(form) ? form : "decode"]["barriers"].get<u64>();
  }
  return all;
}

std::string barrier_table(const json_object& code, const std::string& title) {
  table t("Phases and barriers: " + title,
          {"step", ">decode phase", "shared by", "then", ">prefill phase", "shared by", "then"});
  const auto decode = schedule_of(code, "decode"), prefill = schedule_of(code, "prefill");
  for (std::size_t i = 0; i < decode.size(); ++i)
    t.row({"<code>" + escaped(code["instructions"][i]["op"].get<std::string>()) + "</code>", decode[i].phase,
           escaped(decode[i].split), decode[i].barrier, prefill[i].phase, escaped(prefill[i].split),
           prefill[i].barrier});
  return t.done();
}

std::string kernel_table(const json_object& data) {
  table t("One for each operation", {"operation", "computes", "weights", "instruction set", ">steps", "why this one"});
  for (const json_object& k : data["kernels"]) {
    std::string formats;
    for (const json_object& f : k["formats"]) formats += (formats.empty() ? "" : ", ") + f.get<std::string>();
    t.row({"<code>" + escaped(k["op"].get<std::string>()) + "</code>", escaped(k["computes"].get<std::string>()),
           formats.empty() ? "\xE2\x80\x93" : escaped(formats), escaped(k["isa"].get<std::string>()),
           count_text(k["steps"].get<u64>()), escaped(k["why"].get<std::string>())});
  }
  return t.done();
}

// A C++ type with a line for each template argument that has arguments itself.
std::string type_lines(const std::string& type) {
  std::string out;
  u32 depth = 0;
  for (std::size_t i = 0; i < type.size(); ++i) {
    const char c = type[i];
    if (c == '{') ++depth;
    if (c == '}') --depth;
    out += c;
    if (c == ',' && depth <= 1 && out.size() - out.rfind('\n') - 1 > 84) { out += "\n   "; }
  }
  return out;
}

}  // namespace

std::string program_section(const json_object& data) {
  const json_object &inspect = data["inspect"], &plan = inspect["plan"];
  std::string out = "<section aria-labelledby=\"program\"><h2 id=\"program\">The program</h2>\n";
  out += element("p", "The model is this C++ type, and the compiler made the program from it:") + "<pre><code>" +
      escaped(type_lines(inspect["type"].get<std::string>())) + "</code></pre>\n";
  std::string letters;
  std::set<std::string> seen;
  for (const json_object& code : plan["codes"])
    for (const json_object& l : code["letters"])
      if (seen.insert(l["op"].get<std::string>()).second)
        letters += (letters.empty() ? "" : " \xC2\xB7 ") + l["op"].get<std::string>();
  out += element("p", "Its letters: " + letters + ".", "soft");
  out +=
      element("p",
              "Each picture has one kind of block as a token runs it; a chunk of a prompt runs the same steps in other "
              "phases, which are listed under Barriers. It shows the steps as the letters write them, the steps "
              "that run, and the values that go from step to step. A filled dot writes, a ring reads, and the thick "
              "line is the "
              "stream. Threads share a step by what the phase says, and wait for each other only at a barrier.");
  std::size_t number = 0;
  std::string tables;
  for (const json_object& code : plan["codes"]) {
    const bool body = code["name"] != "header" && code["name"] != "footer";
    const std::string title = code_title(plan, code, number);
    number += body;
    out += element("h3", title) + graph_of(plan, code);
    tables += barrier_table(code, title);
  }
  out += element("h3", "Fusion") + fusion_table(plan);
  out += element("h3", "Barriers") +
      element("p",
              concat({"A token passes ", barriers_of(plan, "decode"), " barriers, a chunk of a prompt ",
                      barriers_of(plan, "prefill"), ". What comes after the layers runs for one token in both."})) +
      "<details><summary>Phases of every step, in decode and in prefill</summary>" + tables + "</details>\n";
  out += element("h3", "Kernels") + element("p", data["kernel_choice"].get<std::string>()) + kernel_table(data);
  return out + "</section>\n";
}

}  // namespace cke::tool::page
