// SPDX-License-Identifier: MIT
// bench.cpp: cke bench: tokens per second, in the columns of llama-bench.
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <ctime>

#include "baseline.hpp"
#include "bench.hpp"
#include "bench_table.hpp"
#include "cost.hpp"
#include "cpu_name.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

// A prompt, or `generate` ids for each of `sequences` that decode together, after `depth` earlier ids.
struct test {
  u32 prompt, generate, sequences, depth;

  std::string name() const {
    std::string s = prompt ? "pp" + std::to_string(prompt) : "tg" + std::to_string(generate);
    if (depth || sequences > 1) s += " @";
    if (depth) s += " d" + std::to_string(depth);
    if (sequences > 1) s += " b" + std::to_string(sequences);
    return s;
  }
  u32 ids() const { return prompt + generate * sequences; }
  // Calls f(pass) for each of its passes, which compute the logits of the last id of each sequence.
  template <class F> void each_pass(u32 chunk, F f) const {
    for (u32 at = 0; at < generate; ++at) f(program_cost::pass{depth + at, sequences, sequences, sequences});
    for (u32 at = 0; at < prompt; at += chunk) {
      const u32 n = std::min(chunk, prompt - at);
      f(program_cost::pass{depth + at, n, at + n == prompt ? 1u : 0u});
    }
  }
};

struct samples {
  test of;
  std::vector<double> ns, least_ns;  // least: time that the peaks measured then allow
  machine_peaks peaks{};             // the greatest seen

  double passes() const { return of.prompt ? 1 : of.generate; }
};

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}
double deviation(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += (v - mean(x)) * (v - mean(x));
  return x.size() > 1 ? std::sqrt(sum / static_cast<double>(x.size() - 1)) : 0;
}
double median(const std::vector<double>& x) { return percentile(x, 0.5); }

using conversations = std::vector<std::unique_ptr<any_session>>;

// The prompt, or the next id of each sequence.
void feed(any_model& e, const conversations& all, const test& t, std::span<const u32> ids) {
  if (t.prompt || t.sequences == 1) return all[0]->feed(ids);
  std::vector<turn> turns(t.sequences);
  for (u32 s = 0; s < t.sequences; ++s) turns[s] = {all[s].get(), ids.subspan(s, 1)};
  e.feed_together(turns);
}
// Rewinds and feeds what is missing, so that recurrent states are restored too.
void go_back(any_session& c, u32 depth) {
  c.rewind(depth);
  c.feed(std::span<const u32>{});
}
// Calls between() after each pass of generation; its time does not count.
template <class F> double ns_of(any_model& e, const conversations& all, const test& t, std::span<const u32> ids,
                                F between) {
  for (u32 s = 0; s < t.sequences; ++s) go_back(*all[s], t.depth);
  const std::size_t step = t.prompt ? t.prompt : t.sequences;
  std::chrono::duration<double, std::nano> ns{};
  for (std::size_t at = 0; at < ids.size(); at += step) {
    const auto start = std::chrono::steady_clock::now();
    feed(e, all, t, ids.subspan(at, step));
    ns += std::chrono::steady_clock::now() - start;
    if (t.generate) between();
  }
  return ns.count();
}

// One loaded model and the tests at one depth.
class runner {
 public:
  runner(const bench_args& args, u32 threads, u64 context, u32 logit_rows)
      : args_(args), model_(load_for_bench(args, threads, context, logit_rows)) {
    const any_model& e = *model_.engine;
    const model_options planned{.context = e.context(), .chunk = chunk(), .logit_rows = logit_rows};
    cost_.emplace(json_object::parse(model_.door->plan_json(planned)), e.weight_bytes());
    if (args.peaks) probe_ = peak_probe_of(e.isa(), e.threads());
    // Touches every page of the cache once, to exclude page faults from the tests.
    model_.engine->open()->feed(some_ids(e.context(), e.vocab_size()));
  }

