// SPDX-License-Identifier: MIT
// serve.cpp: cke serve before it serves: what it refuses, and that it says so at once.
#include "command.hpp"

using namespace command;

TEST_CASE("an address that others can reach needs keys, or the word that it does not") {
  for (const char* host : {"0.0.0.0", "192.0.2.1", "::"}) {
    const result r = run_cke({"serve", tiny, "--host", host});
    CHECK_MESSAGE((is_refusal(r, 2) && r.err.find("--api-key-file, or --insecure") != r.err.npos), show(r));
  }
  for (const char* host : {"localhost", "example.com", "127.0.0.1:80", "", "256.0.0.1"}) {
    const result r = run_cke({"serve", tiny, "--host", host});
    CHECK_MESSAGE(is_refusal(r, 2), show(r));
  }
}

TEST_CASE("keys that are none, and files that are none") {
  const scratch dir;
  write(dir / "short", "abc\n");
  write(dir / "empty", "\n");
  CHECK_REFUSED(run_cke({"serve", tiny, "--api-key-file", dir / "short"}), "16 to 256 visible ASCII characters");
  CHECK_REFUSED(run_cke({"serve", tiny, "--api-key-file", dir / "empty"}), "at least one line");
  CHECK_REFUSED(run_cke({"serve", tiny, "--api-key-file", dir / "absent"}), "absent");
}

TEST_CASE("numbers out of range are usage errors") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"--port", "65536"},
                                                                                     {"--port", "-1"},
                                                                                     {"--parallel", "0"},
                                                                                     {"--parallel", "257"},
                                                                                     {"--queue", "0"},
                                                                                     {"--draft", "65"},
                                                                                     {"--draft-model", "x"},
                                                                                     {"--drain", "x"}}) {
    std::vector<std::string> all{"serve", tiny};
    all.insert(all.end(), words.begin(), words.end());
    const result r = run_cke(all);
    CHECK_MESSAGE(is_refusal(r, 2), show(r));
  }
}

TEST_CASE("an address that cannot be had") {
  CHECK_REFUSED(run_cke({"serve", tiny, "--host", "192.0.2.1", "--insecure"}),
                "192.0.2.1:8080");  // of no machine (RFC 5737)
}
