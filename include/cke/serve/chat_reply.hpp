// SPDX-License-Identifier: MIT
// chat_reply.hpp: the answer of /v1/chat/completions: thoughts, text and tool calls in their fields.
#pragma once

#include "../text/chat/thought_splitter.hpp"
#include "../text/chat/tool_calls.hpp"
#include "reply.hpp"

namespace cke::serve {

// How the model's text is parsed.
struct chat_reading {
  bool thoughts = false;             // the model can think
  bool in_thought = false;           // the prompt ended inside a thought
  const tool_form* calls = nullptr;  // null: calls stay text
  std::vector<tool_signature> tools{};
};

class chat_reply final : public generation_reply {
 public:
  chat_reply(const served_model& model, const generation_request& request, std::string id, const chat_reading& reading)
      : generation_reply(model, request, "chatcmpl-" + id, "chat.completion"), call_id_("call_" + id + '_') {
    for (u32 i = 0; i < request.n; ++i) {
      choice& c = choices_.emplace_back();
      if (reading.thoughts) c.thoughts.emplace(thought_marks{}, reading.in_thought);
      if (reading.calls) c.calls.emplace(*reading.calls, reading.tools);
    }
  }

  std::string opening() override {
    std::string events;
    for (std::size_t i = 0; i < choices_.size(); ++i)
      events += event(json::array({part(i, {{"role", "assistant"}, {"content", ""}})}));
    return events;
  }

 private:
  struct choice {
    std::optional<thought_splitter> thoughts{};
    std::optional<tool_call_parser> calls{};
    std::size_t called = 0;
    std::vector<token_report> tokens{};  // not sent yet
    // All of the answer so far.
    std::string thought{}, content{};
    json made = json::array(), logprobs = json::array(), finish = nullptr;
  };

  std::string event_object() const override { return "chat.completion.chunk"; }

  static json part(std::size_t index, json delta) {
    return {{"index", index}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
  }

  std::vector<json> parts(std::size_t index, delivery d) override {
    choice& c = choices_[index];
    std::vector<json> all;
    for (piece& p : d.pieces) {
      std::ranges::move(p.tokens, std::back_inserter(c.tokens));
      const std::size_t before = all.size();
      read(index, p.text, false, all);
      if (all.size() > before) attach(c, all[before]);
    }
    if (d.end == ending::running) return all;
    read(index, {}, true, all);
    json& last = all.emplace_back(part(index, json::object()));
    attach(c, last);
    last["finish_reason"] = d.end == ending::stop && c.called ? json("tool_calls") : finish_reason(d.end);
    return all;
  }

  // The delta that `text` adds; with `last`, also what was held back.
  void read(std::size_t index, std::string text, bool last, std::vector<json>& out) {
    choice& c = choices_[index];
    if (c.thoughts) {
      thought_splitter::part split = c.thoughts->feed(text);
      if (last) {
        const thought_splitter::part rest = c.thoughts->finish();
        split.thought += rest.thought, split.answer += rest.answer;
      }
      if (!split.thought.empty()) out.push_back(part(index, {{"reasoning_content", std::move(split.thought)}}));
      text = std::move(split.answer);
    }
    if (!c.calls) return add_content(index, std::move(text), out);
    std::vector<tool_part> found = c.calls->feed(text);
    if (last) std::ranges::move(c.calls->finish(), std::back_inserter(found));
    for (tool_part& t : found) {
      add_content(index, std::move(t.text), out);
      for (tool_call& call : t.calls) add_call(index, std::move(call), out);
    }
  }
  static void add_content(std::size_t index, std::string text, std::vector<json>& out) {
    if (!text.empty()) out.push_back(part(index, {{"content", std::move(text)}}));
  }
  // The arguments of a call come in a delta of their own, as clients expect.
  void add_call(std::size_t index, tool_call call, std::vector<json>& out) {
    const std::size_t i = choices_[index].called++;
    const std::string id = call_id_ + std::to_string(index) + '_' + std::to_string(i);
    const auto put = [&](json c) { out.push_back(part(index, {{"tool_calls", json::array({std::move(c)})}})); };
    put({{"index", i},
         {"id", id},
         {"type", "function"},
         {"function", {{"name", std::move(call.name)}, {"arguments", ""}}}});
    put({{"index", i}, {"function", {{"arguments", std::move(call.arguments)}}}});
  }

  void attach(choice& c, json& to) const {
    if (!request_.how.logprobs) return;
    const auto entry = [&](u32 id, float logprob) -> json {
      const std::string_view bytes = detail::bytes_of(id, model_.tokens);
      return {{"token", detail::valid_utf8(bytes)},
              {"logprob", detail::number_of(logprob)},
              {"bytes", detail::utf8_bytes(bytes)}};
    };
    json content = json::array();
    for (const token_report& t : c.tokens) {
      json e = entry(t.id, t.logprob);
      e["top_logprobs"] = json::array();
      for (const token_logprob& o : t.top) e["top_logprobs"].push_back(entry(o.id, o.logprob));
      content.push_back(std::move(e));
    }
    c.tokens.clear();
    to["logprobs"] = {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  void merge(std::size_t index, json p) override {
    choice& c = choices_[index];
    json& delta = p["delta"];
    if (const auto t = delta.find("reasoning_content"); t != delta.end()) c.thought += t->get_ref<const std::string&>();
    if (const auto t = delta.find("content"); t != delta.end()) c.content += t->get_ref<const std::string&>();
    if (const auto t = delta.find("tool_calls"); t != delta.end()) merge_call(c, (*t)[0]);
    if (!p["logprobs"].is_null())
      for (json& e : p["logprobs"]["content"]) c.logprobs.push_back(std::move(e));
    c.finish = std::move(p["finish_reason"]);
  }
  static void merge_call(choice& c, json& call) {
    if (call.contains("id")) {
      call.erase("index");
      return c.made.push_back(std::move(call));
    }
    c.made.back()["function"]["arguments"] = std::move(call["function"]["arguments"]);
  }
  json choices() override {
    json all = json::array();
    for (choice& c : choices_) {
      json message{{"role", "assistant"}, {"content", std::move(c.content)}};
      if (!c.made.empty() && message["content"].get_ref<const std::string&>().empty()) message["content"] = nullptr;
      if (!c.thought.empty()) message["reasoning_content"] = std::move(c.thought);
      if (!c.made.empty()) message["tool_calls"] = std::move(c.made);
      json logprobs = nullptr;
      if (request_.how.logprobs) logprobs = {{"content", std::move(c.logprobs)}, {"refusal", nullptr}};
      all.push_back({{"index", all.size()},
                     {"message", std::move(message)},
                     {"logprobs", std::move(logprobs)},
                     {"finish_reason", c.finish}});
    }
    return all;
  }

  std::string call_id_;
  std::vector<choice> choices_;
};

}  // namespace cke::serve
