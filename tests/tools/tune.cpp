// SPDX-License-Identifier: MIT
// tune.cpp: cke tune: the rule by which a value is kept, profiles that others find, the same bits, and Ctrl-C.
#include <fcntl.h>

#include <chrono>
#include <thread>

#include "../../tools/cke/tune_rule.hpp"
#include "command.hpp"

using namespace command;
using cke::tool::is_kept, cke::tool::is_lost, cke::tool::paired_times;

namespace {

// With so many threads no other test runs, so that the profile is this test's own.
const std::string threads = "3";
const setting patient{.seconds = 600};  // beside other work, rounds of three threads on two cpus take their time

struct tuned {
  scratch dir;
  fs::path out = dir / "p.yaml";

  std::vector<std::string> words(const char* seconds) const {
    return {"tune", tiny, "-t", threads, "-p", "8", "-n", "2", "--seconds", seconds, "-o", out.string()};
  }
};

std::string line_with(const std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE("tune: faster in all rounds but one and by more than 2 % in the median, and slower in nothing") {
  const auto times = [](std::vector<double> ratios) { return paired_times{std::move(ratios)}; };
  const paired_times fast = times({.9, .9, .9, .9, .9, .9, .9, .9}), same = times({1, 1, 1, 1, 1, 1, 1, 1}),
                     once_slow = times({.9, .9, 2, .9, .9, .9, .9, .9}), twice = times({.9, .9, 2, .9, .9, 2, .9, .9}),
                     little = times({.985, .985, .985, .985, .985, .985, .985, .985}),
                     slow = times({1.02, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02, 1.02});
  CHECK(fast.median() == .9);
  CHECK(times({.9, .8}).median() == doctest::Approx(.85));
  CHECK(is_kept({fast}));
  CHECK(is_kept({once_slow}));
  CHECK(is_kept({fast, same}));
  CHECK(is_kept({same, fast}));
  CHECK_FALSE(is_kept({twice}));
  CHECK_FALSE(is_kept({little}));
  CHECK_FALSE(is_kept({same}));
  CHECK_FALSE(is_kept({fast, slow}));
  CHECK_FALSE(is_kept({slow, fast}));
  CHECK_FALSE(is_lost({times({1.1})}));
  CHECK(is_lost({times({1.1, 1.1})}));
  CHECK_FALSE(is_lost({times({1.1, 1.1}), times({.9, .9})}));
  CHECK_FALSE(is_lost({times({})}));
}

TEST_CASE("tune: a table, a profile that other commands find, and the same logits") {
  const scratch dir;
  const auto logits = [&](const char* name) {
    CHECK_SUCCESS(
        command::run_cke({"logits", tiny, "-t", threads, "--tokens", "1,2,3,4,5,6,7", "-o", (dir / name).string()}));
    return content(dir / name);
  };
  const std::string before = logits("before.npy");
  const result r = command::run_cke({"tune", tiny, "-t", threads, "-p", "8", "-n", "2"}, patient);
  CHECK_SUCCESS(r);
  CAPTURE(r.out);
  const std::string sum = line_with(r.out, "logits SHA-256 ");
  CHECK(sum.size() == 15 + 64);
  for (const char* row : {"| prefillThreads | 2 | ", "| decodeThreads | 1 | ", "| unitsPerClaim | 4 | ",
                          "| hugePages | off | ", "| attentionDecode | streaming | "})
    CHECK(r.out.find(row) != r.out.npos);
  CHECK(r.out.find("not used") == r.out.npos);
  const std::string wrote = line_with(r.out, "wrote ");
  REQUIRE(wrote.size() > 6);
  const std::string path = wrote.substr(6);
  struct removed {
    std::string path;
    ~removed() { fs::remove(path); }
  } const at_end{path};
  CHECK(path.starts_with(shared_cache() + "/profiles/"));
  const std::string text = content(path);
  for (const char* part : {"version: 1\n", "kernelHints:\n", "  decodeThreads: ", "  tunedDevice: ", "  threads: 3\n",
                           "  benchmarkTokPerSec: "})
    CHECK_MESSAGE(text.find(part) != text.npos, text);

  const result found = command::run_cke({"inspect", tiny, "-t", threads, "--explain"});
  CHECK_SUCCESS(found);
  CHECK_MESSAGE(line_with(found.out, "  decodeThreads").find("profile " + path) != std::string::npos, found.out);
  const result other =
      command::run_cke({"inspect", tiny, "-t", "5", "--explain"});  // for another number of threads there is none
  CHECK(line_with(other.out, "  decodeThreads").find("default") != std::string::npos);
  const result run = command::run_cke({"run", tiny, "-t", threads, "-p", "Once", "-n", "1", "--verbose"});
  CHECK_MESSAGE(line_with(run.err, "cke: hints").find(path) != std::string::npos, show(run));
  CHECK(logits("after.npy") == before);
  CHECK(line_with(command::run_cke({"tune", tiny, "-t", threads, "-p", "8", "-n", "2", "--seconds", "1"}).out,
                  "logits SHA") == sum);
}

TEST_CASE("tune: Ctrl-C keeps what is known, and ends in good order") {
  const tuned t;
  const fs::path shown = t.dir / "out.txt";
  const auto interrupted_after = [&](const std::string& what) {
    const int fd = ::open(shown.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    process p(t.words("600"), {.output = fd, .seconds = 600});
    for (int i = 0; i < 20000 && content(shown).find(what) == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    p.send(SIGINT);
    const result r = p.wait();
    ::close(fd);
    CHECK_SUCCESS(r);
    return content(shown);
  };
  const std::string out = interrupted_after("| decodeThreads | ");
  CAPTURE(out);
  if (out.find("interrupted: ") != out.npos) {
    CHECK(out.find("| attentionDecode | ") == out.npos);
    const std::string text = content(t.out);
    CHECK(text.find("  prefillThreads: ") != text.npos);
    CHECK(text.find("  attentionDecode: ") == text.npos);
    const result read = command::run_cke({"inspect", tiny, "-t", threads, "--explain", "--hints", t.out.string()});
    CHECK_SUCCESS(read);
  }
  fs::remove(t.out);
  const std::string early = interrupted_after("| --- |");
  CAPTURE(early);
  CHECK(fs::exists(t.out) == (early.find("wrote ") != early.npos));
  CHECK((early.find("wrote ") != early.npos) != (early.find("nothing is known yet") != early.npos));
}

TEST_CASE("tune: the time that it is given is kept, and a profile that cannot be written is an error") {
  const tuned t;
  const result r = command::run_cke(t.words("1"));
  CHECK_SUCCESS(r);
  CHECK((r.out.find("wrote ") != r.out.npos) != (r.out.find("nothing is known yet") != r.out.npos));
  CHECK(is_refusal(command::run_cke({"tune", tiny, "-n", "0"}), 2));
  CHECK_REFUSED(command::run_cke({"tune", tiny, "-t", threads, "-o", (t.dir / "no/p.yaml").string()}),
                "no/p.yaml: expected a file that can be written, found No such file");
}
