// SPDX-License-Identifier: MIT
// ranks.cpp: a model over any number of ranks gives the bits of one; here a rank is a thread with a model of its own.
#include <cke/graph/describe_ranks.hpp>
#include <cke/runtime/ranks.hpp>

#include <sys/mman.h>
#include <barrier>
#include <thread>

#include "../runtime/expert_model.hpp"
#include "../runtime/latent_model.hpp"
#include "../runtime/recurrent_model.hpp"
#include "sameness.hpp"
#include "whole_rows.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace ranks_test {

// All-gathers among threads.
class meeting {
 public:
  explicit meeting(u32 ranks) : all_(static_cast<std::ptrdiff_t>(ranks)), parts_(ranks) {
    for (u32 r = 0; r < ranks; ++r) seats_.push_back({this, r});
  }
  rank_link link(u32 rank) {
    return {rank, static_cast<u32>(parts_.size()),
            [](void* user, const void* mine, void* all, const u64* sizes) {
              const seat& s = *static_cast<seat*>(user);
              s.of->gather(s.rank, static_cast<const std::byte*>(mine), static_cast<std::byte*>(all), sizes);
            },
            &seats_[rank]};
  }
  u64 exchanges = 0, sent = 0;  // by rank 0

 private:
  struct seat {
    meeting* of;
    u32 rank;
  };
  void gather(u32 rank, const std::byte* mine, std::byte* all, const u64* sizes) {
    parts_[rank] = mine;
    all_.arrive_and_wait();
    for (u32 r = 0; r < parts_.size(); all += sizes[r++]) std::memcpy(all, parts_[r], sizes[r]);
    if (rank == 0) ++exchanges, sent += sizes[0];
    all_.arrive_and_wait();
  }
  std::barrier<> all_;
  std::vector<const std::byte*> parts_;
  std::vector<seat> seats_;
};

// Calls run(rank, link) on every rank at once.
template <class Run> void on_ranks(meeting& m, u32 ranks, Run run) {
  std::vector<std::thread> others;
  for (u32 r = 1; r < ranks; ++r) others.emplace_back([&, r] { run(r, m.link(r)); });
  run(0u, m.link(0));
  for (std::thread& t : others) t.join();
}

template <class M, class Formats, u32 length = 310> struct family {
  static constexpr dtype kv = default_kv<Formats>;
  using alone = sameness::machine<Formats, kv, isa::native, length, M>;
  using together = sameness::machine<Formats, kv, isa::native, length, M, by_ranks>;
  using program = typename alone::program;

  static std::shared_ptr<typename together::loaded> load(const random_model::tensors& from, const rank_link& link,
                                                         u32 threads, u32 chunk, u32 logit_rows) {
    const model_options o{
        .threads = threads, .context = length, .chunk = chunk, .logit_rows = logit_rows, .ranks = link};
    return std::make_shared<typename together::loaded>(from.index(), "random", naming::hf, names_of<M>(), o);
  }

  // Prefill in chunks, decoding, and three sequences in one pass, on every rank; rank 0's logits are compared. Ranks
  // have `threads` threads, or one more.
  static void check(std::initializer_list<u32> counts, u32 threads = 1) {
    static const auto tensors = random_model::tensors::of<program>();
    const std::vector<float> want = alone::decoded(alone::load(1, 1, 1));
    for (const u32 ranks : counts) {
      CAPTURE(ranks);
      meeting m(ranks);
      std::vector<float> prefilled, decoded, batched[3];
      on_ranks(m, ranks, [&](u32 rank, const rank_link& link) {
        const auto model = load(tensors, link, threads + rank % 2, 70, 16);
        const std::vector<float> all = together::prefilled(model);
        std::vector<float> one;
        typename together::sequence s(model);
        s.feed(std::span(alone::ids()).first(length - 20));
        for (u32 i = length - 20; i < length; ++i) {
          s.feed(alone::ids()[i]);
          one.insert(one.end(), s.logits().begin(), s.logits().end());
        }
        std::vector<typename together::sequence> three(3, typename together::sequence(model));
        for (u32 step = 0; step < 6; ++step)
          together::sequence::feed_together(3, [&](u32 i) -> typename together::sequence::feeding {
            const u32 from = step == 0 ? 0 : 10 * (i + 1) + 20 * (step - 1), to = 10 * (i + 1) + 20 * step;
            return {&three[i], std::span(alone::ids()).subspan(from, to - from)};
          });
        if (rank != 0) return;
        prefilled = all, decoded = one;
        for (u32 i = 0; i < 3; ++i) batched[i].assign(three[i].logits().begin(), three[i].logits().end());
      });
      CHECK(random_model::same_bits(want, prefilled));
      CHECK(random_model::same_bits(std::span(want).last(u64{20} * alone::vocab), decoded));
      for (u32 i = 0; i < 3; ++i)
        CHECK(random_model::same_bits(std::span(want).subspan(u64{10 * (i + 1) + 99} * alone::vocab, alone::vocab),
                                      batched[i]));
    }
  }
};

