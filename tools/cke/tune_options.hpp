// SPDX-License-Identifier: MIT
// tune_options.hpp: the options of cke tune.
#pragma once

#include "commands.hpp"
#include "options.hpp"

namespace cke::tool {

inline void tune_options_of(CLI::App& app, tune_args& to) {
  model_options_of(app, to.model);
  app.add_option("-t,--threads", to.model.threads, thread_help)->check(number(0u, team::max_threads));
  app.add_option("-p,--n-prompt", to.prompt, "tokens of a prompt")->check(number(1u, 1u << 16))->capture_default_str();
  app.add_option("-n,--n-gen", to.generate, "tokens to generate")->check(number(1u, 1u << 16))->capture_default_str();
  app.add_option("--seconds", to.seconds, "stop after about so many, and keep what is known by then")
      ->type_name("N")
      ->check(number(1u, 1u << 24))
      ->capture_default_str();
  app.add_option("-o,--output", to.output, "the profile, in place of where the other commands look for it")
      ->type_name("FILE")
      ->check(some_text("a file"));
  app.footer(
      "A value is tried only if the logits stay the same, bit for bit, and kept only if it is faster beyond noise.\n"
      "Ctrl-C ends it, and keeps what is known by then.");
}

}  // namespace cke::tool
