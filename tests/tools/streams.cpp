// SPDX-License-Identifier: MIT
// streams.cpp: readers that go away, full disks, closed streams and Ctrl-C.
#include "command.hpp"

using namespace command;

namespace {

const std::vector<std::vector<std::string>> printing{{"run", tiny, "-p", "Once", "-n", "50"},
                                                     {"run", tiny, "-p", "Once", "-n", "50", "--ids"},
                                                     {"tokenize", tiny, "-p", "x"},
                                                     {"detokenize", tiny, "--tokens", "65,66"},
                                                     {"inspect", tiny},
                                                     {"inspect", tiny, "--json"},
                                                     {"build", tiny},
                                                     {"bench", tiny, "-p", "4", "-n", "0", "-r", "1"},
                                                     {"--version"},
                                                     {"run", "--help"}};

struct ends {
  int read = -1, write = -1;
  ends() {
    int both[2];
    REQUIRE(pipe2(both, O_CLOEXEC) == 0);
    read = both[0], write = both[1];
    fcntl(write, F_SETPIPE_SZ, 4096);
  }
  std::string rest() {
    close(write);
    std::string text;
    char part[4096];
    for (ssize_t n; (n = ::read(read, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
    close(read);
    return text;
  }
};

}  // namespace

TEST_CASE("nobody reads, the disk is full, or standard output is closed: one line, status 1") {
  REQUIRE(run_cke({"build", tiny}).status == 0);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  for (const auto& words : printing) {
    ends pipe;
    close(pipe.read);
    CHECK_REFUSED(run_cke(words, {.output = pipe.write}), "standard output");
    close(pipe.write);
    CHECK_REFUSED(run_cke(words, {.output = full}), "standard output");
    CHECK_REFUSED(run_cke(words, {.output = -1}), "standard output");
  }
  close(full);
}

TEST_CASE("a file opened while standard output is closed does not become it") {
  const scratch dir;
  const result whole = run_cke({"logits", tiny, "--tokens", "1,2,3", "-o", dir / "a.npy"});
  CHECK_SUCCESS(whole);
  CHECK_SUCCESS(run_cke({"logits", tiny, "--tokens", "1,2,3", "-o", dir / "b.npy"}, {.output = -1}));
  CHECK(content(dir / "a.npy") == content(dir / "b.npy"));
}

TEST_CASE("Ctrl-C stops an answer, not the chat") {
  // All tokens are nearly as likely, so some seed gives a long answer; the pipe is small, so the program waits in the
  // middle.
  std::vector<std::string> words{"chat", tiny, "--temp", "1000000", "-c", "4096", "--seed", ""};
  std::string uninterrupted;
  for (int seed = 1; uninterrupted.size() < 7000; ++seed) {
    REQUIRE(seed < 100);
    words.back() = std::to_string(seed);
    uninterrupted = run_cke(words, {.input = "Hi\n"}).out;
  }

  ends pipe;
  process chat(words, {.input = "Hi\nHi\n", .output = pipe.write});
  char first;
  REQUIRE(::read(pipe.read, &first, 1) == 1);
  usleep(300000);  // it fills the pipe meanwhile
  chat.send(SIGINT);
  usleep(50000);
  const std::string both = first + pipe.rest();
  const result r = chat.wait();
  CHECK_MESSAGE(r.status == 0, show(r));
  std::size_t common = 0;
  while (common < both.size() && common < uninterrupted.size() && both[common] == uninterrupted[common]) ++common;
  CHECK(common > 1000);                         // the first answer began as ever,
  CHECK(common < uninterrupted.size() - 1000);  // was cut,
  CHECK(both.size() > common + 100);            // and the second came
}

TEST_CASE("Ctrl-C ends run, as any program") {
  ends pipe;
  process run({"run", tiny, "-p", "Once", "--temp", "1000000", "-n", "4000", "-c", "4096"}, {.output = pipe.write});
  char first;
  REQUIRE(::read(pipe.read, &first, 1) == 1);
  run.send(SIGINT);
  CHECK(pipe.rest().size() < 10000);
  CHECK(run.wait().signal == SIGINT);
}
