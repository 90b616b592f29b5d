// SPDX-License-Identifier: MIT
// chat.hpp: renders a conversation into the text that a model was trained on.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../core/error.hpp"
#include "../../core/types.hpp"

namespace cke::text {

struct chat_message {
  std::string role;  // system, user or assistant
  std::string content;
};

// Trusted text comes from a template or contract, and special tokens in it are tokens. The rest comes from messages,
// and is only text. chat_encoder.hpp turns both into ids.
struct chat_segment {
  std::string text;
  bool trusted = false;
  bool operator==(const chat_segment&) const = default;
};

struct chat_options {
  bool add_generation_prompt = true;  // end with the start of the assistant's turn
  bool enable_thinking = true;        // for models whose thinking can be switched off
  std::string date = "26 Jul 2024";   // for templates that state the date
};

// The text around a message's content.
struct chat_turn {
  std::string_view prefix, suffix;
};

enum class system_mode : u8 {
  dedicated_turn,      // a turn of its own
  prepend_first_user,  // inside the first user message; then user and assistant must alternate
};

enum class thinking_mode : u8 {
  none,
  optional,  // an empty thought at the start of the answer suppresses it
  always,    // the answer starts inside a thought
};

// The chat format of a model family; chat_contracts.hpp has the built-in ones.
struct chat_contract {
  std::string_view name;
  std::array<std::string_view, 6> control{};  // special tokens in the fixed text
  std::array<std::string_view, 4> stop{};     // tokens that end an answer
  std::string_view bos{};                     // once, at the very start
  chat_turn system, user, assistant;
  std::string_view generation{};  // start of an answer
  system_mode system_place = system_mode::dedicated_turn;
  std::string_view default_system{};   // if the conversation has no system message first
  std::string_view system_preamble{};  // before the first system content; {date} is the date
  bool trim = false;                   // drop white space around the content
  thinking_mode thinking = thinking_mode::none;
  chat_turn thought{"<think>\n", "\n</think>\n\n"};
  // A user message of this form is a tool's response, not a question.
  chat_turn tool_response{"<tool_response>", "</tool_response>"};
};

namespace chat_detail {

// White space as Python's str.strip() defines it.
inline constexpr std::string_view python_space[] = {
    " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\x1c",   "\x1d",   "\x1e",   "\x1f",
    "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
    "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
inline constexpr std::string_view line_feed[] = {"\n"};

constexpr std::string_view strip_left(std::string_view s, std::span<const std::string_view> what) {
  for (;;) {
    const auto found = std::ranges::find_if(what, [&](auto w) { return s.starts_with(w); });
    if (found == what.end()) return s;
    s.remove_prefix(found->size());
  }
}
constexpr std::string_view strip_right(std::string_view s, std::span<const std::string_view> what) {
  for (;;) {
    const auto found = std::ranges::find_if(what, [&](auto w) { return s.ends_with(w); });
    if (found == what.end()) return s;
    s.remove_suffix(found->size());
  }
}
constexpr std::string_view strip(std::string_view s, std::span<const std::string_view> what) {
  return strip_left(strip_right(s, what), what);
}

// Collects segments and merges neighbours of equal trust.
class chat_writer {
 public:
  // Appends text of the contract.
  void fixed(std::string_view text) { add(text, true); }
  // Appends text of a message.
  void content(std::string_view text) { add(text, false); }
  std::vector<chat_segment> take() { return std::move(segments_); }

 private:
  void add(std::string_view text, bool trusted) {
    if (text.empty()) return;
    if (segments_.empty() || segments_.back().trusted != trusted) segments_.push_back({{}, trusted});
    segments_.back().text += text;
  }
  std::vector<chat_segment> segments_;
};

[[noreturn]] inline void fail_message(std::size_t index, std::string expected, std::string found) {
  throw Error(errc::usage, "", "chat message " + std::to_string(index), std::move(expected), std::move(found));
}

inline void check_roles(const chat_contract& contract, std::span<const chat_message> messages) {
  if (messages.empty()) throw Error(errc::usage, "", "chat", "at least one message", "none");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& role = messages[i].role;
    if (role != "system" && role != "user" && role != "assistant") {
      fail_message(i, "role system, user or assistant", role);
    }
  }
  if (contract.system_place == system_mode::dedicated_turn) return;
  const std::size_t first = messages[0].role == "system" ? 1 : 0;
  if (messages.size() == first) fail_message(first, "a user message", "none");
  for (std::size_t i = first; i < messages.size(); ++i) {
    const char* expected = (i - first) % 2 == 0 ? "user" : "assistant";
    if (messages[i].role != expected) fail_message(i, std::string("role ") + expected, messages[i].role);
  }
}

// Splits an assistant message into thought and answer, as Qwen3's template does.
struct reply {
  std::string_view thought, answer;
};
inline reply split_thought(const chat_contract& contract, std::string_view content) {
  const auto open = strip(contract.thought.prefix, line_feed);
  const auto close = strip(contract.thought.suffix, line_feed);
  const auto first = content.find(close);
  if (first == content.npos) return {{}, content};
  std::string_view thought = content.substr(0, first);
  if (const auto at = thought.rfind(open); at != thought.npos) thought.remove_prefix(at + open.size());
  const auto answer = content.substr(content.rfind(close) + close.size());
  return {strip(thought, line_feed), strip_left(answer, line_feed)};
}

// Index of the last question; thoughts before it are dropped from the history.
inline std::size_t last_question(const chat_contract& contract, std::span<const chat_message> messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    const auto& [role, content] = messages[i];
    if (role == "user" &&
        !(content.starts_with(contract.tool_response.prefix) && content.ends_with(contract.tool_response.suffix))) {
      return i;
    }
  }
  return messages.size();
}

inline void write_turn(chat_writer& out, const chat_turn& turn, std::string_view content) {
  out.fixed(turn.prefix);
  out.content(content);
  out.fixed(turn.suffix);
}

}  // namespace chat_detail

