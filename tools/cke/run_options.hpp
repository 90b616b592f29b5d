// SPDX-License-Identifier: MIT
// run_options.hpp: the options of cke run.
#pragma once

#include <vector>

#include "commands.hpp"
#include "options.hpp"

namespace cke::tool {

inline void run_options_of(CLI::App& app, run_args& to) {
  running_options_of(app, to.model);
  auto* prompt = app.add_option("-p,--prompt", to.prompt, "the text");
  auto* ids = app.add_option("--tokens", to.tokens, "its ids, between commas")->excludes(prompt);
  image_options_of(app, to.shown);
  mmproj_option_of(app, to.model.mmproj);
  app.add_option("-n,--max-tokens", to.answer.max_tokens, "most new tokens (256)")->check(any_count());
  app.add_flag("--ids", to.ids, "print a JSON array of the new ids");
  const std::vector<CLI::Option*> changing = answer_options_of(app, to.answer);
  sliding_option_of(app, to.slide);
  app.add_option("--system", to.system, "the system message; the prompt is then a message in the model's chat form")
      ->type_name("TEXT")
      ->excludes(ids);
  thinking_option_of(app, to.thinking,
                     "whether a model that can think may; the prompt is then a message in the model's chat form")
      ->excludes(ids);
  auto* ahead =
      app.add_option(
             "--draft", to.draft,
             "guess up to N ids ahead, from what the text repeats, and check them in one pass: the same answer, sooner")
          ->type_name("N")
          ->check(number(0u, 64u))
          ->capture_default_str();
  app.add_option("--draft-model", to.draft_model,
                 "a smaller model with the same vocabulary, which guesses them instead")
      ->type_name("MODEL")
      ->needs(ahead);
  auto* beams = app.add_option("--beams", to.beams,
                               "beam search: the likeliest answer that N beams find, as transformers' num_beams")
                    ->type_name("N")
                    ->check(number(1u, 256u))
                    ->excludes(ahead);
  for (CLI::Option* option : changing) beams->excludes(option);
  app.add_option("--answers", to.answers, "so many of the best, with their scores")
      ->type_name("N")
      ->needs(beams)
      ->check(number(1u, 256u));
  app.add_option("--length-penalty", to.length_penalty,
                 "an answer's score is its log-probability over its length to this power")
      ->type_name("X")
      ->needs(beams)
      ->check(number(-100.f, 100.f))
      ->capture_default_str();
  app.add_option(
         "--early-stopping", to.early_stopping,
         "stop once as many answers ended as there are beams (yes), could hardly become better (no), or cannot (never)")
      ->needs(beams)
      ->check(CLI::IsMember({"no", "yes", "never"}))
      ->capture_default_str();
  app.add_option("--load-session", to.load_session,
                 "go on where the session in FILE ended; the prompt, if any, is what comes next")
      ->type_name("FILE")
      ->excludes("--system")
      ->excludes("--think");
  app.add_option("--save-session", to.save_session, "keep the session in FILE, prompt and answer")
      ->type_name("FILE")
      ->excludes(beams);
  auto* grammar = app.add_option("--grammar", to.grammar, "a GBNF file: the answer is a text of that grammar")
                      ->type_name("FILE")
                      ->excludes(beams);
  app.add_option("--json-schema", to.json_schema, "a JSON Schema: the answer is a document of it")
      ->type_name("FILE")
      ->excludes(grammar)
      ->excludes(beams);
}

}  // namespace cke::tool
