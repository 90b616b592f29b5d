// SPDX-License-Identifier: MIT
// reply.hpp: the interface of a reply, and what chat and completions share: choices, usage, events.
#pragma once

#include "../text/tokenizer/detokenizer.hpp"
#include "request.hpp"

namespace cke::serve {

namespace detail {

// A token's bytes may not be valid UTF-8, which JSON needs: invalid ones become U+FFFD.
inline std::string valid_utf8(std::string_view bytes) {
  utf8_stream stream;
  std::string text(stream.push(bytes));
  return text += stream.finish();
}
// The model may have more rows than the tokenizer has tokens; the text of those is empty.
inline std::string_view bytes_of(u32 id, const tokenizer& tokens) {
  return id < tokens.vocab_size() ? tokens.piece(id) : std::string_view{};
}
inline json utf8_bytes(std::string_view bytes) {
  json list = json::array();
  for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
  return list;
}
// JSON has no -inf; OpenAI writes this for probability 0.
inline json number_of(float logprob) { return std::max(logprob, -9999.0f); }

}  // namespace detail

// Collects what arrives for each order: a stream sends it as events, any other reply by whole() at the end.
class reply {
 public:
  virtual ~reply() = default;
  // The first and the last events of a stream.
  virtual std::string opening() { return {}; }
  virtual std::string closing() const { return {}; }
  // Adds a delivery; returns its events, for a stream.
  virtual std::string take(std::size_t order, delivery d) = 0;
  virtual std::string whole() = 0;
};

// Each order is a choice of the reply.
class generation_reply : public reply {
 public:
  generation_reply(const served_model& model, const generation_request& request, std::string id, std::string object)
      : model_(model),
        request_(request),
        id_(std::move(id)),
        object_(std::move(object)),
        created_(std::time(nullptr)),
        counts_(request.prompts.size() * request.made) {}

  std::string take(std::size_t choice, delivery d) override {
    counts_[choice] = d.counts;
    std::string events;
    for (json& part : parts(choice, std::move(d)))
      if (request_.stream) events += event(json::array({std::move(part)}));
      else merge(choice, std::move(part));
    return events;
  }
  std::string closing() const override {
    return (request_.include_usage ? event(json::array(), usage()) : std::string()) + "data: [DONE]\n\n";
  }
  std::string whole() override {
    json body = head(object_);
    body["choices"] = choices();
    body["usage"] = usage();
    return dump(body);
  }

 protected:
  // The new part of a choice, for a stream's event.
  virtual std::vector<json> parts(std::size_t choice, delivery d) = 0;
  virtual void merge(std::size_t choice, json part) = 0;
  virtual json choices() = 0;
  virtual std::string event_object() const { return object_; }

  static json finish_reason(ending end) {
    if (end == ending::running) return nullptr;
    return end == ending::length ? "length" : "stop";
  }
  std::string event(const json& choices, json use = nullptr) const {
    json e = head(event_object());
    e["choices"] = choices;
    if (request_.include_usage) e["usage"] = std::move(use);
    return "data: " + dump(e) + "\n\n";
  }
  json head(const std::string& object) const {
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_.id}};
  }
  // A prompt counts once, however many choices it has.
  json usage() const {
    u64 prompt = 0, cached = 0, generated = 0;
    for (const auto& ids : request_.prompts) prompt += ids.size();
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      generated += counts_[i].generated;
      if (i % request_.made == 0) cached += counts_[i].cached;
    }
    return {{"prompt_tokens", prompt},
            {"completion_tokens", generated},
            {"total_tokens", prompt + generated},
            {"prompt_tokens_details", {{"cached_tokens", cached}}}};
  }

  const token_counts& counts(std::size_t choice) const { return counts_[choice]; }

  const served_model& model_;
  const generation_request& request_;

 private:
  std::string id_, object_;
  std::time_t created_;
  std::vector<token_counts> counts_;
};

}  // namespace cke::serve
