// SPDX-License-Identifier: MIT
// chat.cpp: cke chat: a conversation in the model's chat format.
#include <iostream>

#include <cke/draft.hpp>
#include <cke/generate.hpp>
#include <cke/text/jinja/chat_form.hpp>

#include "commands.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "vision_model.hpp"

namespace cke::tool {
namespace {

// Rewinds to the longest common prefix of history and `ids`, and returns the ids to feed.
std::span<const u32> keep_common(any_session& c, std::span<const u32> ids) {
  const auto [mine, theirs] = std::ranges::mismatch(c.history(), ids);
  const auto common = static_cast<std::size_t>(theirs - ids.begin());
  const std::size_t kept = std::min(common, ids.size() - 1);  // feeds at least one id, to get logits
  c.rewind(static_cast<u32>(kept));
  return ids.subspan(kept);
}

}  // namespace

void chat(const chat_args& args) {
  const loaded_model model = load_model(args.model, needs::chat, args.draft + 1);
  const chat_form form(*model.tokens, args.model.path);
  std::vector<u32> stops = form.stop_ids();
  stops.insert(stops.end(), model.stop_ids.begin(), model.stop_ids.end());
  const auto c = model.engine->open();
  if (args.slide) c->slide();
  text_session session(*c, &*model.tokens, stops);
  const bool decorated = is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO);
  if (decorated) std::fprintf(stderr, "%s. Ctrl-C stops an answer, Ctrl-D or \"exit\" ends.\n", model.name.c_str());

  const interrupt_guard ctrl_c;
  jinja::values messages;
  if (!args.system.empty()) messages.push_back(jinja::message("system", args.system));
  prompt_images shown = show_images(args.model, model, args.shown);
  std::size_t used = 0;  // images of the messages so far
  for (std::string line; (decorated ? put("> ") : void()), std::getline(std::cin, line);) {
    if (line == "exit") break;
    if (line.empty()) continue;
    constexpr std::string_view image = "/image ", video = "/video ";
    if (line.starts_with(image) || line.starts_with(video)) {
      try {
        shown.add(args.model, model, {line.substr(image.size()), line.starts_with(video)}, args.shown.fps);
      } catch (const Error& e) { std::fprintf(stderr, "cke: error: %s\n", e.what()); }
      continue;
    }
    messages.push_back(jinja::message("user", line, types_of(std::span(shown.images).subspan(used))));
    used = shown.images.size();
    jinja::conversation so_far{.messages = {jinja::form::list, messages}};
    if (args.thinking) so_far.set("enable_thinking", *args.thinking);
    std::vector<chat_segment> prompt = form.render(so_far);
    if (!shown.images.empty()) shown.markup.expand(prompt, shown.images);
    const std::vector<u32> ids = shown.in(form.encode(prompt));
    if (ids.size() > c->context())
      throw Error(errc::context_overflow, {}, "conversation",
                  "at most " + std::to_string(c->context()) + " tokens; see -c", std::to_string(ids.size()));
    const u32 room = c->context() - static_cast<u32>(ids.size()) + 1;  // the answer's last token is not fed
    interrupt_guard::flag() = false;
    generate_options options = answer_options(args.answer, &*model.tokens, model.engine->vocab_size(),
                                              std::min(args.answer.max_tokens.value_or(room), room));
    options.cancel = &interrupt_guard::flag();
    std::string text;
    const auto say = [&](auto answer) {
      for (const std::string_view piece : answer) {
        put(piece);
        text += piece;
      }
    };
    const std::span<const u32> news = keep_common(*c, ids);
    if (args.draft) say(generation(session, news, options, ngram_draft(args.draft)));
    else say(generation(session, news, options));
    put("\n");
    messages.push_back(jinja::message("assistant", text));
  }
  if (decorated) put("\n");
}

}  // namespace cke::tool
