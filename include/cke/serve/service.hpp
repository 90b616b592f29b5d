// SPDX-License-Identifier: MIT
// service.hpp: what each route does with a body, independent of the network.
#pragma once

#include "body.hpp"
#include "chat_reply.hpp"
#include "completion_reply.hpp"
#include "constraint.hpp"
#include "conversation.hpp"
#include "embedding_reply.hpp"
#include "openapi.hpp"
#include "scheduler.hpp"
#include "seen_images.hpp"

namespace cke::serve {

// A conversation whose images are not read yet.
struct unseen_chat {
  json body;
  read_messages read;
};

// A generation request: its orders, and the writer of its reply.
struct generation_task {
  generation_request request;
  std::unique_ptr<reply> writer;  // refers to `request`
  std::vector<order> orders;
  std::optional<unseen_chat> unseen{};  // service::see has to make the rest of it
  std::string id{};
  u32 owner = 0;
};

class service {
 public:
  // `facts`: the response of GET /facts. All arguments outlive the service.
  service(const served_model& model, scheduler& work, metrics& count, const request_limits& limits, std::string facts,
          std::string version, bool keys)
      : model_(model),
        work_(work),
        count_(count),
        limits_(limits),
        facts_(std::move(facts)),
        openapi_(dump(openapi_document(version, keys, model.tokens.vocab_size()))),
        started_(std::time(nullptr)),
        run_id_((u64{std::random_device{}()} << 32) | std::random_device{}()) {
    const vocabulary& v = model.tokens.vocabulary();
    const std::string form = v.chat_template + v.tool_template;
    form_.thoughts = form.find("</think>") != form.npos;
    form_.calls = tool_form_of(form);
    for (const added_token& t : v.added) {
      const std::string& text = v.tokens[t.id];
      const bool of_thought = form_.thoughts && (text == thought_marks{}.open || text == thought_marks{}.close),
                 of_call = form_.calls && form_.calls->has_mark(text);
      if (of_thought) (text == thought_marks{}.open ? form_.think : form_.end_think) = t.id;
      if (of_call && text == form_.calls->open) form_.open_mark = t.id;
      if (!t.special) continue;
      if (of_call) form_.call_marks.push_back(t.id);
      if (of_call || of_thought) shown_.push_back(t.id);  // answers are parsed by their text
    }
    std::ranges::sort(form_.call_marks), std::ranges::sort(shown_);
  }

  const metrics& counts() const { return count_; }
  metrics& counts() { return count_; }
  scheduler& work() { return work_; }
  const request_limits& limits() const { return limits_; }

  // The response of all routes except the generating ones and the page. `gone`: see need_client. Throws api_error.
  std::string answer(const route& r, std::string_view path, std::string_view text,
                     const std::atomic<bool>* gone = nullptr) const {
    switch (r.does) {
      case action::health: return dump({{"status", "ok"}});
      case action::models: return dump({{"object", "list"}, {"data", json::array({card()})}});
      case action::model: return model(path.substr(r.path.size()));
      case action::tokenize: return tokenize(checked(r, text));
      case action::detokenize: return detokenize(checked(r, text));
      case action::apply_template: return apply_template(checked(r, text), gone);
      case action::metrics: return count_.text();
      case action::slots: return slots();
      case action::facts: return facts_;
      default: return openapi_;
    }
  }

  // The task of a generating route's body. `owner`: the number of the API key. Throws api_error.
  std::unique_ptr<generation_task> task(const route& r, std::string_view text, u32 owner) const {
    json body = checked(r, text);
    auto t = std::make_unique<generation_task>();
    if (r.does == action::embeddings) {
      t->orders = embedding_orders(body, model_, std::min(work_.options().slots, work_.options().queue));
      std::size_t texts = 0;
      for (order& o : t->orders) texts += o.texts.size(), o.owner = owner;
      t->writer = std::make_unique<embedding_reply>(
          model_, texts, t->orders.size(), detail::given_or(body, "encoding_format", std::string()) == "base64");
      return t;
    }
    const std::string id = fresh_id();
    if (r.does == action::completions) {
      t->request = completion_request(body, model_);
      t->request.how.form = completion_constraint(body);
      t->writer = std::make_unique<completion_reply>(model_, t->request, "cmpl-" + id);
    } else {
      t->id = id, t->owner = owner;
      read_messages messages = messages_of(body);
      if (messages.images.empty()) write_chat(*t, body, messages.talk, {});
      else t->unseen.emplace(std::move(body), std::move(messages));
      return t;
    }
    t->request.how.owner = owner;
    t->orders = t->request.orders(model_.context);
    return t;
  }

