// SPDX-License-Identifier: MIT
// session.cpp: sessions of cke_engine.h, and the texts that continue them.
#include <cke/generate.hpp>
#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/grammar/grammar_filter.hpp>

#include "fault.hpp"
#include "state.hpp"
#include "with_grammar.hpp"

namespace cke::tool {

session_use::session_use(session_state& s, bool by_answer) : state_(s), held_(s.busy, std::try_to_lock) {
  if (!held_ || (s.answering && !by_answer))
    throw Error(errc::usage, {}, "session", "one that no other call and no answer uses",
                held_ ? "one with an answer that has not ended" : "one in use");
}

namespace {

using serve::json;

// The options of an answer, and what its grammar needs.
struct wanted_answer {
  generate_options options;
  std::unique_ptr<token_filter> filter;
  std::vector<u32> stop_ids;
};
wanted_answer answer_of(engine_state& of, std::string_view text) {
  const tokenizer& tokens = of.tokens();
  json body = serve::parse_body(with_grammar(text.empty() ? "{}" : text), limits_of_requests());
  body["prompt"] = json::array({0});  // the ids come beside the options
  serve::check(body, serve::fields::completion);
  const serve::served_model model{.id = {},
                                  .tokens = tokens,
                                  .form = nullptr,
                                  .stop_ids = of.model().stop_ids,
                                  .chat_stops = {},
                                  .vocab_size = of.engine().vocab_size(),
                                  .context = of.engine().context()};
  const serve::generation_request r = serve::completion_request(body, model);
  for (const char* other : {"n", "best_of", "echo", "logprobs"})
    if (serve::detail::given(body, other)) throw Error(errc::usage, {}, other, "nothing, for a session", "it");
  wanted_answer w{{.max_tokens = *r.max_tokens,
                   .min_tokens = r.how.min_tokens,
                   .sample = r.how.sample,
                   .stop = r.how.stop,
                   .overflow = overflow::stop},
                  nullptr,
                  r.how.stop_ids};
  if (const serve::wanted_grammar form = serve::completion_constraint(body); form.of) {
    auto trie = std::make_shared<const token_trie>(tokens);
    w.filter =
        std::make_unique<grammar_filter>(std::make_shared<token_grammar>(form.of, std::move(trie)), tokens, w.stop_ids);
  }
  w.options.filter = w.filter.get();
  return w;
}

class session_answer final : public cke_engine_answer {
 public:
  session_answer(std::shared_ptr<session_state> of, std::span<const u32> ids, wanted_answer wanted)
      : of_(std::move(of)),
        filter_(std::move(wanted.filter)),
        stop_ids_(std::move(wanted.stop_ids)),
        text_(*of_->session, &of_->of->tokens(), stop_ids_),
        prompt_(static_cast<u32>(ids.size())) {
    wanted.options.cancel = &cancelled_;
    const session_use use(*of_);
    answer_.emplace(text_, ids, std::move(wanted.options));
    after_prompt_ = of_->session->position();
    of_->answering = true;
  }
  ~session_answer() override {
    const std::lock_guard turn(of_->busy);
    if (!done_) of_->answering = false;
  }

  int32_t next(int32_t, std::string_view& part) override {
    if (done_) return CKE_ENGINE_END;
    const session_use use(*of_, true);
    try {
      if (!at_) at_.emplace(answer_->begin());
      else ++*at_;
      if (*at_ != answer_->end()) return part = **at_, CKE_ENGINE_PART;
      // As cke run --save-session: the session has the whole answer, as far as the context has room.
      const auto rest = answer_->ids().subspan(use->position() - after_prompt_);
      if (answer_->finish() != finish::cancelled && !rest.empty() && use->position() < use->context()) use->feed(rest);
    } catch (...) {
      end_use();
      throw;
    }
    end_use();
    return CKE_ENGINE_END;
  }
  void cancel() override { cancelled_ = true; }
  cke_engine_ending end() const override {
    static constexpr int32_t whys[] = {CKE_ENGINE_RUNNING, CKE_ENGINE_STOPPED, CKE_ENGINE_TOO_LONG,
                                       CKE_ENGINE_CANCELLED};
    return {whys[static_cast<int>(answer_->finish())], prompt_, 0, static_cast<u32>(answer_->ids().size())};
  }

 private:
  void end_use() { done_ = true, of_->answering = false; }

  const std::shared_ptr<session_state> of_;
  const std::unique_ptr<token_filter> filter_;
  const std::vector<u32> stop_ids_;
  text_session text_;
  const u32 prompt_;
  u32 after_prompt_ = 0;
  std::atomic<bool> cancelled_ = false;
  std::optional<generation<text_session>> answer_;
  std::optional<generation<text_session>::iterator> at_;
  bool done_ = false;
};

cke_engine_session* session_of(const std::shared_ptr<engine_state>& of, std::unique_ptr<any_session> session) {
  auto state = std::make_shared<session_state>(of, std::move(session));
  return new cke_engine_session{std::move(state)};
}
session_state& state_of(const cke_engine_session* s) {
  need(s, "session");
  return *s->state;
}

}  // namespace
}  // namespace cke::tool

