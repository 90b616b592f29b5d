// SPDX-License-Identifier: MIT
// run.cpp: cke run: generates a continuation of a prompt.
#include <cke/beam.hpp>
#include <cke/draft.hpp>
#include <cke/generate.hpp>
#include <cke/io/json_schema.hpp>
#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/grammar/grammar_filter.hpp>
#include <cke/text/jinja/chat_form.hpp>
#include <cke/text/number_text.hpp>
#include <cke/text/tokenizer/detokenizer.hpp>

#include "commands.hpp"
#include "rank_group.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "vision_model.hpp"

namespace cke::tool {
namespace {

std::string schema_grammar(const std::string& path) {
  try {
    return json_schema_gbnf(nlohmann::ordered_json::parse(file_text(path)), path);
  } catch (const nlohmann::json::parse_error& e) {
    throw Error(errc::malformed, path, {}, "JSON", "something else at byte " + std::to_string(e.byte));
  }
}
// Null if the answer is unrestricted.
std::unique_ptr<token_filter> filter_of(const run_args& args, const loaded_model& model,
                                        const std::vector<u32>& stop_ids) {
  if (!args.grammar && !args.json_schema) return nullptr;
  const std::string& path = args.grammar ? *args.grammar : *args.json_schema;
  if (!model.tokens) throw Error(errc::usage, model.name, "tokenizer", "one in the checkpoint, for a grammar", "none");
  auto g = std::make_shared<const grammar>(parse_gbnf(args.grammar ? file_text(path) : schema_grammar(path), path));
  auto tokens = std::make_shared<const token_trie>(*model.tokens);
  return std::make_unique<grammar_filter>(std::make_shared<token_grammar>(std::move(g), std::move(tokens)),
                                          *model.tokens, stop_ids);
}

bool in_chat_form(const run_args& args) { return args.system || args.thinking; }
std::vector<u32> chat_prompt(const run_args& args, const chat_form& form, const prompt_images& shown) {
  if (args.prompt.empty())
    throw Error(errc::usage, {}, "--prompt", "a message, as --system and --think put it in the chat form", "none");
  jinja::values messages;
  if (args.system) messages.push_back(jinja::message("system", *args.system));
  messages.push_back(jinja::message("user", args.prompt, types_of(shown.images)));
  jinja::conversation talk{.messages = {jinja::form::list, messages}};
  if (args.thinking) talk.set("enable_thinking", *args.thinking);
  std::vector<chat_segment> prompt = form.render(talk);
  if (!shown.images.empty()) shown.markup.expand(prompt, shown.images);
  return form.encode(prompt);
}

// Prints the answer, as text or as ids, and returns its ids.
std::vector<u32> print(bool as_text, auto answer) {
  if (as_text) {
    try {
      for (const std::string_view piece : answer) put(piece);
    } catch (const Error& e) {
      if (e.code == errc::context_overflow) put("\n");  // the answer ends here, but is valid
      throw;
    }
    put("\n");
    return {answer.ids().begin(), answer.ids().end()};
  }
  for ([[maybe_unused]] const std::string_view piece : answer) {}
  std::vector<u32> ids(answer.ids().begin(), answer.ids().end()), shown = ids;
  if (answer.stop_id()) shown.push_back(*answer.stop_id());
  put(ids_text(shown) + '\n');
  return ids;
}

// Prints the best answers, best first; if there are several, each follows a line with its score.
void search(const run_args& args, const loaded_model& model, const any_session& start, u32 most,
            const std::vector<u32>& stop_ids) {
  if (args.answer.sample.temperature != 0) throw Error(errc::usage, {}, "--beams", "--temp 0", "another");
  const beam_end end = args.early_stopping == "yes" ? beam_end::enough
      : args.early_stopping == "never"              ? beam_end::hopeless
                                                    : beam_end::unlikely;
  const auto answers = beam_search(*model.engine, start,
                                   {.beams = args.beams,
                                    .answers = args.answers,
                                    .max_tokens = most,
                                    .length_penalty = args.length_penalty,
                                    .end = end,
                                    .stop_ids = stop_ids});
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const beam_answer& a = answers[i];
    if (args.answers > 1 && !args.ids)
      put((i ? "\n" : "") + std::to_string(i + 1) + ": " + numbers_text({&a.score, 1}, "") + '\n');
    if (args.ids || !model.tokens) {
      put(ids_text(a.ids) + '\n');
      continue;
    }
    utf8_stream valid;
    std::string text(valid.push(model.tokens->decode(std::span(a.ids).first(a.ids.size() - a.stopped))));
    put(text.append(valid.finish()) + '\n');
  }
}

}  // namespace

void run(const run_args& args) {
  std::vector<u32> prompt;
  if (args.tokens) prompt = parse_ids(*args.tokens);
  const needs what = args.tokens ? needs::weights : in_chat_form(args) ? needs::chat : needs::text;
  const loaded_model model = load_model(args.model, what, std::max(args.draft + 1, args.beams));
  if (const rank_group* ranks = rank_group::of_this_run(); ranks && args.save_session) ranks->refuse("session file");
  std::vector<u32> stop_ids = model.stop_ids;
  const prompt_images shown = show_images(args.model, model, args.shown);
  if (in_chat_form(args)) {
    const chat_form form(*model.tokens, args.model.path);
    const std::vector<u32> ends = form.stop_ids();
    stop_ids.insert(stop_ids.end(), ends.begin(), ends.end());
    prompt = chat_prompt(args, form, shown);
  } else if (!args.tokens) {
    prompt =
        model.tokens->encode(shown.expand(args.prompt), {.parse_special = true, .add_special = !args.load_session});
  }
  prompt = shown.in(std::move(prompt));
  const std::unique_ptr<token_filter> filter = filter_of(args, model, stop_ids);
  const auto c = model.engine->open();
  if (args.slide) c->slide();
  if (args.load_session) c->load(*args.load_session);
  // The last id is not fed, so an answer may have one id more than positions are left.
  const u32 free = c->context() - c->position(),
            room = free - static_cast<u32>(std::min<std::size_t>(prompt.size(), free)) + 1,
            usual = std::min(std::max(256u, args.answer.min_tokens), room);
  const tokenizer* const tokens = model.tokens ? &*model.tokens : nullptr;
  generate_options options =
      answer_options(args.answer, tokens, model.engine->vocab_size(), args.answer.max_tokens.value_or(usual));
  options.filter = filter.get();
  if (args.beams) {
    if (prompt.empty() && c->position() == 0) throw Error(errc::usage, {}, "prompt", "at least one token", "none");
    c->feed(prompt);
    return search(args, model, *c, options.max_tokens, stop_ids);
  }
  const bool as_text = tokens && !args.ids;
  // Ids need text too where a text ends the answer.
  text_session session(*c, as_text || !options.stop.empty() ? tokens : nullptr, stop_ids);
  const std::size_t before = c->position() + prompt.size();
  std::vector<u32> answer;
  if (args.draft_model) {
    const loaded_model small = load_beside(*args.draft_model, "--draft-model", args.model, model);
    const auto guesses = small.engine->open();
    answer = print(as_text, generation(session, prompt, options, model_draft(*guesses, args.draft)));
  } else if (args.draft) {
    answer = print(as_text, generation(session, prompt, options, ngram_draft(args.draft)));
  } else {
    answer = print(as_text, generation(session, prompt, options));
  }
  if (!args.save_session) return;
  const auto rest = std::span(answer).subspan(c->position() - before);  // the last id was not fed
  c->feed(rest.first(std::min<std::size_t>(rest.size(), c->context() - c->position())));
  c->save(*args.save_session);
}

}  // namespace cke::tool