  // Reads and encodes the images of a task that has some: this may take seconds. `gone`: see need_client. Throws
  // api_error.
  void see(generation_task& t, const std::atomic<bool>* gone = nullptr) const {
    const unseen_chat from = std::move(*t.unseen);
    t.unseen.reset();
    write_chat(t, from.body, from.read.talk, serve::see(from.read.images, model_, limits_, t.owner, count_, gone));
  }

 private:
  read_messages messages_of(const json& body) const {
    read_messages all = conversation_of(body, limits_);
    check_images(all.images, model_, limits_);
    return all;
  }
  void write_chat(generation_task& t, const json& body, const jinja::conversation& c, seen_images images) const {
    std::vector<chat_segment> prompt = rendered(c, model_);
    const chat_reading how = reading(body, c, to_string(prompt));
    put_images(prompt, images.outlines, model_);
    t.request = chat_request(body, model_, prompt);
    if (!images.held.empty())
      t.request.prompts[0] = with_images(t.request.prompts[0], model_.vision->markup(), images.held);
    t.request.how.images = std::move(images.held);
    t.request.how.shown = shown_;
    t.request.how.form = chat_constraint(body, form_, how.in_thought);
    t.request.how.owner = t.owner;
    t.writer = std::make_unique<chat_reply>(model_, t.request, t.id, how);
    t.orders = t.request.orders(model_.context);
  }
  json checked(const route& r, std::string_view text) const {
    json body = parse_body(text, limits_);
    check(body, r.body);
    return body;
  }

  json card() const {
    return {{"id", model_.id},
            {"object", "model"},
            {"created", started_},
            {"owned_by", "cke"},
            {"max_model_len", model_.context},
            {"input_modalities", model_.vision ? json::array({"text", "image"}) : json::array({"text"})},
            {"output_modalities", json::array({"text"})}};
  }
  std::string model(std::string_view id) const {
    if (id != model_.id)
      throw api_error(404, "invalid_request_error", "the model " + quote(id) + " is not served here", "model",
                      "model_not_found");
    return dump(card());
  }

  std::string tokenize(const json& body) const {
    const auto ids = model_.tokens.encode(body["content"].get_ref<const std::string&>(),
                                          {.parse_special = detail::given_or(body, "parse_special", true),
                                           .add_special = detail::given_or(body, "add_special", false)});
    return dump({{"tokens", ids}, {"count", ids.size()}});
  }
  std::string detokenize(const json& body) const {
    const auto ids = detail::ids_of(body["tokens"]);
    for (const u32 id : ids)
      if (id >= model_.tokens.vocab_size())
        throw bad_request("tokens: expected ids below " + std::to_string(model_.tokens.vocab_size()) + ", found " +
                              std::to_string(id),
                          "tokens", "invalid_value");
    return dump({{"content", detail::valid_utf8(model_.tokens.decode(ids))}});
  }
  std::string apply_template(const json& body, const std::atomic<bool>* gone) const {
    const read_messages messages = messages_of(body);
    auto prompt = rendered(messages.talk, model_);
    std::vector<io::image_outline> outlines;
    for (const wanted_image& image : messages.images)
      outlines.push_back(read_source(image, *model_.vision, limits_, model_.fetch, 0, gone).outline);
    put_images(prompt, outlines, model_);
    return dump({{"prompt", to_string(prompt)}, {"tokens", model_.form->encode(prompt)}});
  }
  std::string slots() const {
    json all = json::array();
    for (const slot_view& s : work_.views())
      all.push_back({{"id", all.size()},
                     {"busy", s.busy},
                     {"prompt_tokens", s.prompt},
                     {"prompt_done", s.counts.prompt},
                     {"cached_tokens", s.counts.cached},
                     {"generated", s.counts.generated},
                     {"held", s.held},
                     {"context", model_.context}});
    return dump(all);
  }

  chat_reading reading(const json& body, const jinja::conversation& c, std::string_view prompt) const {
    chat_reading r;
    r.thoughts = form_.thoughts;
    while (!prompt.empty() && (prompt.back() == '\n' || prompt.back() == ' ')) prompt.remove_suffix(1);
    r.in_thought = prompt.ends_with(thought_marks{}.open);
    if (c.tools.is_none()) return r;
    r.calls = form_.calls;
    for (const json& tool : body["tools"]) r.tools.push_back(read_tool_signature(tool["function"]));
    return r;
  }
  // Unique, and not guessable.
  std::string fresh_id() const {
    char text[40];
    std::snprintf(text, sizeof text, "%016llx%06llx", static_cast<unsigned long long>(run_id_),
                  static_cast<unsigned long long>(++ids_));
    return text;
  }

  const served_model& model_;
  scheduler& work_;
  metrics& count_;
  const request_limits& limits_;
  const std::string facts_, openapi_;
  const std::time_t started_;
  const u64 run_id_;
  mutable std::atomic<u64> ids_{};
  answer_form form_;
  std::vector<u32> shown_;
};

}  // namespace cke::serve
