// SPDX-License-Identifier: MIT
// bench.cpp: cke bench: its rows and fields in every form. How fast it is, is no test.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "command.hpp"

using namespace command;
using nlohmann::json;

namespace {

// What a bench of the tiny model prints; few and short tests unless `words` say otherwise.
std::string bench(std::vector<std::string> words) {
  for (const auto& [option, value] : {std::pair{"-p", "8"}, std::pair{"-n", "4"}})  // given twice, it would be a list
    if (std::ranges::find(words, option) == words.end()) words.insert(words.begin(), {option, value});
  words.insert(words.begin(), {"bench", tiny, "-r", "2"});
  const result r = cke(words);
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
  const result r = cke({"bench", tiny, "-p", "40", "-d", "5", "-t", "2", "-r", "2", "--profile", file, "-o", "json"});
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
  CHECK_REFUSED(cke({"bench", tiny, "-p", "0", "--profile", dir / "no/such/file"}), "file");
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
