// SPDX-License-Identifier: MIT
// request.hpp: a checked body as orders for the model.
#pragma once

#include <random>

#include "../text/jinja/chat_form.hpp"
#include "check.hpp"
#include "fields.hpp"
#include "image_source.hpp"
#include "job.hpp"

namespace cke::serve {

// The model that is served. Immutable, and outlives the server.
struct served_model {
  std::string id;
  const tokenizer& tokens;
  const chat_form* form;        // null: no chat template
  std::vector<u32> stop_ids;    // ids that end a text
  std::vector<u32> chat_stops;  // ids that end an answer
  u32 vocab_size = 0, context = 0;
  u32 dim = 0;  // of an embedding
  text::pooling pooling = text::pooling::last;
  const any_vision* vision = nullptr;  // null: the model sees no images
  fetch_function fetch{};              // of images; empty: none are fetched
};

// The prompts, and how to continue each of them.
struct generation_request {
  order how;  // without a prompt
  std::vector<std::vector<u32>> prompts;
  std::optional<u32> max_tokens;  // absent: all that the context has room for
  u32 n = 1, made = 1;            // answers to give to a prompt, the best of `made`
  bool stream = false, include_usage = false, echo = false;

  // One order for each answer to make, those of the first prompt first.
  std::vector<order> orders(u32 context) const {
    std::vector<order> all;
    for (const auto& prompt : prompts)
      for (u32 i = 0; i < made; ++i) {
        order& o = all.emplace_back(how);
        o.prompt = prompt;
        o.sample.seed += i;
        const u32 room = context - static_cast<u32>(prompt.size()) + 1;  // the last token need not be fed
        o.max_tokens = std::min(max_tokens.value_or(room), room);
      }
    return all;
  }
};

namespace detail {

inline const json* given(const json& o, std::string_view name) {
  const auto at = o.find(name);
  return at == o.end() || at->is_null() ? nullptr : &*at;
}
template <class T> T given_or(const json& o, std::string_view name, T otherwise) {
  const json* v = given(o, name);
  return v ? v->get<T>() : otherwise;
}
// An integer that the table keeps below 2^53.
inline u32 clipped(const json& v) { return static_cast<u32>(std::min<double>(v.get<double>(), 4294967295.0)); }
inline u32 clipped_or(const json& o, std::string_view name, u32 otherwise) {
  const json* v = given(o, name);
  return v ? clipped(*v) : otherwise;
}

inline u64 seed_of(const json& body) {
  if (const json* seed = given(body, "seed"))
    return seed->is_number_unsigned() ? seed->get<u64>() : static_cast<u64>(seed->get<i64>());
  std::random_device entropy;
  return u64{entropy()} << 32 | entropy();
}

inline sampling sampling_of(const json& body, const served_model& model) {
  sampling s;
  s.temperature = given_or(body, "temperature", 1.0f);
  s.top_k = clipped_or(body, "top_k", 0);
  s.top_p = given_or(body, "top_p", 1.0f);
  s.min_p = given_or(body, "min_p", 0.0f);
  s.typical_p = given_or(body, "typical_p", 1.0f);
  s.frequency_penalty = given_or(body, "frequency_penalty", 0.0f);
  s.presence_penalty = given_or(body, "presence_penalty", 0.0f);
  const json *penalty = given(body, "repetition_penalty"), *other = given(body, "repeat_penalty");
  if (penalty && other && *penalty != *other)
    throw bad_request("repeat_penalty: expected the same as repetition_penalty, or nothing", "repeat_penalty",
                      "invalid_value");
  if (penalty || other) s.repetition_penalty = (penalty ? penalty : other)->get<float>();
  s.repeat_last_n = clipped_or(body, "repeat_last_n", ~u32{0});
  s.seed = seed_of(body);
  if (const json* biases = given(body, "logit_bias"))
    for (const auto& [key, bias] : biases->items()) {
      const auto id = static_cast<u32>(std::stoul(key));
      if (id >= model.vocab_size)
        throw bad_request("logit_bias: expected ids below " + std::to_string(model.vocab_size) + ", found " + key,
                          "logit_bias", "invalid_value");
      s.logit_bias.push_back({id, bias.get<float>()});
    }
  return s;
}

inline void need_model(const json& body, const served_model& model) {
  const json* id = given(body, "model");
  if (id && *id != model.id)
    throw api_error(
        404, "invalid_request_error",
        "the model " + quote(id->get_ref<const std::string&>()) + " is not served here: " + quote(model.id) + " is",
        "model", "model_not_found");
}
inline void need_fits(std::size_t tokens, const served_model& model, const char* param) {
  if (tokens == 0)
    throw bad_request(std::string(param) + ": expected at least one token, found none", param, "invalid_value");
  if (tokens > model.context)
    throw bad_request("the context has " + std::to_string(model.context) + " positions, and the prompt has " +
                          std::to_string(tokens) + " tokens",
                      param, "context_length_exceeded");
}
inline void need_ids(std::span<const u32> ids, const served_model& model, const char* param) {
  for (const u32 id : ids)
    if (id >= model.vocab_size)
      throw bad_request(std::string(param) + ": expected ids below " + std::to_string(model.vocab_size) + ", found " +
                            std::to_string(id),
                        param, "invalid_value");
}

// Fields that completions and chat share.
inline generation_request common_request(const json& body, const served_model& model,
                                         const std::vector<u32>& stop_ids) {
  need_model(body, model);
  generation_request r;
  r.how.sample = sampling_of(body, model);
  if (!given_or(body, "ignore_eos", false)) r.how.stop_ids = stop_ids;
  if (const json* stop = given(body, "stop"))
    r.how.stop = stop->is_string() ? std::vector{stop->get<std::string>()} : stop->get<std::vector<std::string>>();
  r.how.min_tokens = clipped_or(body, "min_tokens", 0);
  r.n = r.made = clipped_or(body, "n", 1);
  r.stream = given_or(body, "stream", false);
  if (const json* options = given(body, "stream_options")) {
    if (!r.stream) throw bad_request("stream_options: only where stream is true", "stream_options", "invalid_value");
    r.include_usage = given_or(*options, "include_usage", false);
  }
  return r;
}

inline std::vector<u32> ids_of(const json& list) {
  std::vector<u32> ids;
  for (const json& id : list) ids.push_back(clipped(id));
  return ids;
}

// A text, ids, or a list of either. `control`: whether names of control tokens in a text become those tokens.
inline std::vector<std::vector<u32>> token_lists(const json& given, const served_model& model, bool control,
                                                 const char* param) {
  std::vector<std::vector<u32>> all;
  const auto add = [&](const json& one) {
    all.push_back(one.is_string() ? model.tokens.encode(one.get_ref<const std::string&>(),
                                                        {.parse_special = control, .add_special = true})
                                  : ids_of(one));
    need_fits(all.back().size(), model, param), need_ids(all.back(), model, param);
  };
  if (given.is_string() || given[0].is_number()) add(given);
  else
    for (const json& one : given) add(one);
  return all;
}

}  // namespace detail

// From a checked body of /v1/completions. Throws api_error.
inline generation_request completion_request(const json& body, const served_model& model) {
  using namespace detail;
  generation_request r = common_request(body, model, model.stop_ids);
  r.prompts = token_lists(body["prompt"], model, true, "prompt");
  r.echo = given_or(body, "echo", false);
  r.max_tokens = clipped_or(body, "max_tokens", 16);
  r.made = clipped_or(body, "best_of", r.n);
  r.how.ranked = r.made > r.n;
  if (r.made < r.n) throw bad_request("best_of: expected at least n", "best_of", "invalid_value");
  if (r.stream && r.made > r.n)
    throw bad_request("best_of: expected n where stream is true", "best_of", "invalid_value");
  if (const json* top = given(body, "logprobs")) {
    r.how.logprobs = true, r.how.top_logprobs = clipped(*top);
    r.how.prompt_logprobs = r.echo;
  }
  return r;
}

// From a checked body of /v1/embeddings, in at most `orders` orders: text i belongs to order i % orders. Throws
// api_error.
inline std::vector<order> embedding_orders(const json& body, const served_model& model, u32 most) {
  using namespace detail;
  need_model(body, model);
  order how;
  how.embed = {.pooling = model.pooling, .dimensions = clipped_or(body, "dimensions", 0)};
  if (how.embed.dimensions > model.dim)
    throw bad_request(
        "dimensions: expected at most " + std::to_string(model.dim) + ", found " + std::to_string(how.embed.dimensions),
        "dimensions", "invalid_value");
  auto texts = token_lists(body["input"], model, false, "input");
  std::vector<order> all(std::min<std::size_t>(texts.size(), most), how);
  for (std::size_t i = 0; i < texts.size(); ++i) all[i % all.size()].texts.push_back(std::move(texts[i]));
  return all;
}

// From a checked body of /v1/chat/completions and its rendered prompt. Throws api_error.
inline generation_request chat_request(const json& body, const served_model& model,
                                       std::span<const chat_segment> prompt) {
  using namespace detail;
  generation_request r = common_request(body, model, model.chat_stops);
  r.prompts.push_back(model.form->encode(prompt));
  need_fits(r.prompts[0].size(), model, "messages");
  const json *most = given(body, "max_completion_tokens"), *older = given(body, "max_tokens");
  if (most && older && *most != *older)
    throw bad_request("max_tokens: expected the same as max_completion_tokens, or nothing", "max_tokens",
                      "invalid_value");
  if (most || older) r.max_tokens = clipped(most ? *most : *older);
  r.how.logprobs = given_or(body, "logprobs", false);
  r.how.top_logprobs = clipped_or(body, "top_logprobs", 0);
  if (r.how.top_logprobs && !r.how.logprobs)
    throw bad_request("top_logprobs: only where logprobs is true", "top_logprobs", "invalid_value");
  return r;
}

}  // namespace cke::serve
