// SPDX-License-Identifier: MIT
// report.cpp: cke report: inspects, measures and compares a model, and writes all of it as one HTML page.
#include <sys/utsname.h>

#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <thread>

#include <cke/io/new_file.hpp>

#include "baseline.hpp"
#include "bench.hpp"
#include "comparison.hpp"
#include "cost.hpp"
#include "cpu_name.hpp"
#include "inspected.hpp"
#include "kernel_facts.hpp"
#include "report_sections.hpp"
#include "rooms.hpp"
#include "stepper.hpp"
#include "terminal.hpp"
#include "traced_pass.hpp"

namespace cke::tool {
namespace {

constexpr u32 ids_without_prompt = 64;

// The kinds of work of a program's operations, by name.
std::map<std::string, std::string> kinds_of(const json_object& plan) {
  std::map<std::string, std::string> kinds;
  for (const json_object& code : plan["codes"])
    for (const json_object& i : code["instructions"]) kinds.emplace(i["op"].get<std::string>(), page::kind_of(code, i));
  return kinds;
}

// Rows of [code, step, layer, begin, end], ns from the start of the pass; step -1: a wait.
json_object threads_of(const traced_pass& p, u32 codes) {
  json_object threads = json_object::array();
  const u64 start = p.start();
  for (const auto& list : p.threads) {
    json_object& rows = threads.emplace_back(json_object::array());
    each_step(list, codes, [&](const traced_step& r, i32 layer) {
      const i64 step = r.waits() ? -1 : static_cast<i64>(r.step);
      rows.push_back({r.code, step, layer, r.begin - start, r.end - start});
    });
  }
  return threads;
}

json_object pass_facts(const char* name, const traced_pass& p, const program_cost& cost, const machine_peaks& peaks,
                       const std::map<std::string, std::string>& kinds) {
  struct limit {
    double operations{}, ns{};
    std::map<std::string, double> by{};
  };
  std::map<std::string, limit> limits;
  if (!p.threads.empty())
    each_step(p.threads.front(), cost.codes(), [&](const traced_step& r, i32 layer) {
      if (r.waits()) return;
      const auto b = cost.step_bound(r.code, r.step, layer < 0 ? 0 : static_cast<u32>(layer), p.pass, peaks);
      limit& l = limits[cost.name(r.code, r.step)];
      l.operations += b.operations, l.ns += b.ns;
      if (*b.by) l.by[b.by] += b.ns;
    });
  json_object ops = json_object::array();
  for (const op_time& t : op_times(p, cost)) {
    const limit& l = limits[t.op];
    const auto most = std::ranges::max_element(l.by, {}, [](const auto& x) { return x.second; });
    json_object row{{"op", t.op}, {"calls", t.calls}, {"ns", t.ns}, {"share", t.ns / p.ns}, {"bytes", t.bytes}};
    if (const auto kind = kinds.find(t.op); kind != kinds.end()) row["kind"] = kind->second;
    row.update({{"operations", l.operations}, {"least_ns", l.ns}, {"limit", most == l.by.end() ? "" : most->first}});
    ops.push_back(std::move(row));
  }
  return {{"name", name},
          {"rows", p.pass.rows},
          {"position", p.pass.position},
          {"ns", p.ns},
          {"least_ns", cost.least_ns(p.pass, peaks)},
          {"bytes", cost.bytes(p.pass)},
          {"ops", std::move(ops)},
          {"threads", threads_of(p, cost.codes())}};
}

std::string joined(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

// Which kernel each operation got, and why.
json_object kernel_rows(const json_object& inspect, std::string_view isa) {
  struct use {
    std::set<std::string> formats;
    std::set<std::string> why;
    u64 steps{};
  };
  std::map<std::string, use> uses;
  for (const json_object& code : inspect["plan"]["codes"])
    for (const json_object& i : code["instructions"]) {
      use& u = uses[i["op"]];
      u.steps += code["layers"].get<u64>();
      for (const json_object& slot : i["weights"]) {
        const json_object& w = code["weights"][slot.get<std::size_t>()];
        const std::string format = w["format"];
        u.formats.insert(format);
        if (w["shape"].size() < 2) u.why.insert("vectors are kept in f32");
        else
          u.why.insert(inspect["stored"].contains(format)
                           ? "matrices are in " + format + " in the file"
                           : "--format " + inspect["format"].get<std::string>() + " made " + format + " at load");
      }
    }
  json_object rows = json_object::array();
  for (const kernel_facts& k : all_kernels()) {
    const auto u = uses.find(std::string(k.operation));
    if (u == uses.end()) continue;
    rows.push_back({{"op", k.operation},
                    {"computes", k.computes},
                    {"formats", u->second.formats},
                    {"isa", isa},
                    {"steps", u->second.steps},
                    {"why", u->second.why.empty() ? "it has no weights" : joined(u->second.why)}});
  }
  return rows;
}

// What was fed, generated and measured.
class measured {
 public:
  measured(const report_args& args, const json_object& inspect)
      : args_(args),
        model_(load_model(args.model, args.prompt ? needs::text : needs::weights)),
        cost_(inspect["plan"], model_.engine->weight_bytes()),
        kinds_(kinds_of(inspect["plan"])),
        ids_(args.prompt ? model_.tokens->encode(*args.prompt, {.parse_special = true, .add_special = true})
                         : some_ids(std::min(ids_without_prompt, room()), model_.engine->vocab_size())) {
    if (ids_.empty()) throw Error(errc::usage, {}, "-p", "a text of at least one token", "none");
    if (u64{ids_.size()} + after() > model_.engine->context())
      throw Error(errc::usage, {}, "-p, -n",
                  concat({"at most ", model_.engine->context(), " tokens, prompt and answer; see -c"}),
                  concat({u64{ids_.size()} + after()}));
    const auto session = model_.engine->open();
    const u32 chunk = inspect["plan"]["capacity"]["chunk"];
    const std::span<const u32> first = std::span(ids_).first(std::min<std::size_t>(ids_.size(), chunk));
    const traced_pass prompt =
        fastest_pass(*model_.engine, *session, first, {0, static_cast<u32>(first.size()), 1}, args.repetitions);
    session->feed(std::span(ids_).subspan(first.size()));
    const u32 position = session->position(), next = greedy_token(session->logits());
    const traced_pass token =
        fastest_pass(*model_.engine, *session, std::span(&next, 1), {position, 1, 1}, args.repetitions);
    session->rewind(position);
    session->feed(std::span<const u32>{});
    generate(*session);
    memory_ = peak_memory();  // before the peaks are measured, which takes a large buffer
    measure_peaks();
    passes_ = {pass_facts("token", token, cost_, peaks_, kinds_), pass_facts("prompt", prompt, cost_, peaks_, kinds_)};
  }

  // Adds what it has to the report.
  void put(json_object& to) const {
    const any_model& e = *model_.engine;
    utsname system{};
    ::uname(&system);
    to["environment"] = {{"cke", CKE_VERSION},
                         {"time", utc_now()},
                         {"processor", cpu_name()},
                         {"processors", std::thread::hardware_concurrency()},
                         {"instruction set", e.isa()},
                         {"system", concat({system.sysname, " ", system.release, " ", system.machine})},
                         {"compiler of this command", __VERSION__},
                         {"threads", e.threads()},
                         {"context", e.context()},
                         {"passes that were traced", args_.repetitions}};
    to["memory"] = {{"packed_weights", e.weight_bytes()}, {"peak", memory_}};
    to["peaks"] = {{"read_gbs", peaks_.read_gbs},
                   {"int8_gops", peaks_.int8_gops},
                   {"bf16_gops", peaks_.bf16_gops},
                   {"f32_gops", peaks_.f32_gops}};
    to["kernels"] = kernel_rows(to["inspect"], e.isa());
    to["kernel_choice"] =
        concat({"The model is compiled for ", e.isa(),
                "; the richest instruction set that this "
                "processor has is ",
                isa_of_machine(),
                ". For each operation the compiler takes the kernel of its weights\xE2\x80\x99 format "
                "on that set, or on the next smaller one that has it."});
    to["prompt"] = {{"text", args_.prompt ? json_object(*args_.prompt) : json_object()}, {"ids", ids_.size()}};
    to["answer"] = answer_;
    to["passes"] = passes_;
  }

 private:
  u32 room() const { return model_.engine->context() - std::min(model_.engine->context() - 1, after()); }
  // A token is traced even if none is to be generated.
  u32 after() const { return std::max(args_.generate, 1u); }
  void measure_peaks() {
    const peak_probe probe = peak_probe_of(model_.engine->isa(), model_.engine->threads());
    for (u32 i = 0; i < 3; ++i) {
      const machine_peaks now = probe.measure();
      for (double machine_peaks::* peak :
           {&machine_peaks::read_gbs, &machine_peaks::int8_gops, &machine_peaks::bf16_gops, &machine_peaks::f32_gops})
        peaks_.*peak = std::max(peaks_.*peak, now.*peak);
    }
  }
  void generate(any_session& session) {
    std::vector<double> ns;
    std::vector<u32> ids;
    for (u32 n = 0; n < args_.generate; ++n) {
      const u32 id = greedy_token(session.logits());
      ids.push_back(id);
      const auto start = std::chrono::steady_clock::now();
      session.feed(std::span(&id, 1));
      ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
    }
    answer_ = {{"text", args_.prompt ? json_object(model_.tokens->decode(ids)) : json_object()},
               {"ids", ids.size()},
               {"ns", ns},
               {"p50_ns", ns.empty() ? 0 : percentile(ns, 0.5)},
               {"p95_ns", ns.empty() ? 0 : percentile(ns, 0.95)}};
  }

  const report_args& args_;
  loaded_model model_;
  program_cost cost_;
  std::map<std::string, std::string> kinds_;
  std::vector<u32> ids_;
  machine_peaks peaks_{};
  u64 memory_ = 0;
  json_object answer_, passes_;
};

// What the steps write beside a reference, as cke bisect compares them, but to the end.
json_object parity_of(const report_args& args) {
  const dump_directory reference(*args.reference);
  model_args whole = args.model;
  whole.chunk = 0;  // all ids in one pass
  opened_stepper model(whole, false);
  json_object values = json_object::array();
  u64 without = 0;
  value_parts parts;
  model.run(
      reference.tokens(), value_filter(model.steps(), {}, {}),
      [&](const model_step&, const dumped_value& v, u32, std::span<const float> rows) {
        const dumped_value* const wanted = reference.find(v.layer, v.name);
        if (wanted) check_shape(v, *wanted, reference);
        const auto found = parts.add(v, rows);
        if (!found) return true;
        if (!wanted) return ++without > 0;
        const difference d = difference_of(*found, reference.read(*wanted), v.width, args.tolerance);
        const auto number = [](double x) { return std::isfinite(x) ? json_object(x) : json_object(); };
        values.push_back({{"layer", v.layer},
                          {"name", v.name},
                          {"op", v.op},
                          {"largest", number(d.largest)},
                          {"relative", number(d.relative)},
                          {"cosine", number(d.cosine)},
                          {"wrong", d.wrong}});
        return true;
      },
      [](const model_step&, bool) { return true; });
  if (values.empty()) throw Error(errc::config_mismatch, reference.path(), "values", "one that this model has", "none");
  return {{"reference", reference.path()},
          {"ids", reference.tokens().size()},
          {"tolerance", args.tolerance},
          {"without", without},
          {"values", std::move(values)}};
}

// The lines of a log of cke train.
json_object training_of(const std::string& path) {
  const std::string text = file_text(path);
  json_object steps = json_object::array();
  u64 line = 0;
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    ++line;
    const json_object row = json_object::parse(text.begin() + static_cast<std::ptrdiff_t>(at),
                                               text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    const auto finite = [&](const char* key) { return row.contains(key) && row[key].is_number(); };
    if (!row.is_object() || !finite("step") || !finite("loss") ||
        (row.contains("held_out_loss") && !finite("held_out_loss")) ||
        (row.contains("sample") && !row["sample"].is_string()))
      throw Error(errc::malformed, path, concat({"line ", line}), "a step and its loss, as cke train --log writes them",
                  "something else");
    steps.push_back(row);
  }
  if (steps.empty()) throw Error(errc::malformed, path, {}, "steps of cke train", "none");
  return {{"log", path}, {"steps", std::move(steps)}};
}

}  // namespace

// The JSON: inspect (what cke inspect --plan --json prints), environment, memory, peaks, kernels, prompt, answer,
// passes, and parity and training or null.
void report(const report_args& args) {
  new_file file(args.output, 0, new_file::existing::replaced);  // throws now rather than after the work
  json_object data{{"cke_report", 1}, {"inspect", inspected({.model = args.model, .plan = true})}};
  if (!data["inspect"].contains("plan"))
    throw Error(errc::unsupported, args.model.path, "MODEL", "a model of texts", "a vision tower alone");
  json_object training;
  if (args.log) training = training_of(*args.log);
  measured(args, data["inspect"]).put(data);
  data["parity"] = args.reference ? parity_of(args) : json_object();
  data["training"] = std::move(training);
  const std::string text = page::report_page(data);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
  put(args.output + '\n');
}

}  // namespace cke::tool
