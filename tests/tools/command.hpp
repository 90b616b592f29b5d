// SPDX-License-Identifier: MIT
// command.hpp: starts the cke command as a shell would, and says what came of it.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace command {

namespace fs = std::filesystem;

inline std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// A directory for one test, removed with everything in it.
class scratch {
 public:
  scratch() {
    std::string name = (fs::temp_directory_path() / "cke-tool-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { fs::remove_all(path_); }
  fs::path operator/(std::string_view name) const { return path_ / name; }

  // A copy of a small model directory, to be changed.
  fs::path copy(const std::string& from, std::string_view name = "model") const {
    fs::copy(from, path_ / name);
    return path_ / name;
  }

 private:
  fs::path path_;
};

// Compiling takes seconds: what one test compiled serves all others, and the next run of them.
inline std::string shared_cache() {
  const fs::path cache = fs::path(CKE_TOOL).parent_path() / "test-cache";
  fs::create_directory(cache);
  fs::permissions(cache, fs::perms::owner_all);
  return cache;
}

struct setting {
  std::string input{};                                           // standard input
  std::vector<std::pair<std::string, std::string>> variables{};  // of the environment; "": unset
  std::optional<int> output{};                                   // standard output, instead of result::out; -1: closed
  std::optional<rlim_t> file_size{};                             // no file may grow beyond it
  unsigned seconds = 100;                                        // then it counts as hanging: SIGALRM ends it
};

struct result {
  int status = -1, signal = 0;  // one of them
  std::string out, err;
};

class process {
 public:
  process(std::vector<std::string> arguments, const setting& s = {}) {
    arguments.insert(arguments.begin(), CKE_TOOL);
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    const int in = file(), out = file();
    int err[2];  // a pipe, which no limit on files reaches; a line fits
    REQUIRE(pipe2(err, O_CLOEXEC | O_NONBLOCK) == 0);
    REQUIRE(::write(in, s.input.data(), s.input.size()) == static_cast<ssize_t>(s.input.size()));
    lseek(in, 0, SEEK_SET);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      setenv("CKE_CACHE", shared_cache().c_str(), 1);
      for (const auto& [name, value] : s.variables)
        value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
      if (s.file_size) {
        const rlimit limit{*s.file_size, *s.file_size};
        setrlimit(RLIMIT_FSIZE, &limit);
      }
      dup2(in, STDIN_FILENO), dup2(err[1], STDERR_FILENO);
      s.output == -1 ? close(STDOUT_FILENO) : dup2(s.output.value_or(out), STDOUT_FILENO);
      alarm(s.seconds);
      execv(CKE_TOOL, argv.data());
      _exit(127);
    }
    close(in), close(err[1]), out_ = out, err_ = err[0];
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process() {
    if (pid_ > 0) wait();
  }

  void send(int signal) const { ::kill(pid_, signal); }
  result wait() {
    int status{};
    REQUIRE(waitpid(std::exchange(pid_, -1), &status, 0) > 0);
    result r;
    if (WIFEXITED(status)) r.status = WEXITSTATUS(status);
    else r.signal = WTERMSIG(status);
    r.out.resize(static_cast<std::size_t>(lseek(out_, 0, SEEK_END)));
    REQUIRE(pread(out_, r.out.data(), r.out.size(), 0) == static_cast<ssize_t>(r.out.size()));
    char part[4096];
    for (ssize_t n; (n = read(err_, part, sizeof part)) > 0;) r.err.append(part, static_cast<std::size_t>(n));
    close(out_), close(err_);
    return r;
  }

 private:
  static int file() {
    char name[] = "/tmp/cke-stream-XXXXXX";
    const int f = mkostemp(name, O_CLOEXEC);
    REQUIRE(f >= 0);
    unlink(name);
    return f;
  }

  pid_t pid_;
  int out_, err_;
};

inline result run_cke(std::vector<std::string> arguments, const setting& s = {}) {
  return process(std::move(arguments), s).wait();
}

// One line "cke: error: ..." on stderr, nothing on stdout, and that exit status.
inline bool is_refusal(const result& r, int status = 1) {
  return r.signal == 0 && r.status == status && r.out.empty() && r.err.starts_with("cke: error: ") &&
      std::ranges::count(r.err, '\n') == 1 && r.err.ends_with('\n') && r.err.size() > 20;
}
// Where damage need not show: success, or a refusal.
inline bool is_orderly(const result& r) { return is_refusal(r) || (r.signal == 0 && r.status == 0 && r.err.empty()); }

inline std::string show(const result& r) {
  return "status " + std::to_string(r.status) + " signal " + std::to_string(r.signal) + "\nstdout: " + r.out +
      "\nstderr: " + r.err;
}
#define CHECK_REFUSED_WITH(status, r, text)                                      \
  do {                                                                           \
    const auto& answer_ = (r);                                                   \
    CHECK_MESSAGE(command::is_refusal(answer_, status), command::show(answer_)); \
    CHECK_MESSAGE(answer_.err.find(text) != answer_.err.npos, answer_.err);      \
  } while (false)
#define CHECK_REFUSED(r, text) CHECK_REFUSED_WITH(1, r, text)
// A refusal of the command line itself.
#define CHECK_MISUSED(r, text) CHECK_REFUSED_WITH(2, r, text)
#define CHECK_SUCCESS(r)                                                                 \
  do {                                                                                   \
    const auto& answer_ = (r);                                                           \
    CHECK_MESSAGE((answer_.status == 0 && answer_.err.empty()), command::show(answer_)); \
  } while (false)

inline const std::string models = CKE_TEST_DATA "/models/", tiny = CKE_ASSETS "/tiny";

}  // namespace command