// Renders a conversation in the contract's format. The segments, joined, equal what the family's own template renders.
// Throws errc::usage for no messages, an unknown role, or an order of roles that the contract does not support.
inline std::vector<chat_segment> render(const chat_contract& contract, std::span<const chat_message> messages,
                                        const chat_options& options = {}) {
  using namespace chat_detail;
  check_roles(contract, messages);
  const auto trimmed = [&](std::string_view s) { return contract.trim ? strip(s, python_space) : s; };
  chat_writer out;
  out.fixed(contract.bos);

  const bool has_system = messages[0].role == "system";
  const bool dedicated = contract.system_place == system_mode::dedicated_turn;
  if (dedicated && (has_system || !contract.default_system.empty() || !contract.system_preamble.empty())) {
    constexpr std::string_view date = "{date}";
    const auto preamble = contract.system_preamble;
    const auto at = std::min(preamble.find(date), preamble.size());
    out.fixed(contract.system.prefix);
    out.fixed(preamble.substr(0, at));
    if (at < preamble.size()) {
      out.content(options.date);
      out.fixed(preamble.substr(at + date.size()));
    }
    if (has_system) out.content(trimmed(messages[0].content));
    else out.fixed(contract.default_system);
    out.fixed(contract.system.suffix);
  }

  const std::size_t first = has_system ? 1 : 0;
  const std::size_t question = last_question(contract, messages);
  for (std::size_t i = first; i < messages.size(); ++i) {
    const auto& [role, content] = messages[i];
    if (role == "system") {
      write_turn(out, contract.system, trimmed(content));
    } else if (role == "user" && i == first && has_system && !dedicated) {
      std::string both(contract.system.prefix);
      both += messages[0].content;
      both += contract.system.suffix;
      write_turn(out, contract.user, trimmed(both + content));
    } else if (role == "user") {
      write_turn(out, contract.user, trimmed(content));
    } else if (contract.thinking == thinking_mode::none) {
      write_turn(out, contract.assistant, trimmed(content));
    } else {
      const auto [thought, answer] = split_thought(contract, content);
      const bool shown = i > question && (i + 1 == messages.size() || !thought.empty());
      out.fixed(contract.assistant.prefix);
      if (shown) write_turn(out, contract.thought, thought);
      out.content(shown ? strip_left(answer, line_feed) : answer);
      out.fixed(contract.assistant.suffix);
    }
  }

  if (options.add_generation_prompt) {
    out.fixed(contract.generation);
    const bool suppressed = contract.thinking == thinking_mode::optional && !options.enable_thinking;
    if (suppressed) write_turn(out, contract.thought, {});
    if (contract.thinking == thinking_mode::always) out.fixed(contract.thought.prefix);
  }
  return out.take();
}

inline std::string to_string(std::span<const chat_segment> segments) {
  std::string text;
  for (const auto& segment : segments) text += segment.text;
  return text;
}

}  // namespace cke::text
