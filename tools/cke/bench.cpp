// SPDX-License-Identifier: MIT
// bench.cpp: cke bench: tokens per second, in the columns of llama-bench.
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

using json_object = nlohmann::ordered_json;

struct test {
  u32 prompt, generate, depth;
  std::string name() const {
    const std::string what = prompt ? "pp" + std::to_string(prompt) : "tg" + std::to_string(generate);
    return depth ? what + " @ d" + std::to_string(depth) : what;
  }
};

// Ids without a pattern, the same every time; what they are does not change the speed.
std::vector<u32> some_ids(u32 count, u32 vocab) {
  std::vector<u32> ids(count);
  u64 state = 1;
  for (u32& id : ids) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    id = static_cast<u32>((state >> 33) % vocab);
  }
  return ids;
}

double seconds_of(conversation& c, const test& t, std::span<const u32> ids) {
  c.rewind(t.depth);
  const auto start = std::chrono::steady_clock::now();
  if (t.prompt) c.feed(ids);
  else
    for (const u32 id : ids) c.feed(id);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

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

// Every pass, of a token or of a chunk, reads the weights once, and the caches of all positions so far.
double bytes_read(const bench_args& args, const loaded_model& model, const conversation& c, const test& t) {
  const u64 step = t.prompt ? args.model.chunk : 1, end = u64{t.depth} + t.prompt + t.generate;
  double bytes = 0;
  for (u64 at = t.depth; at < end; at += step)
    bytes += static_cast<double>(model.engine->weight_bytes()) +
             static_cast<double>(model.engine->state_bytes()) * static_cast<double>(std::min(at + step, end)) /
                 c.context();
  return bytes;
}

json_object measure(const bench_args& args, const loaded_model& model, conversation& c, const test& t) {
  const std::vector<u32> before = some_ids(t.depth, model.engine->vocab_size());
  const std::vector<u32> ids = some_ids(t.prompt + t.generate, model.engine->vocab_size());
  c.rewind(0);
  if (t.depth) c.feed(before);
  seconds_of(c, t, ids);  // warm-up
  std::vector<double> ns, ts;
  for (u32 i = 0; i < args.repetitions; ++i) {
    const double seconds = seconds_of(c, t, ids);
    ns.push_back(std::round(seconds * 1e9));
    ts.push_back(static_cast<double>(ids.size()) / seconds);
  }
  json_object row{{"build_version", CKE_VERSION},
                  {"backend", "CPU"},
                  {"model_filename", args.model.path},
                  {"model_type", model.name},
                  {"model_size", model.engine->weight_bytes()},
                  {"model_n_params", model.engine->parameters()},
                  {"n_threads", model.engine->threads()},
                  {"n_ubatch", args.model.chunk},
                  {"type_k", info(model.engine->kv()).name},
                  {"type_v", info(model.engine->kv()).name},
                  {"n_prompt", t.prompt},
                  {"n_gen", t.generate},
                  {"n_depth", t.depth},
                  {"test", t.name()},
                  {"avg_ns", std::llround(mean(ns))},
                  {"stddev_ns", std::llround(deviation(ns))},
                  {"avg_ts", mean(ts)},
                  {"stddev_ts", deviation(ts)}};
  row["avg_gbs"] = bytes_read(args, model, c, t) / mean(ns);
  row["samples_ns"] = ns;
  row["samples_ts"] = ts;
  return row;
}

std::string fixed(double x, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

// Rows are written as they are measured.
class table {
 public:
  explicit table(std::string form) : form_(std::move(form)) {
    if (form_ == "md")
      put("| model | size | params | backend | threads | test | t/s | GB/s |\n"
          "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |\n");
    if (form_ == "json") put("[");
  }
  void row(const json_object& r) {
    const std::string text = r.dump(-1, ' ', false, json_object::error_handler_t::replace);
    if (form_ == "jsonl") put(text + '\n');
    else if (form_ == "json") put((count_ ? ",\n " : "\n ") + text);
    else if (form_ == "csv") put_csv(r);
    else put_md(r);
    ++count_;
  }
  void end() {
    if (form_ == "json") put("\n]\n");
  }

 private:
  // Samples are for the other forms.
  void put_csv(const json_object& r) {
    std::string names, values;
    for (const auto& [key, value] : r.items()) {
      if (value.is_array()) continue;
      names += (names.empty() ? "" : ",") + key;
      std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      for (std::size_t at = 0; (at = text.find('"', at)) != text.npos; at += 2) text.insert(at, 1, '"');
      values += (values.empty() ? "\"" : ",\"") + text + '"';
    }
    put((count_ ? "" : names + '\n') + values + '\n');
  }
  static void put_md(const json_object& r) {
    std::string line = "|";
    const auto add = [&](const std::string& text) { line += ' ' + text + " |"; };
    add(r["model_type"]);
    add(bytes_text(r["model_size"].get<double>()));
    add(short_count(r["model_n_params"].get<u64>()));
    add(r["backend"]);
    add(r["n_threads"].dump());
    add(r["test"]);
    add(fixed(r["avg_ts"], 2) + " ± " + fixed(r["stddev_ts"], 2));
    add(fixed(r["avg_gbs"].get<double>(), 1));
    put(line + '\n');
  }

  std::string form_;
  u64 count_ = 0;
};

}  // namespace

void bench(const bench_args& args) {
  std::vector<test> tests;
  for (const u32 depth : args.depth) {
    for (const u32 n : args.prompt)
      if (n) tests.push_back({n, 0, depth});
    for (const u32 n : args.generate)
      if (n) tests.push_back({0, n, depth});
  }
  if (tests.empty()) throw Error(errc::usage, {}, "bench", "something to measure: -p or -n", "nothing");
  model_args wanted = args.model;
  u64 context = wanted.context;
  for (const test& t : tests) context = std::max(context, u64{t.prompt} + t.generate + t.depth);
  wanted.context = static_cast<u32>(std::min<u64>(context, ~u32{0}));
  const loaded_model model = load_model(wanted, needs::weights);
  const auto c = model.engine->open();
  table out(args.output);
  for (const test& t : tests) out.row(measure(args, model, *c, t));
  out.end();
}

}  // namespace cke::tool
