// SPDX-License-Identifier: MIT
// scheduler.cpp: many answers at once: each as if it were alone, none kept waiting, every slot given back.
#include <cke/serve/scheduler.hpp>

#include <doctest/doctest.h>

#include <future>
#include <map>
#include <random>

#include <cke/text/grammar/gbnf.hpp>

#include "fake_model.hpp"

namespace scheduler_test {

using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::runtime;
using namespace cke::text;
using namespace cke::serve;

namespace {

// What arrived of a job, once it has ended.
struct outcome {
  std::string text{}, error{};
  ending end = ending::running;
  token_counts counts{};
  std::vector<token_report> tokens{};
  std::vector<std::vector<float>> vectors{};
  bool operator==(const outcome& o) const {
    return text == o.text && error == o.error && end == o.end && counts.generated == o.counts.generated;
  }
};

// A job that can be waited for.
class client {
 public:
  explicit client(order o) {
    job_ = std::make_shared<job>(std::move(o), most_unread, [state = state_] {
      const std::lock_guard turn(state->mutex);
      state->rung = true;
      state->bell.notify_one();
    });
  }
  static inline std::size_t most_unread = 1 << 20;
  const std::shared_ptr<job>& operator*() const { return job_; }
  void cancel() { job_->cancelled = true; }

  outcome wait() {
    outcome all;
    while (all.end == ending::running) {
      std::unique_lock turn(state_->mutex);
      REQUIRE(
          state_->bell.wait_for(turn, std::chrono::seconds(20), [&] { return std::exchange(state_->rung, false); }));
      turn.unlock();
      delivery d = job_->box.take();
      for (piece& p : d.pieces) {
        all.text += p.text;
        if (!p.embedding.empty()) all.vectors.push_back(std::move(p.embedding));
        all.tokens.insert(all.tokens.end(), p.tokens.begin(), p.tokens.end());
      }
      all.end = d.end, all.error = d.error, all.counts = d.counts;
    }
    return all;
  }

