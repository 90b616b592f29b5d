// SPDX-License-Identifier: MIT
// bench.cpp: cke bench: its rows and fields in every form. How fast it is, is no test.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "command.hpp"
#include "page_reader.hpp"

using namespace command;
using nlohmann::json;

namespace {

// What a bench of the tiny model prints; few and short tests unless `words` say otherwise.
std::string bench(std::vector<std::string> words) {
  for (const auto& [option, value] : {std::pair{"-p", "8"}, std::pair{"-n", "4"}})  // given twice, it would be a list
    if (std::ranges::find(words, option) == words.end()) words.insert(words.begin(), {option, value});
  words.insert(words.begin(), {"bench", tiny, "-r", "2"});
  const result r = run_cke(words);
  CHECK_SUCCESS(r);
  return r.out;
}
json rows(std::vector<std::string> words) {
  words.insert(words.end(), {"-o", "json"});
  return json::parse(bench(words));
}
std::vector<std::string> names(const json& rows) {
  std::vector<std::string> out;
  for (const json& r : rows) out.push_back(r["test"]);
  return out;
}
// The cells of a CSV line: all quoted or none, quotes doubled.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') out.back() += line[++i];
    else if (line[i] == '"') quoted = !quoted;
    else if (line[i] == ',' && !quoted) out.emplace_back();
    else out.back() += line[i];
  }
  CHECK_FALSE(quoted);
  return out;
}
std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1)
    out.push_back(text.substr(at, end - at));
  return out;
}

}  // namespace

TEST_CASE("bench: llama-bench's fields, with numbers that agree") {
  const json all = rows({"-d", "0,3", "-t", "2"});
  CHECK(names(all) == std::vector<std::string>{"pp8", "tg4", "pp8 @ d3", "tg4 @ d3"});
  for (const json& r : all) {
    for (const char* text : {"build_commit", "cpu_info", "backends", "isa", "model_filename", "model_type", "type_k",
                             "type_v", "test", "test_time"})
      CHECK_FALSE(r.at(text).get<std::string>().empty());
    CHECK(r["model_filename"] == tiny);
    CHECK(r["model_n_params"] == 1181376);
    CHECK(r["model_size"].get<double>() >= 1.5 * 1181376);  // bf16 in 12 bits
    CHECK(r["model_size"].get<double>() < 1.6 * 1181376);
    CHECK(r["n_threads"] == 2);
    CHECK(r["n_ubatch"] == 512);
    CHECK(r["n_sequences"] == 1);
    CHECK(r["type_k"] == "f16");
    CHECK((r["n_prompt"] == 8) == (r["n_gen"] == 0));
    REQUIRE(r["samples_ns"].size() == 2);
    REQUIRE(r["samples_ts"].size() == 2);
    const double ids = r["n_prompt"].get<double>() + r["n_gen"].get<double>();
    double ns = 0, ts = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(r["samples_ts"][i].get<double>() ==
            doctest::Approx(ids * 1e9 / r["samples_ns"][i].get<double>()).epsilon(1e-4));
      ns += r["samples_ns"][i].get<double>() / 2, ts += r["samples_ts"][i].get<double>() / 2;
    }
    CHECK(r["avg_ns"].get<double>() == doctest::Approx(ns));
    CHECK(r["avg_ts"].get<double>() == doctest::Approx(ts));
    CHECK(r["stddev_ts"].get<double>() >= 0);
  }
}

TEST_CASE("bench: GB/s counts the weights of each pass, and the cache that is really there") {
  // Weights once, and 2 bytes for each of 2 kv heads, 32 + 32 dims, 5 layers, for every position seen.
  const double position = 2 * 2 * 64 * 5;
  const auto bytes = [](const json& r) { return r["avg_gbs"].get<double>() * r["avg_ns"].get<double>(); };
  const json all = rows({"-d", "100", "-b", "1,2"});
  const double weights = all[0]["model_size"].get<double>();
  CHECK(bytes(all[0]) == doctest::Approx(weights + 108 * position).epsilon(1e-3));
  CHECK(bytes(all[1]) == doctest::Approx(4 * weights + (101 + 102 + 103 + 104) * position).epsilon(1e-3));
  CHECK(bytes(all[2]) == doctest::Approx(4 * weights + 2 * (101 + 102 + 103 + 104) * position).epsilon(1e-3));
  const json wide = rows({"-d", "100", "--kv", "f32", "--format", "bf16"});
  CHECK(bytes(wide[0]) == doctest::Approx(weights + 108 * 2 * position).epsilon(1e-3));
}

