// SPDX-License-Identifier: MIT
// chat_form.hpp: the chat template of a checkpoint: conversation in, prompt out.
#pragma once

#include "../chat/chat_encoder.hpp"
#include "conversation.hpp"
#include "template.hpp"

CKE_COMPILED_ONCE
namespace cke::text {

// Immutable and thread-safe.
class chat_form {
 public:
  // Uses this vocabulary's template. Throws unsupported if there is none, and as jinja::chat_template does, naming
  // `file`.
  chat_form(tokenizer tokens, const std::string& file)
      : tokens_(std::move(tokens)),
        template_(source_of(tokens_.vocabulary(), file), file),
        with_tools_(tokens_.vocabulary().tool_template, file),
        encoder_(tokens_, all_text(tokens_.vocabulary())),
        contents_(contents_taken()) {}

  // Returns the prompt. Throws what jinja::names_of and jinja::chat_template::render throw.
  std::vector<chat_segment> render(const jinja::conversation& c) const {
    const bool own = c.tools.is_none() || tokens_.vocabulary().tool_template.empty();
    const jinja::chat_template& form = own ? template_ : with_tools_;
    return segments_of(form.render(jinja::names_of(c, &tokens_.vocabulary(), contents_), local_time()));
  }
  std::vector<u32> encode(std::span<const chat_segment> prompt) const { return encoder_.encode(prompt); }

  // The tokens that end a turn, among those that occur in the template.
  std::vector<u32> stop_ids() const {
    static constexpr std::string_view known[] = {
        "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<turn|>",         "<|end|>",  "<|return|>",
        "<|call|>",   "<|eot|>",    "</s>",       "<|endoftext|>", "<|end_of_text|>", "<|user|>", "<|observation|>"};
    const vocabulary& v = tokens_.vocabulary();
    const std::string written = all_text(v);
    std::vector<u32> ids;
    for (const added_token& t : v.added) {
      const std::string& text = v.tokens[t.id];
      if (std::ranges::find(known, text) != std::end(known) && written.find(text) != written.npos) ids.push_back(t.id);
    }
    return ids;
  }

  static std::tm local_time() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    return parts;
  }
  static std::vector<chat_segment> segments_of(const jinja::text& rendered) {
    std::vector<chat_segment> out;
    rendered.spans([&](std::string_view part, jinja::origin from) {
      out.push_back({std::string(part), from == jinja::origin::author});
    });
    return out;
  }

 private:
  static std::string_view source_of(const vocabulary& v, const std::string& file) {
    if (v.chat_template.empty())
      throw Error(errc::unsupported, file, "chat_template", "one beside the tokenizer", "none");
    return v.chat_template;
  }

  // Templates of some models that see images (Idefics 3, SmolVLM) look for parts of type "text" alone, and would leave
  // out a content that is a string. A probe shows whether this is one.
  jinja::contents contents_taken() const {
    const std::string_view words = "cke-probe";
    const jinja::conversation one{.messages = {jinja::form::list, jinja::values{jinja::message("user", words)}}};
    const auto shown = [&](jinja::contents as) {
      try {
        const jinja::text out = template_.render(jinja::names_of(one, &tokens_.vocabulary(), as), local_time());
        return out.view().find(words) != std::string_view::npos;
      } catch (const Error&) { return false; }  // the template refuses it
    };
    const bool parts_alone = !shown(jinja::contents::any) && shown(jinja::contents::parts);
    return parts_alone ? jinja::contents::parts : jinja::contents::any;
  }

  static std::string all_text(const vocabulary& v) { return v.chat_template + '\n' + v.tool_template; }

  tokenizer tokens_;
  jinja::chat_template template_, with_tools_;
  chat_encoder encoder_;
  jinja::contents contents_;
};

}  // namespace cke::text
