// SPDX-License-Identifier: MIT
// sequence.cpp: feed, fork, rewind and errors: a sequence is its ids, however it came by them.
#include "cke/runtime/sequence.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

#include "random_model.hpp"

namespace sequence_test {

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using random_model::same_bits;

namespace {

using program_of_tiny = program<random_model::tiny, BF16>;
using machine = loaded<program_of_tiny, dtype::bf16, isa::native>;
using text_sequence = sequence;
constexpr u32 context = 200, vocab = program_of_tiny::vocab;

std::shared_ptr<machine> load(model_options o) {
  const auto t = random_model::tensors::of<program_of_tiny>();
  return std::make_shared<machine>(t.index(), "random", naming::hf, names_of<random_model::tiny>(), o);
}
const std::shared_ptr<machine>& shared() {
  static const auto m = load({.threads = 2, .context = context, .chunk = 33, .logit_rows = 5});
  return m;
}
const std::vector<u32>& ids() {
  static const std::vector<u32> all = random_model::ids(context, vocab);
  return all;
}
std::span<const u32> ids(u32 from, u32 count) { return std::span(ids()).subspan(from, count); }

// [context][vocab], one id at a time
const std::vector<float>& straight() {
  static const std::vector<float> all = [] {
    std::vector<float> out;
    text_sequence s(shared());
    for (const u32 id : ids()) {
      s.feed(id);
      out.insert(out.end(), s.logits().begin(), s.logits().end());
    }
    return out;
  }();
  return all;
}
std::span<const float> straight(u32 position) { return std::span(straight()).subspan(u64{position} * vocab, vocab); }
// That s stands after the first ids, logits and history.
void check_at(const text_sequence& s, u32 position) {
  CAPTURE(position);
  CHECK(s.position() == position);
  CHECK(std::ranges::equal(s.history(), ids(0, position)));
  CHECK(same_bits(s.logits(), straight(position - 1)));
}

}  // namespace

TEST_CASE("sequence: it begins empty, and feeding nothing changes nothing") {
  text_sequence s(shared());
  CHECK(s.position() == 0);
  CHECK(s.context() == context);
  CHECK(s.history().empty());
  CHECK(s.logits().size() == vocab);
  s.feed(ids(0, 7));
  s.feed(std::span<const u32>{});
  s.feed_all(std::span<const u32>{}, [](u32, std::span<const float>) { FAIL("no row to take"); });
  check_at(s, 7);
}

TEST_CASE("sequence: many ids at once are the ids one by one") {
  for (const u32 n : {1u, 2u, 15u, 33u, 34u, 66u, 67u, 199u, 200u}) {
    text_sequence s(shared());
    s.feed(ids(0, n));
    check_at(s, n);
  }
}

TEST_CASE("sequence: feed_all takes every row once, in order, and its last logits are those of feed") {
  text_sequence s(shared());
  u32 at = 0;
  for (const u32 n : {3u, 1u, 70u, 126u}) {
    u32 taken = 0;
    s.feed_all(ids(at, n), [&](u32 i, std::span<const float> row) {
      CHECK(i == taken++);
      CHECK(same_bits(row, straight(at + i)));
    });
    CHECK(taken == n);
    at += n;
    check_at(s, at);
  }
}

TEST_CASE("sequence: a copy is a fork: both go on by themselves") {
  text_sequence a(shared());
  a.feed(ids(0, 90));
  text_sequence b(a);
  check_at(b, 90);
  b.feed(std::vector<u32>(100, 3));  // b writes where a will write
  a.feed(ids(90, 60));
  check_at(a, 150);
  CHECK(b.position() == 190);
  CHECK(!same_bits(b.logits(), a.logits()));

  b = a;
  check_at(b, 150);
  b.feed(ids(150, 50));
  check_at(b, 200);
  check_at(a, 150);
  a = *&a;
  check_at(a, 150);
  const text_sequence moved = std::move(b);
  check_at(moved, 200);
  b = moved;
  check_at(b, 200);
  b.rewind(150);
  b.feed(ids(150, 10));
  check_at(b, 160);
  check_at(moved, 200);
}

TEST_CASE("sequence: assignment across models takes the other's context and weights") {
  const auto other = load({.threads = 1, .context = 64});
  text_sequence a(shared()), b(other);
  a.feed(ids(0, 40));
  b.feed(ids(0, 3));
  b = a;
  CHECK(b.context() == context);
  b.feed(ids(40, 100));  // more than b had room for
  check_at(b, 140);
  check_at(a, 40);
  text_sequence c(other);
  c.feed(ids(0, 10));
  a = c;
  CHECK(a.context() == 64);
  check_at(a, 10);
}

TEST_CASE("sequence: one without a cache of its own takes over what others have computed, to the bit") {
  const auto m = load({.threads = 2, .context = context, .chunk = 33, .cache_positions = 384});
  text_sequence s(m);
  CHECK(s.recall(ids()) == 0);
  s.feed(ids(0, 190));
  {
    text_sequence t(m);
    CHECK(t.recall(ids()) == 128);
    CHECK(std::ranges::equal(t.history(), ids(0, 128)));
    CHECK(m->cache.persistent.count().held == 2);
    t.feed(ids(128, 20));
    check_at(t, 148);
    const auto begun = random_model::failure_of([&] { t.recall(ids()); });
    CHECK(begun.code == errc::usage);
    CHECK(begun.text == "recall: expected a sequence at position 0, found 148");
    check_at(t, 148);
    t.reset();
    CHECK(t.recall(ids(0, 128)) == 0);  // the last id is for the logits
    CHECK(t.recall(ids(0, 129)) == 128);
    t.feed(ids(128, 1));
    check_at(t, 129);
    t.reset();
    CHECK(t.recall({}) == 0);
    CHECK(random_model::failure_of([&] { t.recall(std::vector<u32>(3, vocab)); }).code == errc::token_range);
  }
  // All the cache: an error, and everything as it was.
  text_sequence a(m), b(m);
  a.feed(std::vector<u32>(10, 3));
  const auto full = random_model::failure_of([&] { b.feed(1); });
  CHECK(full.code == errc::cache_full);
  CHECK(full.text == "cache: expected a free page of 128 positions, found all 3 in use");
  CHECK(b.position() == 0);
  const text_sequence::feeding turns[]{{&a, ids(0, 50)}, {&s, ids(190, 10)}, {&b, ids(0, 1)}};
  CHECK(random_model::failure_of([&] { text_sequence::feed_together(3, [&](u32 i) { return turns[i]; }); }).code ==
        errc::cache_full);
  CHECK(a.position() == 10);
  check_at(s, 190);
  CHECK(m->cache.persistent.count().held == 3);
  a.reset();
  s.feed(ids(190, 10));
  check_at(s, 200);
  s.reset();
  CHECK(m->cache.persistent.count().held == 0);
  CHECK(b.recall(ids()) == 128);  // nobody held it
  b.feed(ids(128, 72));
  check_at(b, 200);
}

TEST_CASE("sequence: it keeps its model alive") {
  auto m = load({.threads = 1, .context = 16});
  text_sequence s(m);
  const std::weak_ptr<machine> seen = m;
  m.reset();
  CHECK(!seen.expired());
  s.feed(ids(0, 16));
  check_at(s, 16);
  s = text_sequence(shared());
  CHECK(seen.expired());
}

TEST_CASE("sequence: rewind and reset forget what came after") {
  text_sequence s(shared());
  s.feed(ids(0, 180));
  s.feed(std::vector<u32>(20, 9));
  s.rewind(180);
  s.feed(ids(180, 20));
  check_at(s, 200);
  for (const u32 to : {199u, 129u, 128u, 127u, 65u, 1u}) {  // on both sides of a block of keys
    s.rewind(to);
    CHECK(s.position() == to);
    CHECK(std::ranges::equal(s.history(), ids(0, to)));
    s.feed(ids(to, 1));
    check_at(s, to + 1);
  }
  s.rewind(100);  // what lies ahead is not reached by going back
  CHECK(s.position() == 2);
  s.reset();
  CHECK(s.position() == 0);
  CHECK(s.history().empty());
  s.feed(ids(0, 50));
  check_at(s, 50);
}

TEST_CASE("sequence: where the last logits are not those after the last id, feeding nothing computes them") {
  text_sequence s(shared());
  CHECK(s.stale());
  s.feed(ids(0, 180));
  CHECK(!s.stale());
  s.rewind(180);
  CHECK(!s.stale());
  for (const u32 to : {150u, 129u, 128u, 127u, 1u}) {
    s.rewind(to);
    REQUIRE(s.stale());
    CHECK(!same_bits(s.logits(), straight(to - 1)));
    text_sequence fork(s), later(s);
    CHECK(random_model::failure_of([&] { s.feed(ids(0, context)); }).code == errc::context_overflow);
    CHECK(s.stale());
    for (text_sequence* const one : {&s, &fork}) {
      one->feed(std::span<const u32>{});
      CHECK(!one->stale());
      check_at(*one, to);
    }
    later.feed(ids(to, 20));
    CHECK(!later.stale());
    check_at(later, to + 20);
  }
  s.reset();
  s.feed(std::span<const u32>{});
  CHECK((s.position() == 0 && s.stale()));
  text_sequence known(shared());
  known.feed(ids(0, 150));
  CHECK(s.recall(ids()) == 128);
  CHECK(s.stale());
  s.feed(std::span<const u32>{});
  check_at(s, 128);
  const auto given_up = [&](u32 i, std::span<const float>) {
    if (i == 2) throw std::runtime_error("enough");
  };
  CHECK_THROWS_AS(s.feed_all(ids(128, 3), given_up), std::runtime_error);
  s.feed(std::span<const u32>{});
  check_at(s, 128);
}

TEST_CASE("sequence: feed_all of no ids takes no row, and computes logits that are stale, beside others too") {
  text_sequence s(shared()), beside(shared());
  s.feed(ids(0, 10));
  s.rewind(5);
  s.feed_all(std::span<const u32>{}, [](u32, std::span<const float>) { FAIL("no row to take"); });
  CHECK(!s.stale());
  check_at(s, 5);

  s.rewind(3);
  u32 taken = 0;
  const row_sink each{[](void* user, u32 i, const float* row) {
                        CHECK(i == (*static_cast<u32*>(user))++);
                        CHECK(same_bits(std::span(row, vocab), straight(i)));
                      },
                      &taken};
  const text_sequence::feeding turns[]{{&s, {}, {}, each}, {&beside, ids(0, 4), {}, each}};
  text_sequence::feed_together(2, [&](u32 i) { return turns[i]; });
  CHECK(taken == 4);
  CHECK(!s.stale());
  check_at(s, 3);
  check_at(beside, 4);
}

TEST_CASE("sequence: beyond the context is an error, and the sequence is as it was") {
  text_sequence s(shared());
  s.feed(ids(0, 195));
  const auto failed = random_model::failure_of([&] { s.feed(ids(0, 6)); });
  CHECK(failed.code == errc::context_overflow);
  CHECK(failed.text == "context: expected at most 200 positions, found 201");
  check_at(s, 195);
  CHECK(random_model::failure_of([&] { s.feed_all(ids(0, 200), [](u32, auto) { FAIL("nothing may run"); }); }).code ==
        errc::context_overflow);
  check_at(s, 195);
  s.feed(ids(195, 5));
  check_at(s, 200);
  CHECK(random_model::failure_of([&] { s.feed(0); }).code == errc::context_overflow);
  check_at(s, 200);
}

TEST_CASE("sequence: an id outside the vocabulary is an error, and the sequence is as it was") {
  text_sequence s(shared());
  s.feed(ids(0, 5));
  std::vector<u32> some(ids(5, 60).begin(), ids(5, 60).end());
  some.back() = vocab;
  const auto failed = random_model::failure_of([&] { s.feed(some); });
  CHECK(failed.code == errc::token_range);
  CHECK(failed.text == "token id: expected less than 259, found 259");
  check_at(s, 5);
  CHECK(random_model::failure_of([&] { s.feed(~u32{0}); }).code == errc::token_range);
  check_at(s, 5);
  s.feed(vocab - 1);
  CHECK(s.position() == 6);
}

TEST_CASE("sequence: what take throws reaches the caller, and the sequence is as it was") {
  text_sequence s(shared());
  s.feed(ids(0, 4));
  for (const u32 stop : {0u, 1u, 32u, 33u, 50u, 99u}) {  // in the first pass and in later ones, and at the end
    CAPTURE(stop);
    CHECK_THROWS_WITH_AS(s.feed_all(ids(4, 100),
                                    [&](u32 i, std::span<const float>) {
                                      if (i == stop) throw std::runtime_error("enough");
                                    }),
                         "enough", std::runtime_error);
    check_at(s, 4);
  }
  s.feed(ids(4, 100));
  check_at(s, 104);
}

TEST_CASE("sequence: several fed together stand where each would stand alone") {
  text_sequence a(shared()), b(shared()), c(shared());
  const auto together = [](std::vector<text_sequence::feeding> turns) {
    text_sequence::feed_together(static_cast<u32>(turns.size()), [&](u32 i) { return turns[i]; });
  };
  together({});
  together({{&a, {}}, {&b, {}}});
  CHECK(a.position() == 0);
  together({{&a, ids(0, 70)}, {&b, {}}, {&c, ids(0, 1)}});  // passes of 33 rows
  check_at(a, 70);
  check_at(c, 1);
  together({{&c, ids(1, 31)}, {&b, ids(0, 1)}, {&a, ids(70, 1)}});
  check_at(a, 71);
  check_at(b, 1);
  check_at(c, 32);
  together({{&a, ids(71, 129)}, {&c, ids(32, 1)}, {&b, ids(1, 131)}});
  check_at(a, 200);
  check_at(b, 132);
  check_at(c, 33);

  const auto other = load({.threads = 1, .context = 64});
  text_sequence stranger(other);
  const u32 high[]{vocab};
  const auto refused = [&](text_sequence* of, std::span<const u32> some) {
    return random_model::failure_of([&] { together({{&b, ids(132, 40)}, {&c, ids(33, 2)}, {of, some}}); });
  };
  CHECK(refused(&a, ids(0, 1)).text == "turn 2: context: expected at most 200 positions, found 201");
  a.reset();
  CHECK(refused(&a, high).text == "turn 2: token id: expected less than 259, found 259");
  for (text_sequence* const wrong : {&b, &stranger, static_cast<text_sequence*>(nullptr)})
    CHECK(refused(wrong, ids(0, 1)).code == errc::usage);
  check_at(b, 132);
  check_at(c, 33);
}

TEST_CASE(
    "sequence: hidden states come in order, the same bits alone, in company and in pieces, and neighbours keep their "
    "logits") {
  struct rows {
    std::vector<float> all{};
    u32 next = 0;
    row_sink sink() {
      return {[](void* user, u32 i, const float* row) {
                rows& r = *static_cast<rows*>(user);
                CHECK(i == r.next++);
                r.all.insert(r.all.end(), row, row + program_of_tiny::dim);
              },
              this};
    }
  };
  const auto together = [](std::vector<text_sequence::feeding> turns) {
    text_sequence::feed_together(static_cast<u32>(turns.size()), [&](u32 i) { return turns[i]; });
  };
  rows alone, crowded, pieces, short_one;
  text_sequence a(shared()), b(shared()), c(shared()), d(shared());
  together({{&a, ids(0, 90), alone.sink()}});  // three passes
  REQUIRE(alone.all.size() == 90 * program_of_tiny::dim);
  CHECK(random_model::failure_of([&] {
          together({{&a, ids(0, 1), alone.sink()}, {&b, std::vector<u32>{vocab}}});
        }).code == errc::token_range);
  CHECK(alone.next == 90);
  b.feed(ids(0, 40));
  together({{&b, ids(40, 1)}, {&c, ids(0, 90), crowded.sink()}, {&d, ids(0, 5), short_one.sink()}});
  check_at(b, 41);
  CHECK(same_bits(crowded.all, alone.all));
  CHECK(same_bits(short_one.all, std::span(alone.all).first(5 * program_of_tiny::dim)));
  a.reset();
  for (u32 at = 0; at < 90; at += 18, pieces.next = 0) together({{&a, ids(at, 18), pieces.sink()}});
  CHECK(same_bits(pieces.all, alone.all));
  c.feed(ids(90, 3));
  check_at(c, 93);
}

TEST_CASE(
    "sequence: who wants the logits after each id gets them in order, beside others, in pieces of passes and after a "
    "rewind") {
  struct rows {
    u32 first = 0, next = 0;
    row_sink sink(u32 position) {
      first = position, next = 0;
      return {[](void* user, u32 i, const float* row) {
                rows& r = *static_cast<rows*>(user);
                CHECK(i == r.next++);
                CHECK(same_bits(std::span(row, vocab), straight(r.first + i)));
              },
              this};
    }
  };
  const auto together = [](std::vector<text_sequence::feeding> turns) {
    text_sequence::feed_together(static_cast<u32>(turns.size()), [&](u32 i) { return turns[i]; });
  };
  text_sequence a(shared()), b(shared()), c(shared());
  rows of_a, of_b;
  together(
      {{&a, ids(0, 70), {}, of_a.sink(0)}, {&b, ids(0, 3)}, {&c, ids(0, 9), {}, of_b.sink(0)}});  // passes of 33 rows
  CHECK((of_a.next == 70 && of_b.next == 9));
  check_at(a, 70);
  check_at(b, 3);
  check_at(c, 9);
  a.rewind(66), b.reset();
  together({{&b, {}, {}, of_b.sink(0)}, {&c, ids(9, 1)}, {&a, ids(66, 5), {}, of_a.sink(66)}});
  CHECK((of_a.next == 5 && of_b.next == 0));
  check_at(a, 71);
  check_at(c, 10);
}

TEST_CASE("sequence: those of one model may be used by several threads") {
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> last(3);
  for (u32 t = 0; t < last.size(); ++t)
    threads.emplace_back([&, t] {
      text_sequence s(shared());
      for (u32 at = 0; at < 120; at += t + 1) s.feed(ids(at, t + 1));
      text_sequence forked(s), other(s);
      const text_sequence::feeding turns[]{{&forked, ids(120, 60)}, {&other, ids(120, 7 * t)}};
      text_sequence::feed_together(2, [&](u32 i) { return turns[i]; });
      last[t].assign(forked.logits().begin(), forked.logits().end());
    });
  for (std::thread& t : threads) t.join();
  for (const auto& logits : last) CHECK(same_bits(logits, straight(179)));
}

TEST_CASE("model_options: each number has a range, and the message names it") {
  const auto refused = [](model_options o) { return random_model::failure_of([&] { load(o); }); };
  CHECK(refused({.context = 0}).text == "context: expected 1 to 16777216, found 0");
  CHECK(refused({.context = (1 << 24) + 1}).code == errc::config_range);
  CHECK(refused({.chunk = 0}).text == "chunk: expected 1 to 65536, found 0");
  CHECK(refused({.chunk = 65537}).code == errc::config_range);
  CHECK(refused({.logit_rows = 0}).text == "logit_rows: expected 1 to 65536, found 0");
  CHECK(refused({.logit_rows = 65537}).code == errc::config_range);
  CHECK(refused({.cache_positions = (1 << 30) + 1}).text ==
        "cache_positions: expected 0 to 1073741824, found 1073741825");
  CHECK(refused({.threads = 1025}).text == "threads: expected 0 to 1024, found 1025");
  CHECK(refused({.hints = {.prefill_threads = 1025}}).text == "hints.prefill_threads: expected 0 to 1024, found 1025");
  CHECK(refused({.hints = {.decode_threads = 1025}}).text == "hints.decode_threads: expected 0 to 1024, found 1025");
  CHECK(refused({.hints = {.chunk = 0}}).text == "hints.chunk: expected 1 to 65536, found 0");
  CHECK(refused({.hints = {.units_per_claim = 257}}).text == "hints.units_per_claim: expected 1 to 256, found 257");
  CHECK(refused({.hints = {.spins = 0}}).text == "hints.spins: expected 1 to 1000000, found 0");
  CHECK(refused({.threads = 1, .context = 1, .chunk = 1}).text.empty());
  CHECK(model_options{.context = 10}.limits().chunk == 10);                    // no pass is longer than the context
  CHECK(model_options{.context = 10, .logit_rows = 64}.limits().chunk == 64);  // but one of many sequences
  CHECK(model_options{.context = 10, .chunk = 7, .logit_rows = 64}.limits().chunk == 7);
  CHECK(model_options{.context = 10, .chunk = 7, .hints = {.chunk = 3}}.limits().chunk == 3);
}

TEST_CASE("model_options: progress counts weights up to all of them, and may give up") {
  std::vector<u64> seen;
  u64 total = 0;
  const auto m =
      load({.threads = 2, .context = 8, .progress = [&](u64 done, u64 all) { seen.push_back(done), total = all; }});
  CHECK(seen.size() == random_model::tensors::of<program_of_tiny>().list.size());
  CHECK(std::ranges::is_sorted(seen, std::less_equal{}));  // no two are equal
  CHECK(seen.back() == total);
  CHECK(total == program_of_tiny::parameters);
  CHECK_THROWS_WITH_AS(load({.threads = 2,
                             .context = 8,
                             .progress =
                                 [](u64 done, u64 all) {
                                   if (2 * done > all) throw std::runtime_error("cancelled");
                                 }}),
                       "cancelled", std::runtime_error);
}

}  // namespace sequence_test