TEST_CASE("bench: lists and ranges, each value a test") {
  CHECK(names(rows({"-p", "2-4,8", "-n", "0"})) == std::vector<std::string>{"pp2", "pp3", "pp4", "pp8"});
  CHECK(names(rows({"-p", "0", "-n", "2-8*2", "-n", "3"})) == std::vector<std::string>{"tg2", "tg4", "tg8", "tg3"});
  CHECK(names(rows({"-p", "0", "-d", "0-20+10"})) == std::vector<std::string>{"tg4", "tg4 @ d10", "tg4 @ d20"});
  const json threads = rows({"-p", "0", "-t", "1", "-t", "3"});
  REQUIRE(threads.size() == 2);
  CHECK(threads[0]["n_threads"] == 1);
  CHECK(threads[1]["n_threads"] == 3);
}

TEST_CASE("bench: sequences that generate together, and what a pass of them costs") {
  const json all = rows({"-b", "2,1,40", "-n", "5", "-d", "2"});
  CHECK(names(all) == std::vector<std::string>{"pp8 @ d2", "tg5 @ d2 b2", "tg5 @ d2", "tg5 @ d2 b40"});
  CHECK(all[0]["pass_cost"].is_null());
  CHECK(all[1]["n_sequences"] == 2);
  for (const json& r : all)
    CHECK(r["avg_ts"].get<double>() >=
          (r["n_prompt"].get<double>() + r["n_gen"].get<double>() * r["n_sequences"].get<double>()) * 1e9 /
              r["avg_ns"].get<double>() * 0.99);
  CHECK(all[1]["pass_cost"].get<double>() > 0);
  CHECK(all[2]["pass_cost"] == 1);
  const json alone = rows({"-b", "2,4"});
  CHECK(alone[1]["pass_cost"].is_null());  // nothing to compare with
  CHECK_FALSE(rows({"-b", "2"})[1].contains("pass_cost"));
}

TEST_CASE("bench: --peaks adds what the machine can do, and the share of it") {
  for (const json& r : rows({"--peaks"})) {
    for (const char* peak :
         {"peak_gbs", "peak_int8_gops", "peak_bf16_gops", "peak_f32_gops", "bound_ts", "bound_share"}) {
      CHECK(std::isfinite(r.at(peak).get<double>()));
      CHECK(r.at(peak).get<double>() > 0);
    }
    CHECK(r["bound_ts"].get<double>() * r["bound_share"].get<double>() > 0.1 * r["avg_ts"].get<double>());
  }
  CHECK_FALSE(rows({})[0].contains("peak_gbs"));
}

TEST_CASE("bench: --profile says where the time goes, and writes a trace that Chrome reads") {
  const scratch dir;
  const std::string file = dir / "trace.json";
  const result r =
      run_cke({"bench", tiny, "-p", "40", "-d", "5", "-t", "2", "-r", "2", "--profile", file, "-o", "json"});
  CHECK_SUCCESS(r);
  const json all = json::parse(r.out), trace = json::parse(content(file));
  std::set<std::string> ops;
  double share = 0, ns = 0, bytes = 0;
  for (const json& row : all) {
    if (row["test"] != "tg1 @ d5") continue;
    if (row["op"] == "all") {
      ns = row["ns"], bytes = row["bytes"];
      continue;
    }
    ops.insert(row["op"]), share += row["share"].get<double>(), ns -= row["ns"].get<double>(),
        bytes -= row["bytes"].get<double>();
  }
  for (const char* op : {"embedding", "qkv_matmul", "attend_quantize", "logits", "(waiting for threads)"})
    CHECK(ops.contains(op));
  CHECK(share == doctest::Approx(1).epsilon(0.01));
  CHECK(std::abs(ns) < 100);      // the rows add up to all
  CHECK(std::abs(bytes) < 1000);  // but for the embedding's row
  std::set<std::pair<int, int>> threads;
  int layers = 0;
  double end = 0;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    threads.emplace(e["pid"], e["tid"]);
    CHECK(e["ts"].get<double>() >= 0);
    CHECK(e["dur"].get<double>() >= 0);
    if (e["pid"] == 1 && e["tid"] == 0) {  // one thread, one thing at a time
      CHECK(e["ts"].get<double>() >= end - 0.01);
      end = e["ts"].get<double>() + e["dur"].get<double>();
    }
    if (e.contains("args")) layers = std::max(layers, e["args"]["layer"].get<int>() + 1);
  }
  CHECK(threads.size() >= 2);  // a chunk and a token, on one thread each where cpus are short
  CHECK(threads.size() <= 4);
  CHECK(layers == 5);
  CHECK_REFUSED(run_cke({"bench", tiny, "-p", "0", "--profile", dir / "no/such/file"}), "file");
}

