// SPDX-License-Identifier: MIT
// scheduler.hpp: continuous batching: a thread, a queue, and slots that take each pass over the weights together.
#pragma once

#include <condition_variable>
#include <deque>
#include <thread>

#include "grammar_shelf.hpp"
#include "metrics.hpp"
#include "slot.hpp"
#include "trace.hpp"

namespace cke::serve {

struct scheduler_options {
  u32 slots = 4;                 // answers that run at the same time
  u32 queue = 64;                // answers that may wait
  u32 chunk = 512;               // prompt tokens of one step at most, so that running answers do not wait for long
  bool share = true;             // prefix cache: the common prefix of prompts is computed once, also across clients
  bool slide = false;            // answers continue beyond the context
  u32 draft = 0;                 // ids guessed ahead in one step, for all answers together
  any_model* smaller = nullptr;  // the model that guesses them; null: ngram_draft
  trace_file* trace = nullptr;   // of passes and requests, or null
};

// What /slots shows.
struct slot_view {
  bool busy = false;
  token_counts counts{};
  u32 prompt = 0, held = 0;  // tokens: of the job's prompt; in the cache
};

class scheduler {
 public:
  scheduler(any_model& model, const tokenizer& tokens, const scheduler_options& options, metrics& count)
      : model_(model), tokens_(tokens), options_(options), count_(count), grammars_(tokens) {
    for (u32 i = 0; i < options.slots; ++i) {
      slots_.emplace_back(model.open(), options.draft && options.smaller ? options.smaller->open() : nullptr);
      if (options.slide) slots_.back().cache().slide();
    }
    views_.resize(slots_.size());
    thread_ = std::thread([this] { loop(); });
  }
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  ~scheduler() { close(); }