// A step that reads embeddings in the phase that writes them.
struct scaled : network<embedding<131, 96>, scale<96, 9.5f>,
                        stack<2, block<residual<rms_norm<96, 1e-6>, gated_mlp<96, 160, activation::silu>>>>,
                        rms_norm<96, 1e-6>, head<96, 131, false>> {};

}  // namespace ranks_test

TEST_CASE("sameness: ranks: embeddings that are scaled") { ranks_test::family<ranks_test::scaled, F32>::check({2, 3}); }
TEST_CASE_TEMPLATE("sameness: ranks: dense, with windows", formats, F32, BF16, Q8_0) {
  ranks_test::family<random_model::mixed, formats>::check({2, 3, 5});
}
TEST_CASE("sameness: ranks: whole rows of queries and keys are normed, by several threads") {
  ranks_test::family<own_queries::whole_rows, F32>::check({2, 3}, 2);
}
TEST_CASE("sameness: ranks: a rank packs its part of the weights, and touches no memory of the others'") {
  using family = ranks_test::family<random_model::wide, F32>;
  const auto tensors = random_model::tensors::of<family::program>();
  const auto resident = [](std::span<const std::byte> memory) {
    std::vector<unsigned char> pages((memory.size() + 4095) / 4096);
    REQUIRE(mincore(const_cast<std::byte*>(memory.data()), memory.size(), pages.data()) == 0);
    return static_cast<u64>(std::ranges::count_if(pages, [](unsigned char p) { return p & 1; })) * 4096;
  };
  constexpr u32 ranks = 4;
  ranks_test::meeting m(ranks);
  u64 all = 0;
  for (u32 r = 0; r < ranks; ++r) {
    const auto model = family::load(tensors, m.link(r), 1, 16, 1);
    const u64 own = resident(model->packed.memory()), whole = model->packed.memory().size();
    CAPTURE(own);
    CAPTURE(whole);
    CHECK(own < whole * 2 / 5);  // of 5 units of the embedding a rank has 2
    all += own;
  }
  CHECK(all > family::program::weight_bytes);
}
TEST_CASE_TEMPLATE("sameness: ranks: a token takes the exchanges and bytes of the plan", formats, F32, Q8_0) {
  using family = ranks_test::family<random_model::wide, formats>;
  const auto tensors = random_model::tensors::of<typename family::program>();
  constexpr u32 ranks = 3;
  ranks_test::meeting m(ranks);
  u64 exchanges = 0, sent = 0;
  ranks_test::on_ranks(m, ranks, [&](u32 rank, const rank_link& link) {
    const auto model = family::load(tensors, link, 1, 16, 1);
    typename family::together::sequence s(model);
    s.feed(1);
    if (rank == 0) exchanges = m.exchanges, sent = m.sent;
    s.feed(0);  // rank 0 has its row
  });
  const std::string plan = describe_ranks_json(family::program::data, ranks, 2);
  const std::string counted = "\"exchanges\":" + std::to_string(m.exchanges - exchanges) + ",\"sent_bytes\":[" +
      std::to_string(m.sent - sent) + ',';
  CAPTURE(counted);
  CAPTURE(plan);
  CHECK(plan.find(counted) != std::string::npos);
}
TEST_CASE("sameness: ranks: K quants") {
  ranks_test::family<random_model::wide, random_model::patchwork>::check({2, 3});
}
TEST_CASE_TEMPLATE("sameness: ranks: experts", formats, F32, BF16, Q8_0) {
  ranks_test::family<random_model::with_experts, formats>::check({2, 3, 5});
}
TEST_CASE_TEMPLATE("sameness: ranks: latents", formats, F32, Q8_0) {
  ranks_test::family<random_model::with_latents, formats>::check({2, 3, 5});
}
TEST_CASE_TEMPLATE("sameness: ranks: recurrent states", formats, F32, Q8_0) {
  ranks_test::family<random_model::recurrent, formats>::check({2, 3, 5});
}