  // Alternates the tests in each repetition, so that the machine's drift affects all of them.
  std::vector<samples> run(const std::vector<test>& tests) {
    const u32 depth = tests.front().depth, vocab = model_.engine->vocab_size();
    conversations talks;
    talks.push_back(model_.engine->open());
    if (depth) talks[0]->feed(some_ids(depth, vocab));
    std::vector<samples> all;
    for (const test& t : tests) {
      all.push_back({t, {}, {}});
      while (talks.size() < t.sequences) talks.push_back(talks[0]->fork());
    }
    for (const samples& s : all)  // warms up
      ns_of(*model_.engine, talks, s.of, some_ids(s.of.generate ? s.of.sequences : s.of.prompt, vocab), [] {});
    for (u32 repetition = 0; repetition < args_.repetitions; ++repetition)
      for (samples& s : all) {
        machine_peaks now = probe_ ? probe_->measure() : machine_peaks{};
        double turns = 0, ns_of_byte = 0;
        s.ns.push_back(ns_of(*model_.engine, talks, s.of, some_ids(s.of.ids(), vocab), [&] {
          if (takes_turns()) ++turns, ns_of_byte += 1 / probe_->read_turn();
        }));
        if (turns > 0) now.read_gbs = turns / ns_of_byte;
        if (probe_) add_bound(s, now);
      }
    return all;
  }

  // The fields of a row that no test changes.
  json_object facts() const {
    const any_model& e = *model_.engine;
    return {{"build_commit", CKE_VERSION},
            {"cpu_info", cpu_name()},
            {"backends", "CPU"},
            {"isa", e.isa()},
            {"model_filename", args_.model.path},
            {"model_type", model_.name},
            {"model_size", e.weight_bytes()},
            {"model_n_params", e.parameters()},
            {"n_batch", chunk()},
            {"n_ubatch", chunk()},
            {"n_threads", e.threads()},
            {"type_k", info(e.kv()).name},
            {"type_v", info(e.kv()).name}};
  }

  // `alone`: the samples of the same test with one sequence, or null.
  json_object row(const samples& s, const samples* alone) const {
    std::vector<double> ns, ts;
    for (const double x : s.ns) ns.push_back(std::round(x)), ts.push_back(s.of.ids() * 1e9 / x);
    double bytes = 0;
    s.of.each_pass(chunk(), [&](const program_cost::pass& p) { bytes += cost_->bytes(p); });
    json_object r = facts();
    r.update({{"n_prompt", s.of.prompt},
              {"n_gen", s.of.generate},
              {"n_depth", s.of.depth},
              {"n_sequences", s.of.sequences},
              {"test", s.of.name()},
              {"test_time", utc_now()},
              {"avg_ns", std::llround(mean(ns))},
              {"stddev_ns", std::llround(deviation(ns))},
              {"p50_ns", std::llround(percentile(ns, 0.5))},
              {"p95_ns", std::llround(percentile(ns, 0.95))},
              {"avg_ts", mean(ts)},
              {"stddev_ts", deviation(ts)},
              {"avg_gbs", bytes / mean(ns)},
              {"peak_memory", peak_memory()}});
    if (args_.sequences.size() > 1) {
      r["pass_cost"] = nullptr;
      if (alone) r["pass_cost"] = median(s.ns) / s.passes() / (median(alone->ns) / alone->passes());
    }
    if (probe_) {
      std::vector<double> share;
      for (std::size_t i = 0; i < s.ns.size(); ++i) share.push_back(s.least_ns[i] / s.ns[i]);
      r["peak_gbs"] = s.peaks.read_gbs, r["peak_int8_gops"] = s.peaks.int8_gops;
      r["peak_bf16_gops"] = s.peaks.bf16_gops, r["peak_f32_gops"] = s.peaks.f32_gops;
      r["bound_ts"] = s.of.ids() * 1e9 / median(s.least_ns), r["bound_share"] = median(share);
    }
    r["samples_ns"] = ns, r["samples_ts"] = ts;
    return r;
  }

