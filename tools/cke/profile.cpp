// SPDX-License-Identifier: MIT
// profile.cpp: cke bench --profile: records what each thread does in a prefill chunk and in a decoded token.
#include <cmath>
#include <fstream>

#include "bench.hpp"
#include "bench_table.hpp"
#include "cost.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "traced_pass.hpp"

namespace cke::tool {
namespace {

struct profiled {
  std::string test;
  traced_pass of;
};

// One row per operation, longest first.
void put_table(const profiled& p, const program_cost& cost, bench_table& out) {
  std::vector<op_time> rows = op_times(p.of, cost);
  rows.insert(rows.begin(), {"all", 1, p.of.ns, cost.bytes(p.of.pass)});
  for (const op_time& s : rows)
    out.row({{"test", p.test},
             {"op", s.op},
             {"calls", s.calls},
             {"ns", std::llround(s.ns)},
             {"share", s.ns / p.of.ns},
             {"bytes", std::llround(s.bytes)},
             {"gbs", s.bytes / s.ns}});
}

// The format of chrome://tracing and ui.perfetto.dev: a process per pass, a row per thread.
json_object trace_events(const std::vector<profiled>& passes, const program_cost& cost) {
  json_object events = json_object::array();
  for (std::size_t pid = 0; pid < passes.size(); ++pid) {
    const profiled& p = passes[pid];
    events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", pid}, {"args", {{"name", p.test}}}});
    const u64 start = p.of.start();
    for (std::size_t tid = 0; tid < p.of.threads.size(); ++tid)
      each_step(p.of.threads[tid], cost.codes(), [&](const traced_step& r, i32 layer) {
        json_object event{{"name", r.waits() ? "waiting" : cost.name(r.code, r.step)},
                          {"ph", "X"},
                          {"pid", pid},
                          {"tid", tid},
                          {"ts", static_cast<double>(r.begin - start) / 1e3},
                          {"dur", static_cast<double>(r.end - r.begin) / 1e3}};
        if (layer >= 0) event["args"]["layer"] = layer;
        events.push_back(std::move(event));
      });
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

}  // namespace

void profile(const bench_args& args) {
  const u32 depth = args.depth.front(), longest = args.prompt.front();
  const loaded_model model =
      load_for_bench(args, args.threads.front(), std::max(u64{args.model.context}, u64{depth} + longest + 1), 1);
  const u32 chunk = *model.hints.chunk, prompt = std::min(longest, chunk);
  const any_model& e = *model.engine;
  const program_cost cost(json_object::parse(model.door->plan_json({.context = e.context(), .chunk = chunk})),
                          e.weight_bytes());
  const auto c = e.open();
  if (depth) c->feed(some_ids(depth, e.vocab_size()));
  const std::string at = depth ? " @ d" + std::to_string(depth) : "";
  std::vector<profiled> passes;
  const auto pass_of = [&](const std::string& test, u32 rows) {
    passes.push_back(
        {test + at, fastest_pass(e, *c, some_ids(rows, e.vocab_size()), {depth, rows, 1}, args.repetitions)});
  };
  if (prompt) pass_of("pp" + std::to_string(prompt), prompt);
  pass_of("tg1", 1);

  std::ofstream file(*args.profile, std::ios::binary | std::ios::trunc);
  file << trace_events(passes, cost).dump() << '\n';
  if (!file.flush()) throw Error(errc::file, *args.profile, {}, "a file that can be written", std::strerror(errno));
  bench_table out(args.output);
  for (const profiled& p : passes) put_table(p, cost, out);
  out.end();
}

}  // namespace cke::tool
