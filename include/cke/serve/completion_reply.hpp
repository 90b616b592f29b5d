// SPDX-License-Identifier: MIT
// completion_reply.hpp: the answer of /v1/completions.
#pragma once

#include "../core/stable_order.hpp"
#include "reply.hpp"

namespace cke::serve {

class completion_reply final : public generation_reply {
 public:
  completion_reply(const served_model& model, const generation_request& request, std::string id)
      : generation_reply(model, request, std::move(id), "text_completion"),
        states_(request.prompts.size() * request.made) {
    if (request.echo)
      for (std::size_t i = 0; i < states_.size(); ++i) states_[i].echo = text_of(request.prompts[i / request.made]);
  }

 private:
  struct state {
    std::string echo;        // the prompt's text, if it comes first
    std::size_t offset = 0;  // of the next token, in characters
    std::string text{};
    json logprobs = nullptr, finish = nullptr;
  };

  std::string text_of(std::span<const u32> ids) const {
    std::string bytes;
    for (const u32 id : ids) bytes += detail::bytes_of(id, model_.tokens);
    return detail::valid_utf8(bytes);
  }

  std::vector<json> parts(std::size_t choice, delivery d) override {
    std::vector<json> all;
    state& s = states_[choice];
    const auto add = [&](std::string text, const std::vector<token_report>& tokens, ending end) {
      text.insert(0, std::exchange(s.echo, {}));
      all.push_back({{"text", std::move(text)},
                     {"index", choice},
                     {"logprobs", logprobs(s, tokens)},
                     {"finish_reason", finish_reason(end)}});
    };
    for (piece& p : d.pieces) add(std::move(p.text), p.tokens, ending::running);
    // Always an event of its own: how an answer is cut into events must not depend on how fast the client reads.
    if (d.end != ending::running) add({}, {}, d.end);
    return all;
  }
  json logprobs(state& s, const std::vector<token_report>& tokens) const {
    if (!request_.how.logprobs) return nullptr;
    json names = json::array(), values = json::array(), tops = json::array(), offsets = json::array();
    for (const token_report& t : tokens) {
      const std::string_view bytes = detail::bytes_of(t.id, model_.tokens);
      names.push_back(detail::valid_utf8(bytes));
      values.push_back(t.known ? detail::number_of(t.logprob) : json(nullptr));
      json top = json::object();
      for (const token_logprob& o : t.top)
        top.emplace(detail::valid_utf8(detail::bytes_of(o.id, model_.tokens)), detail::number_of(o.logprob));
      tops.push_back(t.known ? std::move(top) : json(nullptr));
      offsets.push_back(s.offset);
      s.offset += static_cast<std::size_t>(std::ranges::count_if(bytes, [](char c) { return (c & 0xc0) != 0x80; }));
    }
    return {{"tokens", names}, {"token_logprobs", values}, {"top_logprobs", tops}, {"text_offset", offsets}};
  }

  void merge(std::size_t choice, json part) override {
    state& s = states_[choice];
    s.text += part["text"].get_ref<const std::string&>();
    if (s.logprobs.is_null()) s.logprobs = part["logprobs"];
    else
      for (auto& [name, list] : part["logprobs"].items())
        s.logprobs[name].insert(s.logprobs[name].end(), list.begin(), list.end());
    s.finish = part["finish_reason"];
  }
  json choices() override {
    json all = json::array();
    for (std::size_t first = 0; first < states_.size(); first += request_.made)
      for (const std::size_t i : best_of(first)) {
        state& s = states_[i];
        all.push_back({{"text", std::move(s.text)},
                       {"index", all.size()},
                       {"logprobs", std::move(s.logprobs)},
                       {"finish_reason", s.finish}});
      }
    return all;
  }
  // The best answers to a prompt, of all that were made.
  std::vector<std::size_t> best_of(std::size_t first) const {
    const auto mean = [&](u32 i) { return counts(first + i).logprob / std::max(1u, counts(first + i).generated); };
    std::vector<std::size_t> best;
    for (const u32 i :
         stable_order(request_.made, [&](u32 a, u32 b) { return request_.how.ranked && mean(a) > mean(b); }))
      if (best.size() < request_.n) best.push_back(first + i);
    return best;
  }

  std::vector<state> states_;
};

}  // namespace cke::serve
