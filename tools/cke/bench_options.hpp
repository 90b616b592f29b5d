// SPDX-License-Identifier: MIT
// bench_options.hpp: the options of cke bench.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "number_list.hpp"
#include "options.hpp"

namespace cke::tool {

// "3%" as 0.03.
inline std::optional<double> share_of(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  double x{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size() || !(x >= 0 && x <= 1e6)) return std::nullopt;
  return x / 100;
}

// Numbers and ranges in llama-bench's syntax; the option may be repeated.
inline void list_of(CLI::App& app, const char* name, std::vector<u32>& to, const char* what, number_range allowed) {
  auto* option = app.add_option_function<std::vector<std::string>>(
      name,
      [&to, name, allowed](const auto& words) {
        to.clear();
        for (const std::string& word : words)
          if (!add_numbers(word, allowed, to))
            throw CLI::ValidationError(name,
                                       "\"" + word + "\" is no list of numbers from " + std::to_string(allowed.least) +
                                           " to " + std::to_string(allowed.most));
      },
      what);
  option->type_name("LIST")->allow_extra_args(false);
}

inline void bench_options_of(CLI::App& app, bench_args& to) {
  model_options_of(app, to.model);
  size_options_of(app, to.model);
  app.footer("LIST: numbers between commas; also ranges: 1-4, 8-32+8 or 1-16*2. Each value makes a test.");
  list_of(app, "-p,--n-prompt", to.prompt, "prompt lengths (512)", {0, 1 << 22});
  list_of(app, "-n,--n-gen", to.generate, "tokens to generate (128)", {0, 1 << 22});
  list_of(app, "-d,--n-depth", to.depth, "tokens that are there before (0)", {0, 1 << 22});
  list_of(app, "-b,--n-sequences", to.sequences, "sequences that generate together (1)", {1, 1024});
  list_of(app, "-t,--threads", to.threads, thread_help, {0, team::max_threads});
  auto* peaks =
      app.add_flag("--peaks", to.peaks, "also what the machine reads and computes at most, and the share of that");
  app.add_option("--profile", to.profile,
                 "instead: where the time of one prompt and one token goes, and a Chrome trace in FILE")
      ->type_name("FILE")
      ->excludes(peaks);
  app.add_option(
         "--baseline", to.baseline,
         "what -o json or jsonl wrote before: if a median, a 95th percentile or the peak of memory is beyond it, "
         "print those and exit with 1")
      ->type_name("FILE")
      ->excludes("--profile");
  app.add_option_function<std::string>(
         "--tolerance", [&to](const std::string& share) { to.tolerance = share_of(share).value(); },
         "how far beyond it a figure may be (3%)")
      ->type_name("X%")
      ->needs("--baseline")
      ->check(CLI::Validator(
          [](const std::string& word) {
            return share_of(word) ? std::string() : concat({"expected a percentage such as 3%, found \"", word, "\""});
          },
          ""));
  app.add_option("-r,--repetitions", to.repetitions, "repetitions")->check(number(1u, 1u << 16))->capture_default_str();
  app.add_option("-o,--output", to.output, "md, csv, json, jsonl, or html: one page with rounds, roofline and growth")
      ->check(CLI::IsMember({"md", "csv", "json", "jsonl", "html"}))
      ->capture_default_str();
}

}  // namespace cke::tool
