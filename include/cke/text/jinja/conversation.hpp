// SPDX-License-Identifier: MIT
// conversation.hpp: turns messages, tools and special tokens into the variables that transformers passes to a template.
#pragma once

#include "../tokenizer/vocabulary.hpp"
#include "python.hpp"

CKE_COMPILED_ONCE
namespace cke::text::jinja {

// What a template takes for the content of a message: a string or a list of parts, or such lists alone.
enum class contents : u8 { any, parts };

namespace detail {

inline void put(dict& d, std::string_view key, value v) {
  budget cost({});
  insert(d, author_text(key), std::move(v), cost);
}

// A part of a content: a text with its words, or the place of an image or a video.
inline value part(std::string_view type, value words = {}) {
  dict p;
  put(p, "type", text(type, origin::data));
  if (type == "text") put(p, "text", std::move(words));
  return value::dict_ptr(std::make_shared<const dict>(std::move(p)));
}

// One message. Its role is chosen by the program, not by a user, so a template that spells a control token around it
// ('<|' + role + '|>') may do so, if the role is one of these.
inline value message_of(const value& message, std::size_t index, contents taken) {
  const dict* from = message.as_dict();
  if (!from) throw Error(errc::malformed, {}, concat({"message ", index}), "an object", type_name(message));
  auto out = std::make_shared<dict>(*from);
  // As in transformers: many templates would write the word None, and nothing for a key that is not there.
  std::erase_if(out->entries, [](const auto& entry) { return entry.second.is_none(); });
  static constexpr std::string_view roles[] = {"system", "developer", "user",  "assistant",
                                               "tool",   "function",  "model", "observation"};
  for (auto& [key, v] : out->entries) {
    if (key.view() == "role" && v.is_string() && std::ranges::find(roles, v.view()) != std::end(roles))
      v = author_text(v.view());
    if (key.view() == "content" && v.is_string() && taken == contents::parts) {
      v = value(form::list, values{part("text", v)});
      out->depth = std::max(out->depth, nested(v.depth()));
    }
  }
  // Names in use for a thought; transformers passes it on under the first two.
  const value* thought = nullptr;
  for (const char* name : {"reasoning_content", "thinking", "reasoning"})
    if (const value* v = from->find(name); v && !v->is_none() && !thought) thought = v;
  if (thought) {
    if (!out->find("thinking")) out->entries.insert(out->entries.begin(), {author_text("thinking"), *thought});
    put(*out, "reasoning_content", *thought);
  }
  return value::dict_ptr(std::move(out));
}

}  // namespace detail

struct conversation {
  value messages;  // a list of objects
  value tools{};   // a list of objects, or None
  bool add_generation_prompt = true;
  dict extra{};  // more variables, such as enable_thinking

  void set(std::string_view name, value v) { detail::put(extra, name, std::move(v)); }
};
// Makes a message.
inline value message(std::string_view role, std::string_view content) {
  dict m;
  detail::put(m, "role", text(role, origin::data));
  detail::put(m, "content", text(content, origin::data));
  return value::dict_ptr(std::make_shared<const dict>(std::move(m)));
}

// Makes a message that begins with parts of these types, "image" or "video", of which the template writes the places.
inline value message(std::string_view role, std::string_view content, std::span<const std::string_view> types) {
  if (types.empty()) return message(role, content);
  values parts;
  for (const std::string_view type : types) parts.push_back(detail::part(type));
  parts.push_back(detail::part("text", text(content, origin::data)));
  dict m;
  detail::put(m, "role", text(role, origin::data));
  detail::put(m, "content", {form::list, parts});
  return value::dict_ptr(std::make_shared<const dict>(std::move(m)));
}
inline value message(std::string_view role, std::string_view content, u64 images) {
  return message(role, content, std::vector<std::string_view>(images, "image"));
}

// `v`, if not null, supplies bos_token and the like, which may spell control tokens. Throws Error{malformed} unless
// messages are a list of objects.
inline dict names_of(const conversation& c, const vocabulary* v, contents taken = contents::any) {
  dict names;
  if (!c.messages.is_sequence(form::list))
    throw Error(errc::malformed, {}, "messages", "a list", type_name(c.messages));
  values messages;
  for (const value& m : c.messages.as_sequence()->items)
    messages.push_back(detail::message_of(m, messages.size(), taken));
  if (v) {
    const std::pair<const char*, u32> tokens[] = {
        {"bos_token", v->bos}, {"eos_token", v->eos}, {"pad_token", v->pad}, {"unk_token", v->unknown}};
    for (const auto& [name, id] : tokens)
      if (id != no_token) detail::put(names, name, author_text(v->tokens[id]));
  }
  detail::put(names, "messages", value(form::list, std::move(messages)));
  detail::put(names, "tools", c.tools);
  detail::put(names, "documents", {});
  detail::put(names, "add_generation_prompt", c.add_generation_prompt);
  for (const auto& [key, extra] : c.extra.entries) detail::put(names, key.view(), extra);
  return names;
}

}  // namespace cke::text::jinja
