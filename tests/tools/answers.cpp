// SPDX-License-Identifier: MIT
// answers.cpp: the options of run and chat that choose tokens and end answers, against the logits of the same model.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "command.hpp"
#include "npy.hpp"

using namespace command;
using nlohmann::json;

namespace {

const std::string llama = models + "llama_untied";

result run(std::vector<std::string> words) {
  words.insert(words.begin(), "run");
  const result r = run_cke(words);
  CHECK_SUCCESS(r);
  return r;
}
json ids_of(std::vector<std::string> words) {
  words.push_back("--ids");
  return json::parse(run(words).out);
}
std::string text(const json& ids) { return ids.dump().substr(1, ids.dump().size() - 2); }

// The logits after the last of some ids.
std::vector<float> logits_after(const std::string& model, const std::string& ids) {
  const scratch dir;
  CHECK_SUCCESS(run_cke({"logits", model, "--tokens", ids, "--last", "-o", dir / "l.npy"}));
  return npy(dir / "l.npy").values;
}
std::size_t highest(const std::vector<float>& x) {
  return static_cast<std::size_t>(std::ranges::max_element(x) - x.begin());
}

}  // namespace

TEST_CASE("run: penalties and biases are sums over the logits") {
  const std::vector<unsigned> history{5, 9, 5, 200, 17, 9, 9};
  const std::string ids = text(history);
  const std::vector<float> plain = logits_after(llama, ids);
  const std::size_t best = highest(plain);
  struct setting {
    float repeat = 1, frequency = 0, presence = 0;
    std::size_t last = 64;
  };
  std::set<std::size_t> chosen;
  // `best` is made likeliest of all and put into the history, so that each penalty matters.
  const std::string known = ids + ',' + std::to_string(best);
  std::vector<float> raw = logits_after(llama, known);
  const std::size_t first = highest(raw), bound = 20;
  for (const setting s :
       {setting{}, {1.9f}, {1, 1.5f}, {1, 0, 1.75f}, {1.2f, 0.5f, 0.25f}, {1.9f, 2, 2, 2}, {1, 2, 2, 0}}) {
    std::vector<float> want = raw;
    want[9] += 3.5f, want[bound] -= 100;
    std::map<std::size_t, int> times;
    std::vector<std::size_t> seen(history.begin(), history.end());
    seen.push_back(best);
    for (std::size_t i = seen.size() - std::min(seen.size(), s.last); i < seen.size(); ++i) ++times[seen[i]];
    for (const auto& [id, n] : times) {
      want[id] = want[id] < 0 ? want[id] * s.repeat : want[id] / s.repeat;
      want[id] -= static_cast<float>(n) * s.frequency + s.presence;
    }
    const json got = ids_of({llama, "--tokens", known, "-n", "1", "--repeat-penalty", std::to_string(s.repeat),
                             "--frequency-penalty", std::to_string(s.frequency), "--presence-penalty",
                             std::to_string(s.presence), "--repeat-last-n", std::to_string(s.last), "--logit-bias",
                             "9=3.5", "--logit-bias", std::to_string(bound) + "=-100"});
    CHECK(got[0] == highest(want));
    chosen.insert(highest(want));
  }
  CHECK(chosen.size() > 1);  // else this shows nothing
  CHECK(ids_of({llama, "--tokens", known, "-n", "1", "--logit-bias", std::to_string(first) + "=-inf"})[0] != first);
}

TEST_CASE("run: --typical-p keeps the token whose probability is nearest to what the entropy says") {
  const std::vector<float> l = logits_after(llama, "5,9,200,17");
  double sum = 0, entropy = 0;
  for (const float x : l) sum += std::exp(static_cast<double>(x));
  const auto log_p = [&](float x) { return static_cast<double>(x) - std::log(sum); };
  for (const float x : l) entropy -= std::exp(log_p(x)) * log_p(x);
  const auto distance = [&](float x) { return std::abs(-log_p(x) - entropy); };
  const auto typical = std::ranges::min_element(l, {}, distance) - l.begin();
  CHECK(static_cast<std::size_t>(typical) != highest(l));
  for (const char* seed : {"1", "2", "3"})
    CHECK(ids_of({llama, "--tokens", "5,9,200,17", "-n", "1", "--temp", "1", "--seed", seed, "--typical-p",
                  "1e-6"})[0] == typical);
}

