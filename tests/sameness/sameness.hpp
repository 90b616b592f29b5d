// SPDX-License-Identifier: MIT
// sameness.hpp: the logits of a text, bit for bit, however many threads compute them and however it is cut.
#pragma once

#include <doctest/doctest.h>

#include "../runtime/mixed_model.hpp"

namespace sameness {

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using random_model::mixed;

// Length: two whole blocks of 128 keys, and a part of one.
template <class Formats, dtype KV, class Isa, u32 length = 310, class M = mixed, class How = by_tables> struct machine {
  using program = cke::graph::program<M, Formats>;
  using loaded = cke::runtime::loaded<program, KV, Isa, How>;
  using sequence = cke::runtime::sequence;
  static constexpr u32 vocab = program::vocab;
  static_assert(length > 2 * key_block && length % key_block != 0);

  static std::shared_ptr<loaded> load(u32 threads, u32 chunk, u32 logit_rows) {
    static const auto tensors = random_model::tensors::of<program>();
    const model_options o{.threads = threads, .context = length, .chunk = chunk, .logit_rows = logit_rows};
    return std::make_shared<loaded>(tensors.index(), "random", naming::hf, names_of<M>(), o);
  }
  static const std::vector<u32>& ids(u32 text = 0) {
    static const std::vector<u32> all[]{random_model::ids(length, vocab, 7), random_model::ids(length, vocab, 8),
                                        random_model::ids(length, vocab, 9)};
    return all[text];
  }
  // [length][vocab], in passes of at most the chunk
  static std::vector<float> prefilled(const std::shared_ptr<loaded>& m) {
    std::vector<float> out;
    sequence s(m);
    s.feed_all(ids(), [&](u32, std::span<const float> row) { out.insert(out.end(), row.begin(), row.end()); });
    return out;
  }
  static std::vector<float> decoded(const std::shared_ptr<loaded>& m, u32 text = 0) {
    std::vector<float> out;
    sequence s(m);
    for (const u32 id : ids(text)) {
      s.feed(id);
      out.insert(out.end(), s.logits().begin(), s.logits().end());
    }
    return out;
  }

  static void check_matrix(std::initializer_list<u32> threads, std::initializer_list<u32> chunks) {
    const std::vector<float> want = decoded(load(1, 1, 1));
    REQUIRE(want.size() == u64{length} * vocab);
    REQUIRE(std::ranges::all_of(want, [](float x) { return std::isfinite(x); }));
    for (const u32 n : threads) {
      CAPTURE(n);
      for (const u32 chunk : chunks) {
        CAPTURE(chunk);
        CHECK(random_model::same_bits(want, prefilled(load(n, chunk, chunk / 3 + 1))));
      }
      CHECK(random_model::same_bits(want, decoded(load(n, 512, 1))));
    }
  }

  // Sequences of three texts, in passes of random mixtures: some decode, some take a part of a prompt, some
  // wait; now and then one goes back, becomes a fork of another, or begins again with what the cache remembers.
  static void check_together(u32 threads, u32 count, u32 steps) {
    std::vector<float> want[3];
    const auto alone = load(1, length, 1);
    for (u32 text = 0; text < 3; ++text) want[text] = decoded(alone, text);
    const auto m = load(threads, 90, 5);
    struct member {
      sequence s;
      u32 text;
    };
    std::vector<member> members;
    for (u32 i = 0; i < count; ++i) members.push_back({sequence(m), i % 3});
    u64 drawn = 0;
    const auto below = [&](u32 end) { return static_cast<u32>(uniform(count, drawn++) * end); };
    struct every_row {  // of those that one member asks for
      const float* want;
      bool same = true;
      static void take(void* user, u32 i, const float* row) {
        every_row& e = *static_cast<every_row*>(user);
        e.same = e.same && random_model::same_bits(std::span(row, vocab), std::span(e.want + u64{i} * vocab, vocab));
      }
    };
    u32 recalled = 0;
    for (u32 step = 0; step < steps; ++step) {
      std::vector<typename sequence::feeding> turns;
      std::vector<const member*> fed;
      std::vector<every_row> every;
      every.reserve(count);
      for (member& one : members) {
        const u32 chance = below(20), at = one.s.position();
        if (chance == 0) one = members[below(count)];
        if (chance <= 2 || at == length) one.s.rewind(below(at + 1));
        if (chance == 3) one.s.reset(), one.text = below(3), recalled += one.s.recall(ids(one.text));
        const u32 left = length - one.s.position();
        const u32 take = chance < 5 ? below(length) : chance < 7 ? 0 : 1;
        turns.push_back({&one.s, std::span(ids(one.text)).subspan(one.s.position(), std::min(left, take))});
        if (!turns.back().ids.empty()) fed.push_back(&one);
        if (chance % 2)
          turns.back().each = {every_row::take,
                               &every.emplace_back(want[one.text].data() + u64{one.s.position()} * vocab)};
      }
      sequence::feed_together(count, [&](u32 i) { return turns[i]; });
      bool same = std::ranges::all_of(every, &every_row::same);
      for (const member* one : fed)
        same = same &&
            random_model::same_bits(one->s.logits(),
                                    std::span(want[one->text]).subspan(u64{one->s.position() - 1} * vocab, vocab));
      CAPTURE(step);
      REQUIRE(same);
    }
    CHECK(recalled > 0);
    for (const member& one : members)
      CHECK(std::ranges::equal(one.s.history(), std::span(ids(one.text)).first(one.s.position())));
  }

  // Forks and rewinds, on a walk that crosses the borders of key blocks in both directions: back a
  // few ids, another text on a fork, back to before it, and on.
  static void check_forks(u32 steps = 1000) {
    const std::vector<float> want = decoded(load(1, 1, 1));
    const auto m = load(2, 64, 1);
    u64 drawn = 0;
    const auto pick = [&](u32 most) { return 1 + static_cast<u32>(uniform(1, drawn++) * most); };
    bool same = true;
    const auto go = [&](sequence& s, u32 count) {
      s.feed(std::span(ids()).subspan(s.position(), count));
      same = same && random_model::same_bits(s.logits(), std::span(want).subspan(u64{s.position() - 1} * vocab, vocab));
    };
    sequence trunk(m), branch(m);
    go(trunk, 90);
    for (u32 step = 0; step < steps; ++step) {
      CAPTURE(step);
      trunk.rewind(trunk.position() + 30 > length ? 90 : trunk.position() - pick(20));
      branch = trunk;
      branch.feed(std::vector<u32>(pick(9), pick(vocab) - 1));
      branch.rewind(trunk.position());
      go(branch, pick(9));
      go(trunk, pick(28));
      REQUIRE(same);
    }
  }
};

}  // namespace sameness