TEST_CASE("bench: the other forms hold the same rows") {
  const std::vector<std::string> words{"-d", "0,3", "-b", "1,2", "--peaks", "-o"};
  const auto as = [&](const char* form) {
    std::vector<std::string> all = words;
    all.push_back(form);
    return lines(bench(all));
  };
  const std::vector<std::string> jsonl = as("jsonl"), csv = as("csv"), md = as("md");
  REQUIRE(jsonl.size() == 6);
  std::set<std::string> fields;
  const json first = json::parse(jsonl[0]);
  for (const auto& [key, value] : first.items())
    if (!value.is_array()) fields.insert(key);
  for (const std::string& line : jsonl) CHECK(json::parse(line).at("samples_ns").size() == 2);
  REQUIRE(csv.size() == 7);
  const std::vector<std::string> title = cells(csv[0]);
  CHECK(std::set<std::string>(title.begin(), title.end()) == fields);
  for (const std::string& line : csv) CHECK(cells(line).size() == fields.size());
  REQUIRE(md.size() == 8);
  CHECK(
      md[0] ==
      "| model | size | params | backend | threads | test | t/s | GB/s | cost of a pass | peak GB/s | of the bound |");
  for (const std::string& line : md) CHECK(std::ranges::count(line, '|') == 12);
  for (const std::string& line : md) CHECK(line.find("|  |") == line.npos);
}

TEST_CASE("bench -o html: one page that is whole, with the rounds, the roofline and the growth of what was asked") {
  const std::string html = bench({"-p", "4,32", "-d", "0,16,256", "-b", "1,2", "--peaks", "-t", "1", "-o", "html"});
  const page_reader page = check_whole(html);
  CHECK(page.links == std::vector<std::string>{"#summary", "#rounds", "#growth", "#environment"});
  const json rows = json::parse(page.data);
  CHECK(names(rows) ==
        std::vector<std::string>{"pp4", "pp32", "tg4", "tg4 @ b2", "pp4 @ d16", "pp32 @ d16", "tg4 @ d16",
                                 "tg4 @ d16 b2", "pp4 @ d256", "pp32 @ d256", "tg4 @ d256", "tg4 @ d256 b2"});
  // A picture of the rounds of each depth; and of prompts at three depths, depths of four tests, sequences at three.
  CHECK(page.count("svg") == 3 + 3 + 4 + 3);
  const std::string text = text_of(html);
  for (const json& r : rows) CHECK(text.find(r["test"].get<std::string>()) != text.npos);
  for (const char* part :
       {"pp4 reads ", "tg4 generates ", "peaks allow", "GOP/s in int8", "Longer prompts, from pp4 @ d16",
        "More tokens before, from tg4 @ b2", "More sequences together, from tg4", "of the limit", "round by round"})
    CHECK_MESSAGE(text.find(part) != text.npos, part);
  // The figures of a table are those of the rows: the second prompt's time of a token against the first's.
  const auto token = [&](std::size_t i, double ids) { return rows[i]["p50_ns"].get<double>() / ids; };
  char ratio[16];
  std::snprintf(ratio, sizeof ratio, "%.2f", token(1, 32) / token(0, 4));
  CHECK(html.find(std::string("<td class=\"number\">") + ratio + "</td>") != html.npos);
}

TEST_CASE("bench -o html: without peaks there is no limit, without lists no growth, and a name does nothing") {
  const scratch dir;
  const std::string name = "<img src=x onerror=alert(1)>&\"'{{data}}\xFF\x01";
  dir.copy(tiny, name);
  const result r = run_cke({"bench", dir / name, "-p", "8", "-n", "0", "-r", "1", "-o", "html"});
  CHECK_SUCCESS(r);
  const page_reader page = checked(r.out);
  CHECK(page.links == std::vector<std::string>{"#summary", "#rounds", "#environment"});
  CHECK(page.count("img") == 0);
  CHECK(page.count("script") == 1);
  CHECK(page.count("svg") == 0);  // one round is no course
  CHECK(r.out.find("of the limit") == r.out.npos);
  CHECK(r.out.find("&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;{{data}}") != r.out.npos);
  CHECK(run_cke({"bench", tiny, "-o", "html", "--profile", dir / "trace.json"}).err ==
        "cke: error: -o: expected md, csv, json or jsonl with --profile; cke report draws a profile, found html\n");
}

namespace {

// A baseline that a bench wrote, with its numbers changed.
struct gate {
  scratch dir;
  json before;
  std::vector<std::string> words{"bench", tiny, "-p", "8", "-n", "4", "-r", "3", "-t", "2"};

  gate() {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"-o", "json"});
    const result r = run_cke(all);
    CHECK_SUCCESS(r);
    before = json::parse(r.out);
  }
  result run(const json& baseline, std::vector<std::string> more = {}) const {
    write(dir / "before.json", baseline.dump());
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--baseline", dir / "before.json"});
    all.insert(all.end(), more.begin(), more.end());
    return run_cke(all);
  }
};
json times(json rows, double factor, double memory) {
  for (json& r : rows) {
    for (json& ns : r["samples_ns"]) ns = ns.get<double>() * factor;
    r["peak_memory"] = r["peak_memory"].get<double>() * memory;
  }
  return rows;
}

}  // namespace