  // Running and waiting jobs end as cancelled, and no more are accepted.
  void close() {
    {
      const std::lock_guard turn(mutex_);
      stopping_ = true;
    }
    work_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  // Takes all of the jobs, or none and returns false if the queue has no room for all.
  bool submit(std::span<const std::shared_ptr<job>> jobs) {
    {
      const std::lock_guard turn(mutex_);
      if (stopping_ || waiting_.size() + running_ + jobs.size() > options_.queue + slots_.size()) return false;
      waiting_.insert(waiting_.end(), jobs.begin(), jobs.end());
      count_.requests += jobs.size(), count_.queued = waiting_.size();
    }
    work_.notify_one();
    return true;
  }
  // Whether no job runs or waits.
  bool idle() const {
    const std::lock_guard turn(mutex_);
    return running_ == 0 && waiting_.empty();
  }
  std::vector<slot_view> views() const {
    const std::lock_guard turn(mutex_);
    return views_;
  }
  const scheduler_options& options() const { return options_; }

 private:
  void loop() {
    for (;;) {
      {
        std::unique_lock turn(mutex_);
        work_.wait(turn, [&] { return stopping_ || running_ || !waiting_.empty(); });
        if (stopping_) break;
        give_up();
        admit();
        look();
      }
      step();
    }
    const std::lock_guard turn(mutex_);
    for (const auto& j : waiting_) j->box.close(ending::cancelled, {});
    waiting_.clear();
    for (slot& s : slots_) {
      if (s.free()) continue;
      trace(s, ending::cancelled);
      s.end(ending::cancelled);
    }
    running_ = 0;
  }

  // Ends cancelled jobs, whether they run or wait.
  void give_up() {
    for (slot& s : slots_)
      if (s.what() && s.what()->cancelled) leave(s, ending::cancelled);
    std::erase_if(waiting_, [&](const std::shared_ptr<job>& j) {
      if (!j->cancelled) return false;
      j->box.close(ending::cancelled, {});
      if (options_.trace) options_.trace->add(*j, {}, {}, ending::cancelled);
      ++count_.cancelled;
      return true;
    });
  }

  // First come, first served. A job gets the free slot with the longest prefix of its prompt; of equal ones, the least
  // recently used.
  void admit() {
    while (!waiting_.empty()) {
      const std::shared_ptr<job> next = waiting_.front();
      slot* best = nullptr;
      u32 kept = 0;
      for (slot& s : slots_) {
        if (!s.free()) continue;
        const u32 reusable = s.reusable(next->what);
        if (!best || reusable > kept || (reusable == kept && s.last_used() < best->last_used()))
          best = &s, kept = reusable;
      }
      if (!best) break;
      waiting_.pop_front();
      try {
        best->begin(next, tokens_, model_, options_.share, ++uses_, grammars_.filter(next->what));
        best->times = {.begun = clock::now(), .first_token = {}};
        ++running_, count_.cached_tokens += best->counts().cached;
        count_.queue_seconds.add(seconds_since(next->asked));
      } catch (const std::exception& e) {
        if (options_.trace) options_.trace->add(*next, {}, {}, ending::failed);
        next->box.close(ending::failed, {}, e.what());
      }
    }
    count_.queued = waiting_.size(), count_.running = running_;
  }

  // One pass over the weights: a token of every running answer with its share of the step's guesses after it, and at
  // most a chunk of prompts, taken in turn.
  void step() {
    struct part {
      slot* of;
      u32 count;
    };
    std::vector<part> parts;
    std::vector<turn> turns;
    const auto add = [&](slot& s, std::span<const u32> ids) {
      parts.push_back({&s, static_cast<u32>(ids.size())});
      turns.push_back(s.taking(ids));
    };
    const auto under_way = static_cast<u32>(std::ranges::count_if(slots_, &slot::decoding));
    u32 rows = 0;
    std::vector<wish> wishes;
    for (slot& s : slots_)
      if (s.decoding()) wishes.push_back(s.wishes(options_.draft / under_way));
    if (options_.smaller) guess_by_model(*options_.smaller, wishes, options_.chunk);
    else std::ranges::for_each(wishes, guess_by_text);
    std::vector<std::span<const u32>> guesses;
    for (slot& s : slots_)
      if (s.decoding())
        guesses.push_back(s.guessed(wishes[guesses.size()])), rows += static_cast<u32>(guesses.back().size());
    count_.draft_tokens += rows - under_way;
    const u32 most = std::max<u32>(1, options_.chunk - std::min<u32>(options_.chunk, rows));
    u32 room = most, prompt_rows = 0;
    std::vector<part> alone;
    first_ = (first_ + 1) % slots_.size();
    for (std::size_t i = 0; i < slots_.size() && room > 0; ++i) {
      slot& s = slots_[(first_ + i) % slots_.size()];
      if (!s.in_prompt()) continue;
      const auto ids = s.wanted(room, options_.chunk, room == most);
      if (ids.empty()) continue;
      room -= std::min(room, static_cast<u32>(ids.size()));
      prompt_rows += static_cast<u32>(ids.size());
      if (s.what()->what.prompt_logprobs) alone.push_back({&s, static_cast<u32>(ids.size())});
      else add(s, ids);
    }
    count_.prompt_tokens += prompt_rows;
    // Prompts come first: rows before the first requested logits stop early (executor::run_layers).
    for (std::size_t next = 0; slot & s : slots_)
      if (s.decoding()) add(s, guesses[next++]);
    const auto begun = clock::now();
    const std::vector<std::string> errors = feed_together(model_, turns);
    for (std::size_t i = 0; i < parts.size(); ++i) advance(*parts[i].of, parts[i].count, errors[i]);
    for (const part& p : alone)
      advance(*p.of, p.count, error_of([&] { p.of->feed_with_logprobs(p.of->wanted(p.count)); }));
    if (!parts.empty() || !alone.empty()) {
      const auto conversations = static_cast<u32>(parts.size() + alone.size());
      ++count_.passes, count_.pass_rows += conversations;
      count_.pass_nanoseconds += static_cast<u64>(seconds_since(begun) * 1e9);
      if (options_.trace)
        options_.trace->add({conversations, prompt_rows, rows, rows - under_way}, begun, clock::now());
    }
  }

  void advance(slot& s, u32 count, std::string error) {
    const bool first = s.counts().generated == 0;
    if (error.empty())
      error = error_of([&] {
        const u32 made = s.fed(count);
        if (made == 0) return;
        count_.generated_tokens += made, count_.draft_accepted_tokens += made - 1;
        const double seconds = seconds_since(first ? s.what()->asked : s.last_token);
        for (u32 i = 0; i < made; ++i) (first ? count_.first_token_seconds : count_.token_seconds).add(seconds / made);
        s.last_token = clock::now();
        if (first) s.times.first_token = s.last_token;
      });
    const std::lock_guard turn(mutex_);
    if (!error.empty()) leave(s, ending::failed, std::move(error));
    else if (s.progress() != ending::running) leave(s, s.progress());
  }
  void leave(slot& s, ending why, std::string error = {}) {
    if (why == ending::cancelled) ++count_.cancelled;
    trace(s, why);
    s.end(why, std::move(error));
    --running_, count_.running = running_;
    look();
  }

  void trace(const slot& s, ending why) {
    if (options_.trace) options_.trace->add(*s.what(), s.times, s.counts(), why);
  }

  void look() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slot& s = slots_[i];
      views_[i] = {!s.free(), s.counts(), s.what() ? static_cast<u32>(s.what()->what.tokens()) : 0,
                   static_cast<u32>(s.cache().history().size())};
    }
  }
  static double seconds_since(clock::time_point then) {
    return std::chrono::duration<double>(clock::now() - then).count();
  }

  any_model& model_;
  const tokenizer& tokens_;
  const scheduler_options options_;
  metrics& count_;
  grammar_shelf grammars_;
  std::vector<slot> slots_;
  std::size_t first_ = 0;  // the slot whose prompt goes first
  u64 uses_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::shared_ptr<job>> waiting_;
  std::vector<slot_view> views_;
  std::size_t running_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cke::serve
