// SPDX-License-Identifier: MIT
// trace.hpp: what a server did when, as a Chrome trace, which ui.perfetto.dev draws.
#pragma once

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "../core/concat.hpp"
#include "job.hpp"

namespace cke::serve {

// Passes are on a track of their own; each request has one with what it waited for. The file is a JSON array without
// its last bracket until the server ends, which readers of this format allow.
// Belongs to the model's thread.
class trace_file {
 public:
  explicit trace_file(std::string path) : path_(std::move(path)) {}
  // Replaces the file, before the first job. Throws Error{file}.
  void begin() {
    to_.open(path_, std::ios::binary | std::ios::trunc);
    to_ << R"([{"ph":"M","pid":1,"name":"process_name","args":{"name":"cke serve"}},)"
        << "\n"
        << R"({"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"passes"}})";
    if (!to_.flush()) throw Error(errc::file, path_, {}, "a file that can be written", std::strerror(errno));
  }
  trace_file(const trace_file&) = delete;
  trace_file& operator=(const trace_file&) = delete;

  // Ends the file. Throws Error{file} if something was not written, such as on a full disk: requests went on without.
  void finish() {
    to_ << "\n]\n";
    to_.close();
    if (!to_) throw Error(errc::file, path_, {}, "a file that can be written to its end", "one that could not");
  }

  // What a pass held: rows of prompts, rows of running answers, and how many of those were guesses.
  struct pass {
    u32 conversations, prompt_tokens, answer_tokens, guesses;
  };
  void add(const pass& p, clock::time_point begin, clock::time_point end) {
    event("X", 1, "pass", begin,
          concat({",\"dur\":", microseconds(end - begin), ",\"args\":{\"conversations\":", p.conversations,
                  ",\"prompt_tokens\":", p.prompt_tokens, ",\"answer_tokens\":", p.answer_tokens,
                  ",\"guesses\":", p.guesses, "}"}));
  }

  // A request that ended: what it waited for, one after the other.
  void add(const job& j, const request_times& r, const token_counts& counts, ending why) {
    const clock::time_point end = clock::now(), never{};
    const u64 id = ++requests_;
    const auto span = [&](const char* name, clock::time_point from, clock::time_point to, const std::string& args) {
      event("b", id, name, from, args);
      event("e", id, name, to, {});
    };
    event("b", id, "request", j.asked,
          concat({",\"args\":{\"prompt_tokens\":", u64{j.what.tokens()}, ",\"cached_tokens\":", counts.cached,
                  ",\"generated_tokens\":", counts.generated, ",\"end\":\"", name_of(why), "\"}"}));
    span("queue", j.asked, r.begun == never ? end : r.begun, {});
    if (r.begun != never) span("prefill", r.begun, r.first_token == never ? end : r.first_token, {});
    if (r.first_token != never) span("decode", r.first_token, end, {});
    event("e", id, "request", end, {});
    to_.flush();
  }

 private:
  static const char* name_of(ending e) {
    constexpr const char* names[]{"running", "stop", "length", "cancelled", "failed"};
    return names[static_cast<int>(e)];
  }
  template <class Duration> static u64 microseconds(Duration d) {
    return static_cast<u64>(std::chrono::duration_cast<std::chrono::microseconds>(d).count());
  }
  // track: a thread of complete spans ("X"), or a request's number.
  void event(std::string_view phase, u64 track, std::string_view name, clock::time_point at, const std::string& rest) {
    const bool of_thread = phase == "X";
    to_ << concat({",\n{\"ph\":\"", phase, "\",\"pid\":1,\"tid\":", of_thread ? track : 2, ",\"cat\":\"",
                   of_thread ? "pass" : "request", "\",\"name\":\"", name, "\",\"ts\":", microseconds(at - start_)});
    if (!of_thread) to_ << concat({",\"id\":", track});
    to_ << rest << '}';
  }

  std::string path_;
  std::ofstream to_;
  clock::time_point start_ = clock::now();
  u64 requests_ = 0;
};

}  // namespace cke::serve
