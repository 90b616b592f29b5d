// SPDX-License-Identifier: MIT
// profile.cpp: cke bench --profile: records what each thread does in a prefill chunk and in a decoded token.
#include <chrono>
#include <fstream>
#include <map>

#include "bench.hpp"
#include "bench_table.hpp"
#include "cost.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

struct record {
  u32 code, step;
  u64 begin, end;
};
// By thread; a pass allocates nothing.
using records = std::vector<std::vector<record>>;

void take(void* user, u32 thread, u32 code, u32 step, u64 begin, u64 end) {
  auto& list = (*static_cast<records*>(user))[thread];
  if (list.size() < list.capacity()) list.push_back({code, step, begin, end});
}

struct profiled {
  std::string test;
  program_cost::pass pass;
  double ns;  // from call to return
  records threads;
};

// The fastest of several passes over the same ids.
profiled fastest_pass(const bench_args& args, const loaded_model& model, any_session& c, std::string test,
                      const program_cost::pass& p) {
  profiled best{std::move(test), p, 0, {}};
  const std::vector<u32> ids = some_ids(p.rows, model.engine->vocab_size());
  for (u32 i = 0; i <= args.repetitions; ++i) {
    records now(model.engine->threads());
    for (auto& list : now) list.reserve(1 << 16);
    c.rewind(p.position);
    c.feed(std::span<const u32>{});
    model.engine->watch({take, &now});
    const auto start = std::chrono::steady_clock::now();
    c.feed(ids);
    const std::chrono::duration<double, std::nano> ns = std::chrono::steady_clock::now() - start;
    model.engine->watch({});
    // Pass 0 is the warm-up.
    if (i == 1 || (i > 1 && ns.count() < best.ns)) best.ns = ns.count(), best.threads = std::move(now);
  }
  return best;
}

// One row per operation, longest first: the mean over the threads, so that shares add up to 1.
void put_table(const profiled& p, const program_cost& cost, bench_table& out) {
  struct sums {
    u64 calls{};
    double ns{}, bytes{};
  };
  std::map<std::string, sums> ops;
  const auto worked = std::ranges::count_if(p.threads, [](const auto& list) { return !list.empty(); });
  const double threads = static_cast<double>(worked);
  double told = 0;
  for (const auto& list : p.threads)
    for (const record& r : list) {
      const bool waits = r.step == tracer::waiting, first = &list == &p.threads.front();
      sums& s = ops[waits ? "(waiting for threads)" : cost.name(r.code, r.step)];
      const double ns = static_cast<double>(r.end - r.begin) / threads;
      s.ns += ns, told += ns, s.calls += first;
      if (first && !waits) s.bytes += cost.bytes(r.code, r.step, p.pass);
    }
  ops["(between steps)"] = {1, std::max(0.0, p.ns - told), 0};
  std::vector<std::pair<std::string, sums>> sorted(ops.begin(), ops.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  sorted.insert(sorted.begin(), {"all", {1, p.ns, cost.bytes(p.pass)}});
  for (const auto& [op, s] : sorted)
    out.row({{"test", p.test},
             {"op", op},
             {"calls", s.calls},
             {"ns", std::llround(s.ns)},
             {"share", s.ns / p.ns},
             {"bytes", std::llround(s.bytes)},
             {"gbs", s.bytes / s.ns}});
}

// The format of chrome://tracing and ui.perfetto.dev: a process per pass, a row per thread.
json_object trace_events(const std::vector<profiled>& passes, const program_cost& cost) {
  json_object events = json_object::array();
  for (std::size_t pid = 0; pid < passes.size(); ++pid) {
    const profiled& p = passes[pid];
    events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", pid}, {"args", {{"name", p.test}}}});
    u64 start = ~u64{};
    for (const auto& list : p.threads)
      if (!list.empty()) start = std::min(start, list.front().begin);
    for (std::size_t tid = 0; tid < p.threads.size(); ++tid) {
      u32 layers = 0;  // started so far
      for (const record& r : p.threads[tid]) {
        const bool body = r.code > 0 && r.code + 1 < cost.codes(), waits = r.step == tracer::waiting;
        layers += body && r.step == 0;
        json_object event{{"name", waits ? "waiting" : cost.name(r.code, r.step)},
                          {"ph", "X"},
                          {"pid", pid},
                          {"tid", tid},
                          {"ts", static_cast<double>(r.begin - start) / 1e3},
                          {"dur", static_cast<double>(r.end - r.begin) / 1e3}};
        if (body) event["args"]["layer"] = layers - 1;
        events.push_back(std::move(event));
      }
    }
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
  if (prompt) passes.push_back(fastest_pass(args, model, *c, "pp" + std::to_string(prompt) + at, {depth, prompt, 1}));
  passes.push_back(fastest_pass(args, model, *c, "tg1" + at, {depth, 1, 1}));

  std::ofstream file(*args.profile, std::ios::binary | std::ios::trunc);
  file << trace_events(passes, cost).dump() << '\n';
  if (!file.flush()) throw Error(errc::file, *args.profile, {}, "a file that can be written", std::strerror(errno));
  bench_table out(args.output);
  for (const profiled& p : passes) put_table(p, cost, out);
  out.end();
}

}  // namespace cke::tool
