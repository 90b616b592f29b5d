// SPDX-License-Identifier: MIT
// answer.cpp: cke_engine_ask: requests to the server's service, without a network.
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>

#include <cke/io/json_schema.hpp>
#include <cke/serve/routes.hpp>

#include "fault.hpp"
#include "state.hpp"
#include "with_grammar.hpp"

namespace cke::tool {
namespace {

using serve::json;

// Rung by the model's thread; wakes one who waits, through a condition variable or a descriptor.
class bell {
 public:
  ~bell() {
    if (fd_ >= 0) close(fd_);
  }
  void ring() {
    {
      const std::lock_guard turn(mutex_);
      rung_ = true;
      if (fd_ >= 0) add_one();
    }
    waiting_.notify_one();  // whoever wakes finds the mutex free
  }
  // False: nothing came in that time.
  bool wait(int32_t ms) {
    std::unique_lock turn(mutex_);
    const auto rung = [&] { return rung_; };
    if (ms < 0) waiting_.wait(turn, rung);
    else if (!waiting_.wait_for(turn, std::chrono::milliseconds(ms), rung)) return false;
    rung_ = false;
    if (u64 count; fd_ >= 0) [[maybe_unused]]
      const ssize_t n = ::read(fd_, &count, sizeof count);
    return true;
  }
  int32_t fd() {
    const std::lock_guard turn(mutex_);
    if (fd_ < 0 && (fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
      throw Error(errc::file, "eventfd", {}, "a descriptor", std::strerror(errno));
    if (rung_) add_one();
    return fd_;
  }

 private:
  void add_one() const {
    const u64 one = 1;
    [[maybe_unused]] const ssize_t n = ::write(fd_, &one, sizeof one);
  }

  std::mutex mutex_;
  std::condition_variable waiting_;
  bool rung_ = true;  // so that the first wait looks at the mailboxes
  int fd_ = -1;
};

// Of /generate: the text alone.
class plain_reply final : public serve::reply {
 public:
  std::string take(std::size_t, serve::delivery d) override {
    std::string text;
    for (serve::piece& p : d.pieces) text += p.text;
    return text;
  }
  std::string whole() override { return {}; }
};

class asked_answer final : public cke_engine_answer {
 public:
  asked_answer(std::shared_ptr<engine_state> of, std::unique_ptr<serve::generation_task> task, bool plain)
      : of_(std::move(of)), task_(std::move(task)), plain_(plain), streams_(plain || task_->request.stream) {
    if (plain_) task_->writer = std::make_unique<plain_reply>();
    else if (streams_) add_events(task_->writer->opening());
    for (serve::order& o : task_->orders)
      jobs_.push_back(std::make_shared<serve::job>(std::move(o), ~std::size_t{0}, [b = bell_] { b->ring(); }));
    ended_.resize(jobs_.size());
    if (!of_->desk().answers().work().submit(jobs_))
      throw Error(errc::cache_full, {}, "answers", "room for one more that waits", "none");
  }
  asked_answer(std::shared_ptr<engine_state> of, std::string text) : of_(std::move(of)), plain_(false), streams_(true) {
    parts_.push_back(std::move(text));
  }
  ~asked_answer() override { cancel(); }

  int32_t next(int32_t wait_ms, std::string_view& part) override {
    for (;;) {
      if (!parts_.empty()) {
        part_ = std::move(parts_.front());
        parts_.pop_front();
        part = part_;
        return CKE_ENGINE_PART;
      }
      if (done_) return CKE_ENGINE_END;
      if (jobs_.empty()) done_ = true;
      else if (std::ranges::all_of(ended_, std::identity{})) finish();
      else if (!bell_->wait(wait_ms)) return CKE_ENGINE_WAITING;
      else collect();
    }
  }
  int32_t fd() override { return bell_->fd(); }
  void cancel() override {
    for (const auto& j : jobs_) j->cancelled = true;
  }
  cke_engine_ending end() const override { return ending_; }

 private:
  void collect() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (ended_[i]) continue;
      serve::delivery d = jobs_[i]->box.take();
      if (d.pieces.empty() && d.end == serve::ending::running) continue;
      ended_[i] = d.end != serve::ending::running;
      ending_.prompt = d.counts.prompt, ending_.cached = d.counts.cached, ending_.generated = d.counts.generated;
      if (d.end == serve::ending::failed) {
        cancel();
        done_ = true, ending_.why = CKE_ENGINE_CANCELLED;
        throw answer_failure{d.error};
      }
      if (d.end == serve::ending::cancelled) cut_ = true;
      if (ended_[i])
        ending_.why = cut_                   ? CKE_ENGINE_CANCELLED
            : d.end == serve::ending::length ? CKE_ENGINE_TOO_LONG
                                             : CKE_ENGINE_STOPPED;
      std::string text = task_->writer->take(i, std::move(d));
      if (!plain_) add_events(text);
      else if (!text.empty()) parts_.push_back(std::move(text));
    }
  }
  void finish() {
    done_ = true;
    if (cut_ || plain_) return;
    if (streams_) add_events(task_->writer->closing());
    else parts_.push_back(task_->writer->whole());
  }
  // The JSON of server-sent events, each of which is "data: JSON" and an empty line.
  void add_events(std::string_view text) {
    constexpr std::string_view begin = "data: ", end = "\n\n";
    while (text.starts_with(begin)) {
      const std::size_t to = text.find(end);
      const std::string_view event = text.substr(begin.size(), to - begin.size());
      if (event != "[DONE]") parts_.emplace_back(event);
      text.remove_prefix(to + end.size());
    }
  }