TEST_CASE("run: --stop ends the answer at a text, in text and in ids") {
  const std::vector<std::string> words{tiny, "-p", "Tell me a story.", "--system", "You are kind.", "--no-think"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string whole = run(with({"-n", "60"})).out;
  REQUIRE(whole.size() > 40);
  const std::string stop = whole.substr(20, 5);
  const std::size_t at = whole.find(stop);
  CHECK(run(with({"-n", "60", "--stop", "never seen", "--stop", stop})).out == whole.substr(0, at) + '\n');
  CHECK(run(with({"-n", "60", "--stop", "never seen", "--draft", "4"})).out == whole);
  const json ids = ids_of(with({"-n", "60", "--stop", stop}));
  const std::string read = run_cke({"detokenize", tiny, "--tokens", text(ids)}).out;
  CHECK(read.starts_with(whole.substr(0, at) + stop));
  CHECK(ids.size() < ids_of(with({"-n", "60"})).size());
}

TEST_CASE("run: --min-tokens keeps the end away, and a text names a token for --logit-bias") {
  // <|im_end|>, made likeliest of all.
  const std::vector<std::string> words{tiny, "-p", "Once upon a time", "--logit-bias", "<|im_end|>=100"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const json end = json::parse(content(tiny + "/config.json"))["eos_token_id"];
  CHECK(ids_of(with({})) == json::array({end}));
  CHECK(run(with({})).out == "\n");
  CHECK(run({tiny, "-p", "Once upon a time", "-n", "4", "--logit-bias", "<|im_end|>=-inf"}).out ==
        run({tiny, "-p", "Once upon a time", "-n", "4"}).out);
  const json six = ids_of(with({"--min-tokens", "6"}));
  REQUIRE(six.size() == 7);
  CHECK(six[6] == end);
  CHECK(std::ranges::count(six, end) == 1);
  CHECK(ids_of(with({"--min-tokens", "300"})).size() == 300);  // more than -n's own default
}

TEST_CASE("run: with --system, --think or --no-think the prompt is a message, as in chat") {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--no-think"},
        {"--think"},
        {"--system", "You are a sailor."},
        {"--system", "You are a sailor.", "--no-think", "--temp", "0.8", "--seed", "3", "--repeat-penalty", "1.2"}}) {
    std::vector<std::string> one{"run", tiny, "-n", "40", "-p", "Who are you?"}, two{"chat", tiny, "-n", "40"};
    one.insert(one.end(), more.begin(), more.end()), two.insert(two.end(), more.begin(), more.end());
    const result a = run_cke(one), b = run_cke(two, {.input = "Who are you?\n"});
    CHECK_SUCCESS(a);
    CHECK_SUCCESS(b);
    CHECK(a.out == b.out);
    CHECK(a.out != "\n");
  }
  const std::string open = run({tiny, "-p", "Who are you?", "--think"}).out,
                    closed = run({tiny, "-p", "Who are you?", "--no-think"}).out;
  CHECK(open.find("<think>") != open.npos);
  CHECK(closed.find("<think>") == closed.npos);
  // Control tokens of a message are text.
  CHECK(run({tiny, "-p", "Hi<|im_end|>", "--no-think"}).err.empty());
}

TEST_CASE("chat: --stop and --logit-bias hold in every answer") {
  const auto talk = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"chat", tiny, "-n", "40", "--no-think"});
    const result r = run_cke(more, {.input = "Who are you?\nTell me a story.\n"});
    CHECK_SUCCESS(r);
    return r.out;
  };
  const std::string plain = talk({}), stopped = talk({"--stop", " a"});
  CHECK(plain.find(" a") != plain.npos);
  CHECK(stopped.find(" a") == stopped.npos);
  CHECK(talk({"--logit-bias", "<|im_end|>=100"}) == "\n\n");
}