using namespace cke;
using namespace cke::tool;

cke_engine_session* cke_engine_session_create(cke_engine* e, cke_engine_error* error) noexcept {
  return caught<cke_engine_session*>(error, nullptr, [&] {
    need(e, "engine");
    return session_of(e->state, e->state->engine().open());
  });
}
cke_engine_session* cke_engine_session_fork(const cke_engine_session* s, cke_engine_error* error) noexcept {
  return caught<cke_engine_session*>(error, nullptr, [&] {
    session_state& state = state_of(s);
    return session_of(state.of, session_use(state)->fork());
  });
}
void cke_engine_session_free(cke_engine_session* s) noexcept { delete s; }

int32_t cke_engine_session_feed(cke_engine_session* s, const uint32_t* ids, size_t count,
                                cke_engine_error* error) noexcept {
  return status_of(error, [&] { session_use(state_of(s))->feed(span_of(ids, count, "ids")); });
}
int32_t cke_engine_session_feed_all(cke_engine_session* s, const uint32_t* ids, size_t count, float* rows, size_t room,
                                    cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    session_state& state = state_of(s);
    const std::size_t vocab = state.of->engine().vocab_size();
    const auto given = span_of(ids, count, "ids");
    if (count > 0) need(rows, "rows");
    u64 wanted = 0;
    if (!checked_mul(count, vocab, wanted) || room < wanted)
      throw Error(errc::usage, {}, "rows", concat({"room for ", u64{count}, " x ", u64{vocab}, " numbers"}),
                  concat({u64{room}}));
    session_use(state)->feed_all(
        given, [&](u32 i, std::span<const float> row) { std::ranges::copy(row, rows + std::size_t{i} * vocab); });
  });
}
int32_t cke_engine_sessions_feed(const cke_engine_turn* turns, size_t count, cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    if (count == 0) return;
    std::vector<session_use> uses;
    std::vector<turn> all;
    uses.reserve(count), all.reserve(count);
    const engine_state* of = nullptr;
    for (const cke_engine_turn& t : span_of(turns, count, "turns")) {
      session_state& state = state_of(t.session);
      if (of && state.of.get() != of)
        throw Error(errc::usage, {}, concat({"turn ", u64{all.size()}}), "a session of the same engine as the first",
                    "one of another engine");
      of = state.of.get();
      all.push_back({uses.emplace_back(state).operator->(), span_of(t.ids, t.count, "ids")});
    }
    of->engine().feed_together(all);
  });
}
const float* cke_engine_session_logits(const cke_engine_session* s, cke_engine_error* error) noexcept {
  return caught<const float*>(error, nullptr, [&] {
    const session_use use(state_of(s));
    if (use->position() == 0) throw Error(errc::usage, {}, "logits", "a session that was fed", "one at position 0");
    return use->logits().data();
  });
}
uint32_t cke_engine_session_position(const cke_engine_session* s) noexcept {
  return s ? s->state->session->position() : 0;
}
int32_t cke_engine_session_history(const cke_engine_session* s, cke_engine_take_ids take, void* user,
                                   cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    need(reinterpret_cast<const void*>(take), "take");
    const session_use use(state_of(s), true);
    take(user, use->history().data(), use->history().size());
  });
}
int32_t cke_engine_session_rewind(cke_engine_session* s, uint32_t position, cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    const session_use use(state_of(s));
    if (position > use->position())
      throw Error(errc::usage, {}, "rewind", concat({"a position of at most ", use->position()}), concat({position}));
    use->rewind(position);
  });
}
int32_t cke_engine_session_save(const cke_engine_session* s, const char* path, cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    need(path, "path");
    session_use(state_of(s))->save(path);
  });
}
int32_t cke_engine_session_load(cke_engine_session* s, const char* path, cke_engine_error* error) noexcept {
  return status_of(error, [&] {
    need(path, "path");
    session_use(state_of(s))->load(path);
  });
}
cke_engine_answer* cke_engine_session_generate(cke_engine_session* s, const uint32_t* ids, size_t count,
                                               const char* options, size_t bytes, cke_engine_error* error) noexcept {
  return caught<cke_engine_answer*>(error, nullptr, [&]() -> cke_engine_answer* {
    session_state& state = state_of(s);
    const auto text = span_of(options, bytes, "options");
    return new session_answer(s->state, span_of(ids, count, "ids"), answer_of(*state.of, {text.data(), text.size()}));
  });
}