  const std::shared_ptr<engine_state> of_;
  std::unique_ptr<serve::generation_task> task_;
  const bool plain_, streams_;
  const std::shared_ptr<bell> bell_ = std::make_shared<bell>();
  std::vector<std::shared_ptr<serve::job>> jobs_;
  std::vector<bool> ended_;
  std::deque<std::string> parts_;
  std::string part_;
  cke_engine_ending ending_{};
  bool done_ = false, cut_ = false;
};

const serve::route& route_of(std::string_view path) {
  for (const serve::route& r : serve::routes)
    if (r.does != serve::action::page && serve::matches(r, path)) return r;
  throw Error(errc::usage, {}, "path", "a route of docs/serve.md, or /generate", std::string(path));
}
bool generates(serve::action a) {
  return a == serve::action::completions || a == serve::action::chat || a == serve::action::embeddings;
}

}  // namespace

std::string with_grammar(std::string_view text) {
  json body = json::parse(text, nullptr, false);
  if (body.is_discarded() || !body.is_object()) return std::string(text);  // the server's reader says what is wrong
  const auto schema = body.find("json_schema");
  if (schema == body.end()) return std::string(text);
  if (!schema->is_null()) {
    if (!schema->is_object()) throw Error(errc::usage, {}, "json_schema", "an object", serve::detail::type_of(*schema));
    if (serve::detail::given(body, "grammar"))
      throw Error(errc::usage, {}, "json_schema", "no grammar beside it", "one");
    body["grammar"] = json_schema_gbnf(*schema, "json_schema");
  }
  body.erase("json_schema");
  return serve::dump(body);
}

}  // namespace cke::tool

using namespace cke;
using namespace cke::tool;

cke_engine_answer* cke_engine_ask(cke_engine* e, const char* path, const char* body, size_t bytes,
                                  cke_engine_error* error) noexcept {
  return caught<cke_engine_answer*>(error, nullptr, [&]() -> cke_engine_answer* {
    need(e, "engine"), need(path, "path");
    const std::span<const char> given = span_of(body, bytes, "body");
    const std::string_view where = path, text(given.data(), given.size());
    const bool plain = where == "/generate";
    const serve::route& r = route_of(plain ? "/v1/completions" : where);
    const serve::service& answers = e->state->desk().answers();
    if (!generates(r.does)) return new asked_answer(e->state, answers.answer(r, where, text));
    auto task = answers.task(r, plain ? with_grammar(text) : text, 0);
    if (task->unseen) answers.see(*task);
    if (plain && (task->request.echo || task->request.how.logprobs))
      throw Error(errc::usage, {}, task->request.echo ? "echo" : "logprobs", "nothing, where parts are plain text",
                  "it");
    if (plain && task->orders.size() != 1)
      throw Error(errc::usage, {}, "prompt", "one, for one answer", concat({u64{task->orders.size()}}));
    return new asked_answer(e->state, std::move(task), plain);
  });
}

int32_t cke_engine_answer_next(cke_engine_answer* a, int32_t wait_ms, const char** part, size_t* bytes,
                               cke_engine_error* error) noexcept {
  return caught<int32_t>(error, CKE_ENGINE_FAILED, [&] {
    need(a, "answer"), need(part, "part"), need(bytes, "bytes");
    const std::unique_lock held(a->busy, std::try_to_lock);
    if (!held) throw Error(errc::usage, {}, "answer", "one that no other call uses", "one that is in use");
    std::string_view text;
    const int32_t what = a->next(wait_ms, text);
    *part = text.data(), *bytes = text.size();
    return what;
  });
}
int32_t cke_engine_answer_fd(cke_engine_answer* a, cke_engine_error* error) noexcept {
  return caught<int32_t>(error, -1, [&] { return need(a, "answer"), a->fd(); });
}
void cke_engine_answer_cancel(cke_engine_answer* a) noexcept {
  if (a) a->cancel();
}
cke_engine_ending cke_engine_answer_end(const cke_engine_answer* a) noexcept {
  return a ? a->end() : cke_engine_ending{};
}
void cke_engine_answer_free(cke_engine_answer* a) noexcept { delete a; }
