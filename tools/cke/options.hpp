// SPDX-License-Identifier: MIT
// options.hpp: the options that several commands share, and checks whose messages say what was expected.
#pragma once

#include <CLI/CLI.hpp>

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include <cke/runtime/team.hpp>

#include "answer_args.hpp"
#include "image_args.hpp"
#include "model_hints.hpp"
#include "rooms.hpp"
#include "source.hpp"
#include "standalone.hpp"
#include "unit_formats.hpp"

namespace cke::tool {

inline std::string option_number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", x);
  return text;
}

// Which of a range's ends is not in it.
enum class without : u8 { none, least, most };

// A number of a range. CLI11 alone would not say what it expected of a text that is no number, and takes an empty one
// for 0.
template <class T> CLI::Validator number(T least, T most, without end_of_range = without::none) {
  const std::string low = option_number(static_cast<double>(least)), high = option_number(static_cast<double>(most));
  const bool open = most == std::numeric_limits<T>::max(), above = end_of_range == without::least,
             below = end_of_range == without::most;
  const std::string range = open ? concat({low, " or more"})
      : above                    ? concat({"above ", low, ", at most ", high})
      : below                    ? concat({low, " to below ", high})
                                 : concat({low, " to ", high});
  const std::string wanted = concat({std::is_integral_v<T> ? "a whole number" : "a number",
                                     open        ? ", "
                                         : above ? " "
                                                 : " from ",
                                     range});
  return {[=](const std::string& text) {
            T x{};
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
            const bool right = error == std::errc{} && end == text.data() + text.size() && x >= least && x <= most &&
                !(above && x == least) && !(below && x == most);
            return right ? std::string() : concat({"expected ", wanted, ", found \"", text, "\""});
          },
          range};
}
inline CLI::Validator any_count() { return number(0u, ~0u); }

// A text of at least one byte.
inline CLI::Validator some_text(const char* what) {
  return {[=](const std::string& text) {
            return text.empty() ? concat({"expected ", what, ", found nothing"}) : std::string();
          },
          ""};
}

inline constexpr const char* model_help = "a Hugging Face directory, a .gguf file or a bundle (.cke)";
inline constexpr const char* checkpoint_help = "a Hugging Face directory or a .gguf file";
inline constexpr const char* thread_help = "threads (the cores that the process may use)";

// A program of one model takes that one where none is named.
inline void model_of(CLI::App& app, std::string& to, const char* what) {
  to = own_bundle();
  app.add_option("MODEL", to, what)->required(to.empty());
}
inline void model_options_of(CLI::App& app, model_args& to, const char* what = model_help) {
  model_of(app, to.path, what);
  app.add_option("--format", to.numbers.format,
                 concat({"how weights are kept: ", listed(format_names()), " (as stored)"}))
      ->transform(CLI::IsMember(format_names(), CLI::ignore_case));
  app.add_option("--kv", to.numbers.kv,
                 concat({"how keys and values are kept: ", listed(kv_names()),
                         " (f32 for f32, f16 for f16 and bf16, else bf16)"}))
      ->transform(CLI::IsMember(kv_names(), CLI::ignore_case));
}
// What changes speed alone: docs/tuning.md.
inline void hint_options_of(CLI::App& app, model_args& to) {
  app.add_option("--chunk", to.hinted.chunk, "most tokens of one pass (512): --hint chunk=N")
      ->type_name("N")
      ->check(number(1u, 1u << 16));
  app.add_option_function<std::vector<std::string>>(
         "--hint",
         [&to](const auto& all) {
           for (const std::string& one : all)
             if (const std::string wrong = set_hint(one, to.hinted); !wrong.empty())
               throw CLI::ValidationError("--hint", wrong);
         },
         "a knob that changes speed and no answer (KNOB@0-5: in layers 0 to 5), see cke inspect MODEL --explain; may "
         "be "
         "given again")
      ->type_name("KNOB=VALUE")
      ->allow_extra_args(false);
  app.add_option("--hints", to.profile, "a profile to take them from (the one that cke tune wrote)")
      ->type_name("FILE")
      ->check(some_text("a file"));
}
inline void size_options_of(CLI::App& app, model_args& to) {
  app.add_option("-c,--context", to.context, "positions (the model's, up to 4096)")->check(number(1u, 1u << 24));
  hint_options_of(app, to);
}
inline void running_options_of(CLI::App& app, model_args& to, const char* what = model_help) {
  model_options_of(app, to, what);
  app.add_option("-t,--threads", to.threads, thread_help)->check(number(0u, team::max_threads));
  size_options_of(app, to);
  app.add_flag("--verbose", to.verbose, "print the stages of loading with their seconds to standard error");
}