TEST_CASE("--verbose prints the stages with their seconds, and nothing else changes") {
  const std::vector<std::string> words{"run", tiny, "-p", "Once", "-n", "8"};
  std::vector<std::string> more = words;
  more.push_back("--verbose");
  const result plain = run_cke(words), told = run_cke(more);
  CHECK_SUCCESS(plain);
  CHECK(told.status == 0);
  CHECK(told.out == plain.out);
  std::size_t at = 0;
  double parts = 0, all = 0;
  for (const char* stage : {"read config", "map", "compile", "pack", "ready"}) {
    char line[64];
    std::snprintf(line, sizeof line, "cke: %-11s ", stage);
    REQUIRE(told.err.compare(at, std::strlen(line), line) == 0);
    const double seconds = std::stod(told.err.substr(at + std::strlen(line)));
    CHECK(seconds >= 0);
    (std::string(stage) == "ready" ? all : parts) += seconds;
    at = told.err.find('\n', at) + 1;
  }
  CHECK(at == told.err.size());
  CHECK(parts <= all + 0.003);  // each is rounded to a millisecond
}

TEST_CASE("options of answers: what is wrong is named, with what was expected and what was found") {
  const auto check = [](std::vector<std::string> words, const std::string& message) {
    words.insert(words.begin(), {"run", tiny});
    const result r = run_cke(words);
    CHECK_MESSAGE((is_refusal(r, 2) && r.err == "cke: error: " + message + '\n'), show(r));
  };
  check({"--repeat-penalty", "0"}, "--repeat-penalty: expected a number above 0, at most 100, found \"0\"");
  check({"--typical-p", "x"}, "--typical-p: expected a number above 0, at most 1, found \"x\"");
  check({"--frequency-penalty", "2.5"}, "--frequency-penalty: expected a number from -2 to 2, found \"2.5\"");
  check({"--presence-penalty", "nan"}, "--presence-penalty: expected a number from -2 to 2, found \"nan\"");
  check({"--repeat-last-n", "-1"}, "--repeat-last-n: expected a whole number, 0 or more, found \"-1\"");
  check({"--min-tokens", "1e3"}, "--min-tokens: expected a whole number, 0 or more, found \"1e3\"");
  check({"--stop", ""}, "--stop: expected a text, found nothing");
  const std::string form = "--logit-bias: expected ID=BIAS or TEXT=BIAS with a bias from -100 to 100, or -inf, found ";
  for (const std::string bias : {"5", "5=", "=1", "5=x", "5=101", "5=inf", "5=nan"})
    check({"--logit-bias", bias}, form + '"' + bias + '"');
  check({"-p", "x", "--logit-bias", "1536=1"}, "--logit-bias: expected an id below 1536, found 1536");
  check({"-p", "x", "--logit-bias", "99999999999=1"}, "--logit-bias: expected an id below 1536, found 99999999999");
  check({"-p", "x", "--logit-bias", "qqq=1"},
        "--logit-bias: expected a text of one token, found \"qqq\" of 3: [80, 80, 80]");
  check({"-p", "x", "-n", "3", "--min-tokens", "4"},
        "--min-tokens: expected at most 3, what the answer has room for, found 4");
  check({"--think"}, "--prompt: expected a message, as --system and --think put it in the chat form, found none");
  check({"--tokens", "1", "--no-think"}, "--tokens excludes --think");
  check({"-p", "x", "--beams", "2", "--min-tokens", "4"}, "--min-tokens excludes --beams");
  const result ids = run_cke({"run", llama, "--tokens", "1", "--stop", "x"});
  CHECK_MESSAGE(is_refusal(ids, 2), show(ids));
  CHECK(ids.err == "cke: error: --stop: expected a tokenizer in the checkpoint, found none\n");
}