TEST_CASE("bench --baseline: slower or larger ends with 1 and a table of what is") {
  const gate g;
  for (const json& r : g.before) {
    CHECK(r["p50_ns"] <= r["p95_ns"]);
    std::vector<double> ns = r["samples_ns"];
    std::ranges::sort(ns);
    CHECK(r["p50_ns"].get<double>() == doctest::Approx(ns[1]));
    CHECK(r["p95_ns"].get<double>() == doctest::Approx(ns[1] + 0.9 * (ns[2] - ns[1])));
    CHECK(r["peak_memory"] > 4e6);
  }
  CHECK_SUCCESS(g.run(times(g.before, 1e6, 100)));
  CHECK_SUCCESS(g.run(g.before, {"--tolerance", "100000%"}));

  const result slow = g.run(times(g.before, 1e-6, 100));
  CHECK(slow.status == 1);
  CHECK(lines(slow.out).size() == 4);  // the results all the same
  const std::vector<std::string> table = lines(slow.err);
  REQUIRE(table.size() == 7);
  CHECK(table[0] == "| test | threads | figure | baseline | now | change |");
  CHECK(table[2].starts_with("| pp8 | 2 | p50 | 0.000 ms | "));
  CHECK(table[5].starts_with("| tg4 | 2 | p95 | "));
  CHECK(table[6].find("before.json: baseline: expected nothing more than 3.0% beyond it, found 4 of 6 figures") !=
        std::string::npos);

  const result large = g.run(times(g.before, 1e6, 0.01), {"--tolerance", "50%", "-o", "jsonl"});
  CHECK(large.status == 1);
  for (const std::string& line : lines(large.out)) CHECK(json::parse(line).contains("peak_memory"));
  CHECK(large.err.find("| tg4 | 2 | peak memory | ") != large.err.npos);
  CHECK(large.err.find("more than 50% beyond it, found 2 of 6") != large.err.npos);
  // As far as it is allowed to be.
  CHECK(g.run(times(g.before, 1e6, 0.5), {"--tolerance", "300%"}).status == 0);
  CHECK(g.run(times(g.before, 1e6, 0.5), {"--tolerance", "20"}).status == 1);
}

TEST_CASE("bench --baseline: one of another model, machine or format is refused by name") {
  const gate g;
  for (const auto& [field, other] : {std::pair<const char*, json>{"model_type", "qwen3 1.18M q8_0"},
                                     {"model_n_params", 5},
                                     {"cpu_info", "a 486"},
                                     {"isa", "neon"},
                                     {"type_k", "f32"},
                                     {"n_ubatch", 64}}) {
    json changed = g.before;
    changed[1][field] = other;
    CHECK_REFUSED(g.run(changed), std::string("before.json: ") + field + ": expected ");
    changed[1].erase(field);
    CHECK_REFUSED(g.run(changed), std::string("before.json: ") + field + ": expected ");
  }
  CHECK_REFUSED(g.run(g.before, {"--format", "q8_0"}),
                "model_type: expected qwen3 1.18M q8_0, which is measured now, found");
  CHECK_REFUSED(g.run(json::array({g.before[0]})), "test tg4 with 2 threads: expected a row, found none");
  write(g.dir / "before.json", g.before.dump());
  CHECK_REFUSED(run_cke({"bench", tiny, "-p", "8", "-n", "4", "-t", "1", "--baseline", g.dir / "before.json"}),
                "test pp8 with 1 threads: expected a row, found none");
  json changed = g.before;
  changed[0].erase("peak_memory");
  CHECK_REFUSED(g.run(changed), "field peak_memory: expected a number of bytes");
  changed[0]["peak_memory"] = 1e9, changed[0]["samples_ns"] = {1, "x"};
  CHECK_REFUSED(g.run(changed), "field samples_ns: expected a list of times");
  CHECK_REFUSED(g.run(json::array()), "rows of cke bench");
  CHECK_REFUSED(g.run(json::array({5})), "field test");
  write(g.dir / "broken.json", "[{");
  CHECK_REFUSED(run_cke({"bench", tiny, "--baseline", g.dir / "broken.json"}), "broken.json");
  CHECK_REFUSED(run_cke({"bench", tiny, "--baseline", g.dir / "none.json"}), "none.json");
  CHECK(g.run(g.before, {"--tolerance", "x"}).err ==
        "cke: error: --tolerance: expected a percentage such as 3%, found \"x\"\n");
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--tolerance", "-1%"}, {"--tolerance", "nan"}, {"--profile", "x"}})
    CHECK(g.run(g.before, wrong).status == 2);
  CHECK(run_cke({"bench", tiny, "--tolerance", "3%"}).status == 2);
}