 private:
  struct state {
    std::mutex mutex;
    std::condition_variable bell;
    bool rung = false;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
  std::shared_ptr<job> job_;
};

order ask(std::string_view prompt, u32 max_tokens, u64 seed = 0, float temperature = 1) {
  order o;
  o.prompt = fake::ids(prompt), o.max_tokens = max_tokens, o.stop_ids = {fake::end_id};
  o.sample.seed = seed, o.sample.temperature = temperature;
  return o;
}

struct bench {
  explicit bench(scheduler_options options = {}, u32 context = 512)
      : model(context), work(model, tokens, options, count) {}
  outcome run(order o) {
    client c(std::move(o));
    REQUIRE(work.submit({{*c}}));
    return c.wait();
  }
  const tokenizer tokens = fake::bytes();
  fake::model model;
  metrics count;
  scheduler work;
};

// What becomes of all orders at once, each beside one of `length` tokens that is given up.
std::vector<outcome> in_company(bench& b, const std::vector<order>& orders, u32 length) {
  std::vector<client> wanted, given_up;
  for (const order& o : orders) {
    given_up.emplace_back(ask("nobody waits for this one", length));
    wanted.emplace_back(o);
    REQUIRE(b.work.submit({{*given_up.back()}}));
    REQUIRE(b.work.submit({{*wanted.back()}}));
    if (wanted.size() % 2) given_up.back().cancel();
  }
  for (client& c : given_up) c.cancel();
  std::vector<outcome> all;
  for (client& c : wanted) all.push_back(c.wait());
  for (client& c : given_up) c.wait();
  CHECK(b.work.idle());
  return all;
}

std::vector<order> mixture(u32 count) {
  std::mt19937 engine(7);
  const auto random = [&] { return static_cast<u32>(engine()); };
  std::vector<order> all;
  for (u32 i = 0; i < count; ++i) {
    std::string prompt = i % 3 ? "the same beginning, " : "";
    for (u32 n = 1 + random() % 90; n > 0; --n) prompt += static_cast<char>('a' + random() % 26);
    all.push_back(ask(prompt, 1 + random() % 60, i, i % 4 ? 1.0f : 0.0f));
    if (i % 5 == 0) all.back().stop = {"e", "zz"};
    if (i % 7 == 0) all.back().sample.frequency_penalty = 0.5f;
  }
  return all;
}

}  // namespace

TEST_CASE("each answer is the one that it gets alone, whatever runs or is cancelled beside it") {
  const auto orders = mixture(64);
  std::vector<outcome> alone;
  for (const order& o : orders) {
    bench b({.slots = 1});
    alone.push_back(b.run(o));
    CHECK(alone.back().counts.cached == 0);
  }
  u64 cached = 0;
  for (const u32 slots : {1u, 3u, 8u, 64u})
    for (const u32 chunk : {1u, 16u, 512u}) {
      bench b({.slots = slots, .queue = 200, .chunk = chunk});
      const std::vector<outcome> all = in_company(b, orders, 500);
      for (std::size_t i = 0; i < orders.size(); ++i) {
        CHECK(all[i] == alone[i]);
        cached += all[i].counts.cached;
      }
    }
  CHECK(cached > 0);  // or the caches were not under test
}

TEST_CASE("guesses change no answer, whoever guesses, and whatever runs or is cancelled beside it") {
  auto orders = mixture(40);
  for (u32 i = 0; i < orders.size(); i += 3) orders[i].logprobs = true, orders[i].top_logprobs = 2;
  orders.push_back(ask("up to where the context ends ", 227, 1, 0));
  orders.back().stop_ids = {};
  constexpr u32 context = 256;
  std::vector<outcome> alone;
  for (const order& o : orders) {
    bench b({.slots = 1}, context);
    alone.push_back(b.run(o));
    CHECK(b.count.draft_tokens == 0);
  }
  CHECK((alone.back().end == ending::length && alone.back().counts.generated == 227));
  fake::model smaller(context);  // guesses greedy answers right
  for (any_model* by : {static_cast<any_model*>(nullptr), static_cast<any_model*>(&smaller)})
    for (const u32 slots : {1u, 4u})
      for (const u32 draft : {1u, 7u, 64u}) {
        bench b({.slots = slots, .queue = 200, .chunk = 16, .draft = draft, .smaller = by}, context);
        const std::vector<outcome> all = in_company(b, orders, 200);
        for (std::size_t i = 0; i < orders.size(); ++i) {
          CHECK(all[i] == alone[i]);
          CHECK(std::ranges::equal(all[i].tokens, alone[i].tokens, [](const token_report& x, const token_report& y) {
            return x.id == y.id && x.logprob == y.logprob;
          }));
        }
        if (by && draft >= slots)
          CHECK((b.count.draft_accepted_tokens > 0 && b.count.draft_accepted_tokens < b.count.draft_tokens));
        for (const auto& p : b.model.passes()) {
          std::size_t rows = 0;
          for (const auto& turn : p.turns) rows += turn.second;
          CHECK(rows <= draft + 16 + slots);
        }
      }
}

TEST_CASE("a text that repeats itself comes in fewer passes, and the guesses of a step are shared") {
  bench b({.slots = 2, .draft = 4});
  b.model.script = "one two three, one two three, one two three, one two three. ";
  const outcome r = b.run(ask("x", 100, 0, 0));
  CHECK(r.text == b.model.script);
  const u64 accepted = b.count.draft_accepted_tokens;
  CHECK(accepted > 20);
  CHECK(b.model.passes().size() == 1 + r.counts.generated - accepted);
  for (const auto& p : b.model.passes()) CHECK(p.turns[0].second <= 5);

  bench both({.slots = 2, .draft = 1});  // none for either
  both.model.script = b.model.script;
  client one(ask("x", 100, 0, 0)), two(ask("y", 100, 0, 0));
  REQUIRE(both.work.submit({{*one, *two}}));
  CHECK(one.wait() == r);
  CHECK(two.wait() == r);
  CHECK(both.count.draft_tokens == 0);
}

TEST_CASE("a smaller model guesses for all answers in the same passes, the longest text last") {
  fake::model smaller;
  bench b({.slots = 3, .chunk = 40, .draft = 12, .smaller = &smaller});
  std::vector<client> clients;
  for (u32 i = 0; i < 3; ++i) clients.emplace_back(ask(std::string(10 + 30 * i, 'x'), 60, i, 0));
  REQUIRE(b.work.submit({{*clients[0], *clients[1], *clients[2]}}));
  for (client& c : clients) c.wait();
  std::size_t most = 0;
  for (const auto& p : smaller.passes()) {
    std::size_t ids = 0;
    for (const auto& t : p.turns) ids += t.second;
    CHECK(ids <= 40);
    most = std::max(most, p.turns.size());
  }
  CHECK(most == 3);
  // All but the first steps, in which texts are fed, guess 4 ids for each of three answers: in 4 passes, not 12.
  CHECK(b.count.draft_tokens > 100);
  CHECK(smaller.passes().size() < b.count.draft_tokens / 2);
}

TEST_CASE("a smaller model that fails for one answer guesses for the others") {
  fake::model smaller;
  smaller.poison = '#';
  bench both({.slots = 2, .draft = 8, .smaller = &smaller}), plain({.slots = 1});
  client one(ask("the # prompt", 30, 3, 0)), two(ask("no such letter", 30, 3, 0));
  REQUIRE(both.work.submit({{*one, *two}}));
  CHECK(one.wait() == plain.run(ask("the # prompt", 30, 3, 0)));
  CHECK(two.wait() == plain.run(ask("no such letter", 30, 3, 0)));
  CHECK(both.count.draft_accepted_tokens > 5);
  CHECK(both.count.draft_accepted_tokens <= 30);
}

TEST_CASE("a smaller model that fails guesses nothing, and the answer comes") {
  fake::model smaller;
  smaller.poison = 'p';
  bench b({.slots = 1, .draft = 4, .smaller = &smaller}), plain({.slots = 1});
  CHECK(b.run(ask("the prompt", 30, 3)) == plain.run(ask("the prompt", 30, 3)));
  CHECK(b.count.draft_tokens == 0);
}

TEST_CASE(
    "embeddings: those of a text alone, whatever runs beside it, several in one pass, and a text that fails takes no "
    "other along") {
  const auto embedded = [](std::initializer_list<std::string_view> texts, pooling how = pooling::mean) {
    order o;
    o.embed.pooling = how;
    for (const auto text : texts) o.texts.push_back(fake::ids(text));
    return o;
  };
  const std::string_view one = "a text of some length, longer than a chunk", two = "b", three = "the third";
  std::vector<outcome> alone;
  for (const auto text : {one, two, three}) {
    bench b({.slots = 1});
    alone.push_back(b.run(embedded({text})));
    CHECK(alone.back().end == ending::stop);
    REQUIRE(alone.back().vectors.size() == 1);
    CHECK(alone.back().vectors[0].size() == fake::dim);
    CHECK(alone.back().counts.prompt == text.size());
  }
  CHECK(alone[0].vectors != alone[1].vectors);
  bench b({.slots = 3, .chunk = 16});
  const outcome words = b.run(ask("words", 40, 5));
  client talks(ask("words", 40, 5)), many(embedded({two, one, three, two})), other(embedded({three})),
      broken(embedded({two, "p!"}));
  b.model.poison = '!';
  for (const auto& c : {&talks, &many, &broken, &other}) REQUIRE(b.work.submit({{**c}}));
  const outcome m = many.wait(), bad = broken.wait();
  CHECK(m.end == ending::stop);
  CHECK(m.counts.prompt == 2 * two.size() + one.size() + three.size());
  CHECK(m.vectors == std::vector{alone[1].vectors[0], alone[0].vectors[0], alone[2].vectors[0], alone[1].vectors[0]});
  CHECK(other.wait().vectors == alone[2].vectors);
  CHECK(talks.wait() == words);
  CHECK(bad.end == ending::failed);
  CHECK(bad.vectors == alone[1].vectors);
  CHECK(std::ranges::any_of(b.model.passes(), [](const fake::pass& p) { return p.turns.size() > 1; }));
  CHECK(b.run(embedded({"ab"}, pooling::last)).vectors != b.run(embedded({"ab"}, pooling::cls)).vectors);
  CHECK(b.work.idle());
}

TEST_CASE("a step has one row of each running answer, and at most a chunk of prompts, in turn") {
  bench b({.slots = 4, .chunk = 8});
  std::vector<client> all;
  for (const char c : {'a', 'b', 'c', 'd'}) all.emplace_back(ask(std::string(40, c), 30, 1, 0));
  std::vector<std::shared_ptr<job>> jobs;
  for (client& c : all) jobs.push_back(*c);
  REQUIRE(b.work.submit(jobs));
  for (client& c : all) c.wait();
  std::map<const any_session*, std::size_t> fed, waited;
  for (const auto& p : b.model.passes()) {
    std::size_t prompt_ids = 0, decoding = 0;
    for (const auto& [who, n] : p.turns) {
      const bool decodes = fed[who] >= 40;
      fed[who] += n;
      CHECK(n <= 8);
      if (decodes) CHECK(n == 1);
      (decodes ? decoding : prompt_ids) += n;
      waited[who] = 0;
    }
    CHECK(prompt_ids <= 8 - std::min<std::size_t>(decoding, 7));
    for (auto& [who, steps] : waited) CHECK(++steps <= 4 + 1);  // nobody is left out for longer than a round
  }
}

TEST_CASE("cancelling ends a job within a step, running or waiting, and frees its slot") {
  bench b({.slots = 1, .queue = 8});
  client running(ask("a", 400, 3)), waiting(ask("b", 400)), after(ask("c", 5));
  std::size_t cancelled_at = 0;
  b.model.after_each_pass([&](std::size_t passes) {
    if (passes == 10) {
      running.cancel(), waiting.cancel();
      cancelled_at = passes;
    }
  });
  REQUIRE(b.work.submit({{*running}}));
  REQUIRE(b.work.submit({{*waiting}}));
  REQUIRE(b.work.submit({{*after}}));
  CHECK(running.wait().end == ending::cancelled);
  CHECK(waiting.wait().end == ending::cancelled);
  CHECK(after.wait().end != ending::cancelled);
  const auto passes = b.model.passes();
  REQUIRE(passes.size() > 10);
  CHECK(cancelled_at == 10);
  CHECK(b.count.cancelled == 2);
  CHECK(b.work.idle());
}

TEST_CASE("a queue takes all jobs of a request or none") {
  bench b({.slots = 1, .queue = 2});
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  b.model.after_each_pass([gone](std::size_t) { gone.wait(); });
  client one(ask("a", 3)), two(ask("b", 3)), three(ask("c", 3)), four(ask("d", 3));
  CHECK(b.work.submit({{*one}}));
  CHECK_FALSE(b.work.submit({{*two, *three, *four}}));
  CHECK(b.work.submit({{*two, *three}}));
  CHECK_FALSE(b.work.submit({{*four}}));
  go.set_value();
  for (client* c : {&one, &two, &three}) CHECK(c->wait().end != ending::running);
  CHECK(b.work.submit({{*four}}));
  four.wait();
}

TEST_CASE("a pass that fails takes no other answer along, and the slot serves the next one") {
  bench b({.slots = 3});
  const outcome alone = b.run(ask("fine", 50, 9));
  b.model.poison = '!';
  client bad(ask("this one fails!", 50)), good(ask("fine", 50, 9)), other(ask("fine too", 20));
  REQUIRE(b.work.submit({{*bad, *good, *other}}));
  const outcome failed = bad.wait();
  CHECK(failed.end == ending::failed);
  CHECK(failed.error.find("poison") != failed.error.npos);
  CHECK(good.wait() == alone);
  CHECK(other.wait().end != ending::failed);
  b.model.poison = ~0u;
  CHECK(b.run(ask("this one fails!", 5)).end != ending::failed);
}

TEST_CASE("settings that no sampler takes fail their job alone") {
  bench b;
  order o = ask("a", 5);
  o.sample.logit_bias = {{fake::vocab, 1}};
  CHECK(b.run(o).end == ending::failed);
  CHECK(b.run(ask("a", 5)).end != ending::failed);
}

TEST_CASE("an answer ends at max_tokens, at a stop id, at a stop text") {
  bench b;
  b.model.script = "hello world";
  order o = ask("x", 5, 0, 0);
  outcome r = b.run(o);
  CHECK((r.end == ending::length && r.text == "hello" && r.counts.generated == 5));
  o.max_tokens = 100;
  r = b.run(o);
  CHECK((r.end == ending::stop && r.text == "hello world" && r.counts.generated == 11));
  o.stop = {"o w"};
  r = b.run(o);
  CHECK((r.end == ending::stop && r.text == "hell"));
  o.stop = {"world!"};  // held back, and then not the stop text
  CHECK(b.run(o).text == "hello world");
  o.max_tokens = 0;
  r = b.run(o);
  CHECK((r.end == ending::length && r.text.empty() && r.counts.generated == 0));
}

TEST_CASE("an answer of a form comes to its end within max_tokens, and says where it would have been another") {
  order o = ask("x", 400, 3, 1.5f);
  o.form.text = std::make_shared<const std::string>(R"(root ::= "[" item ("," item)* "]"
item ::= "\"" [ab]? "\"" | root)");
  o.form.of = std::make_shared<grammar>(parse_gbnf(*o.form.text, "grammar"));
  u32 whole = 0, hurried = 0;
  for (u64 seed = 0; seed < 12; ++seed) {
    bench b({.slots = 2}), guessing({.slots = 2, .draft = 5});
    o.sample.seed = seed, o.max_tokens = 400;
    const outcome longest = b.run(o);
    auto brackets = [](const outcome& r) { return std::ranges::count(r.text, '[') - std::ranges::count(r.text, ']'); };
    for (o.max_tokens = 1; o.max_tokens < 60; ++o.max_tokens) {
      const outcome r = b.run(o);
      CHECK(r == guessing.run(o));
      if (o.max_tokens < 4) {
        CHECK((r.end == ending::length && brackets(r) > 0));
        continue;
      }
      CHECK((brackets(r) == 0 && r.text.ends_with(']') && r.counts.generated <= o.max_tokens));
      CHECK((r.end == ending::stop) == (r.text == longest.text && longest.end == ending::stop));
      whole += r.end == ending::stop, hurried += r.end == ending::length;
    }
  }
  CHECK(whole > 50);
  CHECK(hurried > 50);
}

TEST_CASE("a prompt that begins like an earlier one is not fed again, unless it is another key's") {
  bench b({.slots = 2});
  const std::string prompt(100, 'p');
  const outcome cold = b.run(ask(prompt + "1", 20, 5));
  CHECK(cold.counts.cached == 0);
  const outcome warm = b.run(ask(prompt + "1", 20, 5));
  CHECK(warm == cold);
  CHECK(warm.counts.cached == 100);  // all but the last id, whose logits are wanted
  CHECK(b.run(ask(prompt + "22", 20, 5)).counts.cached == 100);
  order other = ask(prompt + "1", 20, 5);
  other.owner = 1;
  const outcome theirs = b.run(other);
  CHECK((theirs == cold && theirs.counts.cached == 0));
}

TEST_CASE("prompts that begin alike share a cache across slots, unless they may not") {
  const std::string prompt(100, 'p');
  for (const bool share : {true, false}) {
    bench b({.slots = 2, .share = share});
    b.model.remembers = true;
    order long_one = ask(prompt + "1", 300, 5);
    long_one.stop_ids = {};
    client first(long_one);
    std::promise<void> prompted;
    std::atomic<bool> told = false;
    b.model.after_each_pass([&](std::size_t) {
      if (!told.exchange(true)) prompted.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // it still runs when the second is done
    });
    REQUIRE(b.work.submit({{*first}}));
    prompted.get_future().wait();  // it has its slot, and its prompt is known
    const outcome second = b.run(ask(prompt + "2", 20, 5));
    CHECK(second.counts.cached == (share ? 96 : 0));
    first.wait();
    bench alone({.slots = 1});
    CHECK(second == alone.run(ask(prompt + "2", 20, 5)));
  }
}

TEST_CASE("what windows no longer hold is fed again, a chunk in a step, and does not count as cached") {
  order one = ask(std::string(200, 'p') + "1", 20, 5), two = ask(std::string(120, 'p') + std::string(80, 'q'), 20, 5);
  one.stop_ids = {}, two.stop_ids = {};
  bench alone({.slots = 1});
  const outcome want = alone.run(two);
  for (const bool share : {true, false}) {
    CAPTURE(share);
    bench b({.slots = 1, .chunk = 16, .share = share});
    b.model.remembers = true, b.model.reach = 32, b.model.left = 48;
    b.run(one);
    const std::size_t before = b.model.passes().size();
    const outcome found = b.run(two);
    CHECK(found == want);
    CHECK(found.counts.cached == (share ? 112u : 48u));  // of the prefix cache, in whole blocks; of its own states
    CHECK(b.count.cached_tokens == found.counts.cached);
    const auto passes = b.model.passes();
    std::size_t rows = 0;
    for (const auto& p : std::span(passes).subspan(before)) {
      CHECK(p.turns[0].second <= 16);
      rows += p.turns[0].second;
    }
    CHECK(rows == two.prompt.size() - found.counts.cached + found.counts.generated - 1);
  }
}

TEST_CASE("a smaller model whose windows no longer hold a prompt is fed a chunk in a step too") {
  fake::model smaller;
  smaller.reach = 32;
  bench b({.slots = 1, .chunk = 16, .draft = 4, .smaller = &smaller});
  for (const u32 same : {200u, 120u}) {
    order o = ask(std::string(same, 'p') + "1", 20, 1, 0);
    o.stop_ids = {};
    b.run(o);
  }
  for (const auto& p : smaller.passes()) CHECK(p.turns[0].second <= 16);
  CHECK(b.count.draft_tokens > 0);
}

TEST_CASE("log-probabilities of a prompt come with those of the answer") {
  bench b({.slots = 2, .chunk = 4});
  order o = ask("the prompt", 3, 0, 0);
  o.logprobs = o.prompt_logprobs = true, o.top_logprobs = 2;
  const outcome r = b.run(o);
  REQUIRE(r.tokens.size() == 10 + r.counts.generated);
  CHECK_FALSE(r.tokens[0].known);
  const auto c = b.model.open();
  for (u32 i = 0; i < r.tokens.size(); ++i) {
    const token_report& t = r.tokens[i];
    if (i > 0) {
      std::vector<token_logprob> top(2);
      CHECK(t.logprob == log_probabilities(c->logits(), t.id, top));
      CHECK((t.top.size() == 2 && t.top[0].id == top[0].id && t.top[1].logprob == top[1].logprob));
    }
    if (i < 10) CHECK(t.id == o.prompt[i]);
    c->feed(t.id);
  }
}

TEST_CASE("a reader who falls too far behind loses the answer") {
  bench b;
  b.model.script = std::string(400, 'y');
  client::most_unread = 16;
  client c(ask("x", 300, 0, 0));
  client::most_unread = 1 << 20;
  REQUIRE(b.work.submit({{*c}}));
  while (!b.work.idle()) std::this_thread::yield();
  CHECK((*c)->box.take().end == ending::cancelled);
  CHECK(b.model.passes().size() < 40);
}

TEST_CASE("log-probabilities of a long prompt come at once, and are no sign of a reader who has fallen behind") {
  bench b({.slots = 1, .chunk = 64});
  order o = ask(std::string(300, 'p'), 4);
  o.logprobs = o.prompt_logprobs = true, o.top_logprobs = 20;
  client::most_unread = 4096;  // four tokens of the answer, and not one in ten of the prompt's
  client c(o);
  client::most_unread = 1 << 20;
  REQUIRE(b.work.submit({{*c}}));
  const outcome r = c.wait();
  CHECK((r.end == ending::length || r.end == ending::stop));
  CHECK(r.tokens.size() == 300 + r.counts.generated);
  CHECK(r.tokens.back().top.size() == 20);
}

TEST_CASE("closing ends what runs and what waits") {
  bench b({.slots = 1, .queue = 4}, 1 << 20);
  client one(ask("a", 1 << 19)), two(ask("b", 5));
  REQUIRE(b.work.submit({{*one, *two}}));
  b.work.close();
  CHECK(one.wait().end == ending::cancelled);
  CHECK(two.wait().end == ending::cancelled);
  CHECK_FALSE(b.work.submit({{*two}}));
}

}  // namespace scheduler_test
