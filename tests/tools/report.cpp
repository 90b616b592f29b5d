// SPDX-License-Identifier: MIT
// report.cpp: cke report: one page that is whole, asks nobody for anything, and says what it was given. How fast the
// model is, is no test.
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "page_reader.hpp"

using namespace command;
using nlohmann::json;

namespace {

std::string report(const fs::path& to, std::vector<std::string> words = {}, const std::string& model = tiny) {
  words.insert(words.begin(), {"report", model, "-o", to, "-r", "1", "-n", "3", "-c", "256"});
  const result r = run_cke(words);
  CHECK_SUCCESS(r);
  CHECK(r.out == to.string() + "\n");
  return content(to);
}

// Whether there is the page, or what was to become it.
bool has_page(const scratch& dir, std::string_view name) {
  for (const auto& file : fs::directory_iterator(dir / ""))
    if (file.path().filename().string().starts_with(name)) return true;
  return false;
}

}  // namespace

TEST_CASE("report: one page that is whole and asks for nothing") {
  const scratch dir;
  const std::string html = report(dir / "r.html", {"-p", "Once upon a time"});
  const page_reader page = check_whole(html);
  CHECK_FALSE(has_page(dir, "r.html.p"));
  CHECK(page.count("h2") == 5);
  CHECK(page.links == std::vector<std::string>{"#summary", "#time", "#memory", "#program", "#environment"});
  CHECK(page.count("svg") >= 9);  // two timelines of each pass, roofline, tokens, memory, arenas, pages, three blocks
}

TEST_CASE("report: its JSON is what cke inspect says, and what the page shows") {
  const scratch dir;
  const std::string html = report(dir / "r.html", {"--threads", "2"});
  const json data = json::parse(page_reader(html).data);
  const result inspect = run_cke({"inspect", tiny, "--plan", "--json", "-c", "256"});
  CHECK(data["inspect"] == json::parse(inspect.out));

  CHECK(data["environment"]["threads"] == 2);
  CHECK(data["prompt"] == json{{"text", nullptr}, {"ids", 64}});
  CHECK(data["answer"]["ns"].size() == 3);
  CHECK(data["parity"].is_null());
  CHECK(data["training"].is_null());
  REQUIRE(data["passes"].size() == 2);
  const std::string text = text_of(html);
  std::vector<std::size_t> waits;  // of a thread, at each barrier
  for (const json& pass : data["passes"]) {
    const bool token = pass["name"] == "token";
    waits.push_back(static_cast<std::size_t>(
        std::ranges::count_if(pass["threads"][0], [](const json& step) { return step[1] == -1; })));
    CHECK(pass["rows"] == (token ? 1 : 64));
    CHECK(pass["position"] == (token ? 64 : 0));
    CHECK(pass["threads"].size() == 2);
    double share = 0;
    std::uint64_t calls = 0;
    const json* most = nullptr;
    for (const json& op : pass["ops"]) {
      share += op["share"].get<double>();
      CHECK(text.find(op["op"].get<std::string>()) != text.npos);
      if (!op.contains("kind")) continue;
      calls += op["calls"].get<std::uint64_t>();
      if (!most || op["ns"] > (*most)["ns"]) most = &op;
      CHECK((op["limit"] == "") == (op["least_ns"] == 0));
      CHECK((op["kind"] != "matrix" || op["operations"] > 0));
    }
    CHECK(share == doctest::Approx(1).epsilon(0.05));
    CHECK(calls == data["inspect"]["plan"]["steps"]["all"]);
    CHECK(text.find("Its longest operation is " + (*most)["op"].get<std::string>() + ":") != text.npos);
    // A thread's steps come one after the other, within the pass.
    for (const json& thread : pass["threads"]) {
      double before = 0;
      for (const json& step : thread) {
        CHECK(step[3] >= before - 1);
        CHECK(step[4] >= step[3]);
        before = step[4];
      }
    }
    // A token multiplies by each matrix once: the sum of the operations is known from the shapes.
    double multiplied = 0, operations = 0;
    for (const json& code : data["inspect"]["plan"]["codes"])
      for (const json& w : code["weights"])
        if (w["shape"].size() == 2 && code["name"] != "header")
          multiplied += w["shape"][0].get<double>() * w["shape"][1].get<double>() * code["layers"].get<double>();
    for (const json& op : pass["ops"])
      if (op.value("kind", "") == "matrix") operations += op["operations"].get<double>();
    if (token) CHECK(operations == doctest::Approx(2 * multiplied));
    else CHECK(operations > 32 * multiplied);
  }
  CHECK(data["passes"][0]["name"] == "token");
  const std::string barriers =
      "A token passes " + std::to_string(waits[0]) + " barriers, a chunk of a prompt " + std::to_string(waits[1]) + ".";
  CHECK_MESSAGE(text.find(barriers) != text.npos, barriers);
}

TEST_CASE("report: the fixed parts of a memory plan and a program are drawn") {
  const scratch dir;
  const std::string html = report(dir / "r.html"), text = text_of(html);
  for (const char* part :
       {"Block 0 \xC3\x97 5 layers: 0\xE2\x80\x93"
        "4",
        "Before the layers", "After the layers", "matmul_act_quantize", "before fusion", "barrier", "swiglu",
        "matmul + act_mul + quantize", "at its peak", "Pages of a sequence", "GB/s", "avx", "qwen3"})
    CHECK_MESSAGE(text.find(part) != text.npos, part);
}

