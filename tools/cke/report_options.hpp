// SPDX-License-Identifier: MIT
// report_options.hpp: the options of cke report.
#pragma once

#include "commands.hpp"
#include "dump_options.hpp"
#include "options.hpp"

namespace cke::tool {

inline void report_options_of(CLI::App& app, report_args& to) {
  running_options_of(app, to.model);
  app.add_option("-o,--output", to.output, "the file, such as report.html")->type_name("FILE")->required();
  app.add_option("-p,--prompt", to.prompt, "the text that is measured (64 ids, where none is given)")
      ->check(some_text("a text"));
  app.add_option("-n,--max-tokens", to.generate, "tokens after it, each of them timed")
      ->check(number(0u, 1u << 20))
      ->capture_default_str();
  app.add_option("-r,--repetitions", to.repetitions, "passes that are traced; the fastest is shown")
      ->check(number(1u, 1u << 16))
      ->capture_default_str();
  app.add_option("--reference", to.reference, "a dump, of another implementation or of this one: each value beside it")
      ->type_name("DIR");
  tolerance_option_of(app, to.tolerance);
  app.add_option("--log", to.log, "what cke train --log wrote: the loss is drawn")->type_name("FILE");
}

}  // namespace cke::tool
