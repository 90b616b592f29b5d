// SPDX-License-Identifier: MIT
// run.cpp: cke run: a prompt and what the model adds to it.
#include <cke/generate.hpp>

#include "commands.hpp"
#include "terminal.hpp"

namespace cke::tool {

void run(const run_args& args) {
  const loaded_model model = load_model(args.model);
  const std::vector<u32> prompt =
      args.tokens ? parse_ids(*args.tokens)
                  : model.tokenizer_or_throw().encode(args.prompt, {.parse_special = true, .add_special = true});
  const auto c = model.engine->open();
  text_session session(*c, args.ids || !model.tokens ? nullptr : &*model.tokens, model.stop_ids);
  // The last id need not be fed, so there is room for one more than positions are left.
  const u32 room = c->context() - static_cast<u32>(std::min<std::size_t>(prompt.size(), c->context())) + 1;
  const bool text = session.tokens_or_null() != nullptr;

  generation answer(session, prompt, {.max_tokens = args.max_tokens.value_or(std::min(256u, room)), .sample = args.sample});
  for (const std::string_view piece : answer)
    if (text) put(piece);
  if (text) return put("\n");
  std::vector<u32> ids(answer.ids().begin(), answer.ids().end());
  if (answer.stop_id()) ids.push_back(*answer.stop_id());
  put(ids_text(ids) + '\n');
}

}  // namespace cke::tool