// The options of an answer, except -n, whose default each command has for itself. Returns those that would change a
// beam search, which does not honour them.
inline std::vector<CLI::Option*> answer_options_of(CLI::App& app, answer_args& to) {
  std::vector<CLI::Option*> changing;
  const auto add = [&](CLI::Option* option) { changing.push_back(option); };
  const auto probability = number(0.f, 1.f);
  sampling& how = to.sample;
  app.add_option("--temp", how.temperature, "temperature; 0: the likeliest token")
      ->check(number(0.f, 1e6f))
      ->capture_default_str();
  app.add_option("--top-k", how.top_k, "only the K likeliest; 0: off")->check(any_count())->capture_default_str();
  app.add_option("--top-p", how.top_p, "only the likeliest whose probabilities reach P")
      ->check(probability)
      ->capture_default_str();
  app.add_option("--min-p", how.min_p, "only those of at least P times the likeliest")
      ->check(probability)
      ->capture_default_str();
  app.add_option("--typical-p", how.typical_p, "only the most typical whose probabilities reach P; 1: off")
      ->check(number(0.f, 1.f, without::least))
      ->capture_default_str();
  add(app.add_option("--repeat-penalty", how.repetition_penalty,
                     "divides (negative: multiplies) the logit of a token that occurred; 1: off")
          ->check(number(0.f, 100.f, without::least))
          ->capture_default_str());
  add(app.add_option("--frequency-penalty", how.frequency_penalty,
                     "off a token's logit for each time it occurred; 0: off")
          ->check(number(-2.f, 2.f))
          ->capture_default_str());
  add(app.add_option("--presence-penalty", how.presence_penalty, "off a token's logit once it occurred; 0: off")
          ->check(number(-2.f, 2.f))
          ->capture_default_str());
  add(app.add_option("--repeat-last-n", how.repeat_last_n,
                     "how many of the last tokens, of the prompt too, the penalties look at; 0: none")
          ->check(any_count())
          ->capture_default_str());
  add(app.add_option("--logit-bias", to.biases,
                     "ID=BIAS or TEXT=BIAS, added to the logit of a token; -inf: never; may be given again")
          ->type_name("TOKEN=BIAS")
          ->check(CLI::Validator(bias_complaint, ""))
          ->allow_extra_args(false));
  app.add_option("--seed", how.seed, "the same seed gives the same text")
      ->check(number(u64{0}, ~u64{0}))
      ->capture_default_str();
  add(app.add_option("--stop", to.stop, "a text that ends the answer and is no part of it; may be given again")
          ->type_name("TEXT")
          ->check(some_text("a text"))
          ->allow_extra_args(false));
  add(app.add_option("--min-tokens", to.min_tokens, "the model's own end may not come before so many new tokens")
          ->type_name("N")
          ->check(any_count())
          ->capture_default_str());
  return changing;
}

// Unset, unless one of them is given. As an ordinary flag CLI11 would count it, from 0.
inline CLI::Option* thinking_option_of(CLI::App& app, std::optional<bool>& to, const char* what) {
  return app.add_flag_function("--think,!--no-think", [&to](std::int64_t count) { to = count > 0; }, what);
}
inline void sliding_option_of(CLI::App& app, bool& to) {
  app.add_flag(
      "--slide", to,
      "go on behind the context, which takes no more memory, where every layer has a window or a recurrent state");
}
// Returns --image and --video. They keep the order in which they are given.
inline std::array<CLI::Option*, 2> image_options_of(CLI::App& app, image_args& to) {
  const auto add = [&](const char* name, bool video, const char* what, const char* type) {
    const auto keep = [&to, video](const std::vector<std::string>& paths) {
      for (const std::string& path : paths) to.files.push_back({path, video});
    };
    return app.add_option_function<std::vector<std::string>>(name, keep, what)->trigger_on_parse()->type_name(type);
  };
  CLI::Option* const image = add("--image", false, "an image file; may be given several times", "FILE");
  CLI::Option* const video =
      add("--video", true, "a folder of frames, image files in the order of their names; may be given several times",
          "FOLDER");
  app.add_option("--fps", to.fps, "frames of a second of the videos")
      ->type_name("RATE")
      ->check(number(1e-3, 1e5))
      ->needs(video)
      ->capture_default_str();
  return {image, video};
}
inline void mmproj_option_of(CLI::App& app, std::optional<std::string>& to) {
  app.add_option("--mmproj", to,
                 "the file with the vision tower of a .gguf MODEL (the mmproj*.gguf beside it that fits)")
      ->type_name("FILE");
}
inline void pooling_option_of(CLI::App& app, std::optional<std::string>& to) {
  app.add_option("--pooling", to,
                 "which hidden states make an embedding: last, mean, cls (what the checkpoint says, else last)")
      ->check(CLI::IsMember({"last", "mean", "cls"}));
}

}  // namespace cke::tool