TEST_CASE("report: names of files and texts are shown, and do nothing") {
  const scratch dir;
  const std::string name = "<img src=x onerror=alert(1)>&\"'{{data}}\xFF\x01";
  dir.copy(tiny, name);
  const std::string prompt = "</script><script>alert(2)</script> {{sections}}";
  const std::string html = report(dir / "r.html", {"-p", prompt}, dir / name);
  const page_reader page = checked(html);
  CHECK(page.count("img") == 0);
  CHECK(page.count("script") == 1);
  CHECK(page.count("main") == 1);
  CHECK(html.find("&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;{{data}}") != html.npos);
  CHECK(html.find('\xFF') == html.npos);
  CHECK(html.find('\x01') == html.npos);
  const json data = json::parse(page.data);
  CHECK(data["prompt"]["text"] == prompt);
  CHECK(data["inspect"]["file"].get<std::string>().find("<img src=x") != std::string::npos);
}

TEST_CASE("report: beside a reference, and the first value that is not as there") {
  const scratch dir;
  const result dump = run_cke({"dump", tiny, "--tokens", "5,9,1,200", "-o", dir / "reference"});
  REQUIRE_MESSAGE(dump.status == 0, show(dump));
  const std::string same = report(dir / "same.html", {"--reference", dir / "reference"});
  CHECK(checked(same).count("h2") == 6);
  CHECK(same.find("values are right.") != same.npos);
  const json parity = json::parse(page_reader(same).data)["parity"];
  CHECK(parity["ids"] == 4);
  CHECK(parity["without"] == 0);
  for (const json& v : parity["values"]) CHECK(v["largest"] == 0);

  // More ids than the rows of one block of logits: values come in parts.
  std::string many = "1";
  for (int i = 2; i <= 40; ++i) many += ',' + std::to_string(i);
  CHECK_SUCCESS(run_cke({"dump", tiny, "--tokens", many, "-o", dir / "many"}));
  const json of_many =
      json::parse(page_reader(report(dir / "many.html", {"--reference", dir / "many"})).data)["parity"];
  CHECK(of_many["ids"] == 40);
  CHECK(of_many["values"].size() == parity["values"].size());
  for (const json& v : of_many["values"]) CHECK_MESSAGE(v["largest"] == 0, v.dump());

  const json index = json::parse(content(dir / "reference/index.json"));
  const auto attend =
      std::ranges::find_if(index["values"], [](const json& v) { return v["layer"] == 2 && v["name"] == "attend"; });
  REQUIRE(attend != index["values"].end());
  const fs::path file = dir / "reference" / (*attend)["file"].get<std::string>();
  std::string bytes = content(file);
  const float far = 7;
  bytes.replace(bytes.size() - sizeof far, sizeof far, reinterpret_cast<const char*>(&far), sizeof far);
  write(file, bytes);
  const std::string other = report(dir / "other.html", {"--reference", dir / "reference"});
  CHECK(other.find("The first value that differs is 2.attend, which attend writes.") != other.npos);
  checked(other);
}

TEST_CASE("report: the loss of a training run") {
  const scratch dir;
  write(dir / "log.jsonl", R"({"step":1,"loss":3.5,"grad_norm":1,"lr":0.001}
{"step":2,"loss":3.25,"grad_norm":1,"lr":0.001,"held_out_loss":3.3,"sample":"a <b> day"}
)");
  const std::string html = report(dir / "r.html", {"--log", dir / "log.jsonl"});
  CHECK(html.find("has 2 steps: the loss went from 3.5000 to 3.2500.") != html.npos);
  CHECK(html.find("the loss of what was held out") != html.npos);
  CHECK(html.find("a &lt;b&gt; day") != html.npos);
  checked(html);
}

TEST_CASE("report: refuses what it cannot tell") {
  const scratch dir;
  const auto refused = [&](std::vector<std::string> words, int status = 1) {
    words.insert(words.begin(), {"report", tiny, "-o", dir / "r.html", "-r", "1", "-c", "32"});
    const result r = run_cke(words);
    CHECK_MESSAGE(is_refusal(r, status), show(r));
    CHECK_FALSE(has_page(dir, "r.html"));
    return r.err;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    CHECK_MESSAGE(text.find(part) != text.npos, text);
  };
  has(run_cke({"report", tiny}).err, "--output is required");
  has(run_cke({"report", tiny, "-o", dir / "none/r.html"}).err,
      "r.html: expected a file that can be written, found No such file or directory");
  // The page is tried before the model is.
  fs::create_directory(dir / "folder");
  CHECK_REFUSED(run_cke({"report", dir / "none", "-o", dir / "folder"}),
                "folder: expected a file, or nothing, to be replaced");
  has(refused({"-p", ""}, 2), "expected a text, found nothing");
  has(refused({"-p", "Once upon a time there was a little dog who lived in a house near the sea and was never sad",
               "-n", "30"},
              2),
      "-p, -n: expected at most 32 tokens, prompt and answer; see -c, found ");
  has(refused({"-n", "1", "--reference", dir / "none"}), "none");
  has(refused({"-n", "1", "--log", dir / "none"}), "expected a readable file");
  write(dir / "log", "{\"step\":1,\"loss\":2}\n{\"step\":2}\n");
  has(refused({"-n", "1", "--log", dir / "log"}),
      "line 2: expected a step and its loss, as cke train --log writes them");
  write(dir / "log", "");
  has(refused({"-n", "1", "--log", dir / "log"}), "log: expected steps of cke train, found none");
}