 private:
  u32 chunk() const { return *model_.hints.chunk; }
  // Whether memory is measured between passes, as its speed may change from one to the next. Not of a model that a
  // cache may hold, from which measuring would drive it out.
  bool takes_turns() const { return probe_ && model_.engine->weight_bytes() > machine_probe<>::default_bytes; }
  void add_bound(samples& s, const machine_peaks& now) const {
    double least = 0;
    s.of.each_pass(chunk(), [&](const program_cost::pass& p) { least += cost_->least_ns(p, now); });
    s.least_ns.push_back(least);
    for (double machine_peaks::* peak :
         {&machine_peaks::read_gbs, &machine_peaks::int8_gops, &machine_peaks::bf16_gops, &machine_peaks::f32_gops})
      s.peaks.*peak = std::max(s.peaks.*peak, now.*peak);
  }

  const bench_args& args_;
  loaded_model model_;
  std::optional<program_cost> cost_;
  std::optional<peak_probe> probe_;
};

// The tests at one depth, prompts first, as llama-bench orders them.
std::vector<test> tests_at(const bench_args& args, u32 depth) {
  std::vector<test> tests;
  for (const u32 n : args.prompt)
    if (n) tests.push_back({n, 0, 1, depth});
  for (const u32 n : args.generate)
    for (const u32 sequences : args.sequences)
      if (n) tests.push_back({0, n, sequences, depth});
  return tests;
}

}  // namespace

std::vector<u32> some_ids(u32 count, u32 vocab) {
  std::vector<u32> ids(count);
  u64 state = 1;
  for (u32& id : ids) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    id = static_cast<u32>((state >> 33) % vocab);
  }
  return ids;
}

std::string utc_now() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::strftime(text, sizeof text, "%FT%TZ", gmtime_r(&now, &parts));
  return text;
}
u64 peak_memory() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<u64>(used.ru_maxrss) * 1024;
}

loaded_model load_for_bench(const bench_args& args, u32 threads, u64 context, u32 logit_rows) {
  model_args wanted = args.model;
  wanted.threads = threads;
  wanted.context = static_cast<u32>(std::min<u64>(context, ~u32{0}));
  return load_model(wanted, needs::weights, logit_rows);
}

void bench(const bench_args& args) {
  if (args.profile && args.output == "html")
    throw Error(errc::usage, {}, "-o", "md, csv, json or jsonl with --profile; cke report draws a profile", "html");
  if (args.profile) return profile(args);
  u64 context = args.model.context;
  for (const u32 depth : args.depth) {
    const std::vector<test> tests = tests_at(args, depth);
    if (tests.empty()) throw Error(errc::usage, {}, "bench", "something to measure: -p or -n", "nothing");
    for (const test& t : tests) context = std::max(context, u64{t.depth} + t.prompt + t.generate);
  }
  const u32 most = *std::ranges::max_element(args.sequences);
  std::optional<baseline> before;
  if (args.baseline) before.emplace(*args.baseline);
  bench_table out(args.output);
  for (const u32 threads : args.threads) {
    runner r(args, threads, context, most);
    if (before)
      for (const u32 depth : args.depth)
        for (const test& t : tests_at(args, depth)) before->check(r.facts(), t.name());
    for (const u32 depth : args.depth) {
      const std::vector<samples> all = r.run(tests_at(args, depth));
      for (const samples& s : all) {
        const auto one = std::ranges::find_if(all, [&](const samples& o) {
          return o.of.generate && o.of.generate == s.of.generate && o.of.sequences == 1;
        });
        const json_object row = r.row(s, one == all.end() ? nullptr : &*one);
        out.row(row);
        if (before) before->compare(row, args.tolerance);
      }
    }
  }
  out.end();
  if (before) before->finish(args.tolerance);
}

}  // namespace cke::tool
