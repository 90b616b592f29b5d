// SPDX-License-Identifier: MIT
// report_memory.cpp: the section of a report on memory: all of it, the arena and the pages, each drawn to scale.
#include <algorithm>
#include <cke/core/concat.hpp>

#include "report_sections.hpp"
#include "rooms.hpp"

namespace cke::tool::page {
namespace {

constexpr double least_drawn = 0.02;  // of the scratch

struct part {
  const char *name, *classes;
  double bytes;
};

// A bar in which bytes are lengths.
std::string bar_of(const std::vector<part>& parts, std::string_view what) {
  double all = 0;
  std::string label(what);
  for (const part& p : parts) all += p.bytes, label += concat({", ", p.name, " ", size_text(p.bytes)});
  drawing d(picture_width, 64, label);
  double x = 0;
  for (const part& p : parts) {
    const double w = picture_width * p.bytes / all;
    d.box(x, 4, w, 34, p.classes, concat({p.name, ": ", size_text(p.bytes)}));
    d.text(x + 2, 54, fitted(concat({p.name, " ", size_text(p.bytes), ", ", percent_text(p.bytes / all)}), w));
    x += w;
  }
  return d.done();
}

// The step that first writes a register.
std::string writer_of(const json_object& code, u64 r) {
  for (const json_object& i : code["instructions"])
    for (const json_object& o : i["out"])
      if (o == r) return i["op"];
  return {};
}

// Time goes to the right, from barrier to barrier; bytes go down.
std::string arena_of(const json_object& code, const char* form, double scratch) {
  const json_object& f = code["forms"][form];
  u64 runs = 0;
  std::vector<std::string> titles(1);
  for (const json_object& p : f["phases"]) {
    const u64 first = p["first"].get<u64>(), count = p["per_thread"].get<u64>() + p["steps"].get<u64>();
    for (u64 i = first; i < first + count; ++i)
      titles[runs] += concat({titles[runs].empty() ? "" : "\n", code["instructions"][i]["op"].get<std::string>()});
    if (p["barrier"].get<bool>()) ++runs, titles.emplace_back();
  }
  const u64 columns = std::max<u64>(titles.back().empty() ? runs : runs + 1, 1);
  const double left = 84, column = (picture_width - left) / static_cast<double>(columns), high = 220, y0 = 70;
  drawing d(
      picture_width, y0 + high + 12,
      concat({"Arena of ", code["name"].get<std::string>(), " in ", form, ", ", size_text(scratch), " of scratch"}));
  const auto y = [&](double bytes) { return y0 + high * bytes / scratch; };
  d.box(left, y0, picture_width - left, high, "free", "scratch that this block does not use");
  for (u64 c = 0; c < columns; ++c) {
    const double x = left + column * static_cast<double>(c);
    double line = 14;
    for (std::size_t at = 0; at < titles[c].size();) {
      const std::size_t end = std::min(titles[c].find('\n', at), titles[c].size());
      if (line < y0 - 8) d.text(x + 4, line, fitted(titles[c].substr(at, end - at), column - 8), "mono tiny");
      line += 13, at = end + 1;
    }
    d.line(x, y0 - 6, x, y0 + high, "barrier");
  }
  for (u32 tick = 0; tick <= 4; ++tick) {
    d.text(0, y(scratch * tick / 4) + (tick == 4 ? 0 : 8), size_text(scratch * tick / 4), "tiny soft");
    d.line(left - 6, y(scratch * tick / 4), left, y(scratch * tick / 4), "axis");
  }
  for (const json_object& r : f["registers"]) {
    if (r["memory"] == "per_thread") continue;
    const u64 from = r["from_barrier"].get<u64>(), to = r["to_barrier"].get<u64>();
    const double begin = r["offset"].get<double>(), bytes = r["bytes"].get<double>();
    const double w = column * static_cast<double>(to - from + 1) - 4, h = y(begin + bytes) - y(begin) - 1.5;
    const std::string name = concat({"r", r["register"].get<u64>(), " ", writer_of(code, r["register"].get<u64>())});
    d.box(left + column * static_cast<double>(from) + 2, y(begin) + .75, w, h, "register",
          concat({name, ": ", size_text(bytes), " at ", size_text(begin)}));
    if (h > 12)
      d.text(left + column * static_cast<double>(from) + 8, y(begin) + h / 2 + 5,
             fitted(concat({name, " ", size_text(bytes)}), w - 10), "mono tiny");
  }
  return d.done();
}

std::string pages_of(const json_object& plan) {
  const json_object &states = plan["states"], &lasting = states["persistent"], &passing = states["transient"];
  const u64 pages = lasting["pages"].get<u64>(), kept = passing["pages"].get<u64>(),
            most = std::max<u64>(std::max(pages, kept), 1);
  const double of_page = std::max(lasting["page_bytes"].get<double>(), 1.0), of_passing = passing["page_bytes"];
  const u64 each = (most + 63) / 64, columns = (most + each - 1) / each;
  const double column = picture_width / static_cast<double>(columns), tallest = std::max(of_page, of_passing),
               high = 70;
  drawing d(picture_width, kept ? 2 * high + 20 : high + 8,
            concat({"Pages of a sequence: ", pages, " persistent, ", kept, " transient"}));
  const auto put = [&](double base, double bytes, u64 count, const char* classes, const char* name) {
    for (u64 c = 0; c * each < count; ++c)
      d.box(column * static_cast<double>(c) + 1, base + high * (1 - bytes / tallest), column - 2,
            high * bytes / tallest, classes,
            concat({each > 1 ? concat({each, " pages, "}) : concat({"page ", c, ", "}), name, ": ", size_text(bytes),
                    each > 1 ? " each" : ""}));
  };
  put(0, lasting["page_bytes"].get<double>(), pages, "states", "persistent");
  put(high + 12, of_passing, kept, "state-passing", "transient");
  std::string out = d.done();
  const u64 positions = states["page_positions"].get<u64>();
  return element("p",
                 concat({"A sequence of ", plan["capacity"]["context"].get<u64>(), " positions keeps ", pages,
                         pages == 1 ? " page of " : " pages of ", positions, " positions, ",
                         size_text(lasting["page_bytes"].get<double>()), " each, in ",
                         plan["capacity"]["kv"].get<std::string>(),
                         kept ? concat({"; below them ", kept, " transient parts (windows, recurrent states), ",
                                        size_text(of_passing), " each"})
                              : std::string(),
                         each > 1 ? concat({". A column stands for ", each, " pages"}) : std::string(),
                         ". Pages are taken as positions are fed."})) +
      out;
}

}  // namespace

std::string memory_section(const json_object& data) {
  const json_object &plan = data["inspect"]["plan"], &memory = plan["memory"];
  std::string out = "<section aria-labelledby=\"memory\"><h2 id=\"memory\">Memory</h2>\n";
  const double weights = data["memory"]["packed_weights"], states = memory["states"], act = memory["activations"];
  out += element("p",
                 concat({"For a sequence of ", plan["capacity"]["context"].get<u64>(), " positions, fed in chunks of ",
                         plan["capacity"]["chunk"].get<u64>(), ", the model takes ", size_text(weights + states + act),
                         ". The compiler knows this before anything runs."}));
  out += bar_of({{"weights", "weights", weights}, {"states", "states", states}, {"activations", "activations", act}},
                "Memory to scale");
  table t("Its parts", {"part", ">bytes", ">size", "is"});
  const auto row = [&](const char* name, double bytes, const char* what) {
    t.row({name, count_text(static_cast<u64>(bytes)), size_text(bytes), what});
  };
  row("weights", weights, "as they are packed in memory");
  row("states", states, "keys, values and recurrent states of one sequence at its longest");
  row("stream", memory["stream"], "the rows that go from layer to layer");
  row("scratch", memory["scratch"], "values between the steps of a layer: the arena below");
  row("per thread", memory["per_thread"], "what each thread computes for itself, once for every thread");
  row("rest of the activations",
      act - memory["stream"].get<double>() - memory["scratch"].get<double>() - memory["per_thread"].get<double>(),
      "ids, and inputs that layers get beside the stream");
  out += t.done();
  out += element("p",
                 concat({"The process had ", size_text(data["memory"]["peak"].get<double>()),
                         " at its peak: code, tokenizer and the file's pages too, but of states and scratch only what "
                         "the passes of this report used."}));

  out += element("h3", "The arena");
  out += element("p",
                 "Values of a layer share one piece of memory. A value lies in the same bytes as another only if they "
                 "are never there at the same time. Height is bytes, to scale, from the first one down; a dashed line "
                 "is the barrier after which its steps run.");
  const double scratch = std::max(memory["scratch"].get<double>(), 1.0);
  for (const json_object& code : plan["codes"]) {
    const char* const form = code["forms"].contains("prefill") ? "prefill" : "decode";
    const u64 rows = code["forms"][form]["rows"].get<u64>();
    const double shared = code["forms"][form]["shared_bytes"];
    if (shared == 0) continue;
    const bool small = shared < least_drawn * scratch;
    out += element("h4",
                   concat({code["name"].get<std::string>(), ", ", form, " of ", rows, rows == 1 ? " row: " : " rows: ",
                           size_text(shared), " of ", size_text(scratch), small ? ", too little to be drawn" : ""}));
    if (!small) out += arena_of(code, form, scratch);
  }
  out += element("h3", "Pages of a sequence") + pages_of(plan);
  return out + "</section>\n";
}

}  // namespace cke::tool::page
