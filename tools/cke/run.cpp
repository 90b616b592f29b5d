// SPDX-License-Identifier: MIT
// run.cpp: cke run: a prompt and what the model adds to it.
#include <cke/generate.hpp>

#include "commands.hpp"
#include "terminal.hpp"

namespace cke::tool {

void run(const run_args& args) {
  std::vector<u32> prompt;
  if (args.tokens) prompt = parse_ids(*args.tokens);
  const loaded_model model = load_model(args.model, args.tokens ? needs::weights : needs::text);
  if (!args.tokens) prompt = model.tokens->encode(args.prompt, {.parse_special = true, .add_special = true});
  const auto c = model.engine->open();
  text_session session(*c, args.ids || !model.tokens ? nullptr : &*model.tokens, model.stop_ids);
  // The last id need not be fed, so there is room for one more than positions are left.
  const u32 room = c->context() - static_cast<u32>(std::min<std::size_t>(prompt.size(), c->context())) + 1;
  const bool text = session.tokens_or_null() != nullptr;

  generation answer(session, prompt, {.max_tokens = args.max_tokens.value_or(std::min(256u, room)), .sample = args.sample});
  if (text) {
    try {
      for (const std::string_view piece : answer) put(piece);
    } catch (const Error& e) {
      if (e.code == errc::context_overflow) put("\n");  // the answer is whole as far as it goes
      throw;
    }
    return put("\n");
  }
  for ([[maybe_unused]] const std::string_view piece : answer) {
  }
  std::vector<u32> ids(answer.ids().begin(), answer.ids().end());
  if (answer.stop_id()) ids.push_back(*answer.stop_id());
  put(ids_text(ids) + '\n');
}

}  // namespace cke::tool
