// SPDX-License-Identifier: MIT
// sliding.cpp: sequences that go on behind their context have the bits of a longer one, alone and in company.
#include "../runtime/recurrent_model.hpp"

#include <doctest/doctest.h>

#include <cke/generate.hpp>
#include <cke/session_file.hpp>
#include <filesystem>

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace sliding {

using random_model::mixing_layer, random_model::same_bits;

// All layers have windows, of two sizes and two ropes.
struct windowed : network<embedding<131, 96>,
                          stack<3,
                                mixing_layer<attention<attention_options{.dim = 96,
                                                                         .heads = 6,
                                                                         .kv_heads = 2,
                                                                         .head_dim = 22,
                                                                         .rope = {.dims = 22, .theta = 1e4},
                                                                         .qk_norm = {1e-6},
                                                                         .window = 75}>>,
                                mixing_layer<attention<attention_options{.dim = 96,
                                                                         .heads = 8,
                                                                         .kv_heads = 4,
                                                                         .head_dim = 32,
                                                                         .rope = {.dims = 20, .theta = 500},
                                                                         .window = 180}>>>,
                          rms_norm<96, 1e-6>, head<96, 131, false>> {};

// A window in each layer, and angles that depend on the context.
struct turning
    : network<
          embedding<131, 96>,
          stack<1,
                mixing_layer<attention<attention_options{
                    .dim = 96,
                    .heads = 6,
                    .kv_heads = 2,
                    .head_dim = 22,
                    .rope = {.dims = 22, .theta = 1e4, .rule = rope_scaling::dynamic, .factor = 2, .max_position = 100},
                    .window = 75}>>>,
          rms_norm<96, 1e-6>, head<96, 131, false>> {};

// All layers have recurrent states, and pages 1024 positions.
struct recurring : network<embedding<131, 96>,
                           stack<2, mixing_layer<short_conv<96, 3>>,
                                 mixing_layer<mamba_mixer<mamba_options{.dim = 96,
                                                                        .heads = 6,
                                                                        .head_dim = 10,
                                                                        .state = 20,
                                                                        .groups = 3,
                                                                        .taps = 4,
                                                                        .eps = 1e-5,
                                                                        .conv_bias = true,
                                                                        .bias = true}>>>,
                           rms_norm<96, 1e-6>, head<96, 131, false>> {
  static constexpr auto names = random_model::recurrent::names;
};

template <class M, u32 length> struct tests {
  using program = cke::graph::program<M, Q8_0>;
  using loaded = cke::runtime::loaded<program, dtype::bf16, isa::native>;
  using text = sequence;
  static constexpr u32 vocab = program::vocab, context = 200, chunk = 64;

  static std::shared_ptr<loaded> load(model_options o) {
    static const auto tensors = random_model::tensors::of<program>();
    return std::make_shared<loaded>(tensors.index(), "random", naming::hf, names_of<M>(), o);
  }
  static std::span<const u32> ids(u32 from, u32 count) {
    static const std::vector<u32> all = random_model::ids(length, vocab);
    return std::span(all).subspan(from, count);
  }
  // [length][vocab], of a context that is long enough
  static const std::vector<float>& straight() {
    static const std::vector<float> all = [] {
      std::vector<float> out;
      text s(load({.threads = 2, .context = length}));
      s.feed_all(ids(0, length),
                 [&](u32, std::span<const float> row) { out.insert(out.end(), row.begin(), row.end()); });
      return out;
    }();
    return all;
  }
  static std::span<const float> row(u32 position) {
    return std::span(straight()).subspan(u64{position} * vocab, vocab);
  }
  static bool goes_on(text& s, u32 count) {
    u32 taken = 0;
    bool same = true;
    const u32 at = s.position();
    s.feed_all(ids(at, count), [&](u32 i, std::span<const float> logits) {
      same = same && i == taken++ && same_bits(logits, row(at + i));
    });
    return same && taken == count && s.position() == at + count && same_bits(s.logits(), row(at + count - 1));
  }
  static text open(const std::shared_ptr<loaded>& m) {
    text s(m);
    s.slide();
    return s;
  }

  static void alone() {
    for (const auto& [threads, piece] : {std::pair{1u, 1u}, {3u, 33u}, {2u, 300u}}) {
      CAPTURE(piece);
      const auto m = load({.threads = threads, .context = context, .chunk = chunk});
      text s = open(m);
      CHECK(s.context() == most_positions);
      while (s.position() < length) REQUIRE(goes_on(s, std::min(piece, length - s.position())));
      const u32 most = loaded::layout::plan.in_sight(chunk) + 1;
      CHECK(m->cache.transient.size() == std::max(most, loaded::layout::plan.kept(m->executor->limits())));
      CHECK(m->cache.persistent.page_bytes() == 0);
    }
  }
  static void in_company() {
    const auto m = load({.threads = 2, .context = context, .chunk = chunk});
    text early = open(m), late = open(m), ordinary(m);
    REQUIRE(goes_on(late, 700));
    REQUIRE(goes_on(early, 150));
    for (u32 turn = 0; turn < 20; ++turn) {
      const u32 some[]{1 + turn * 7 % 40, 1, 9};
      const typename text::feeding turns[]{{&early, ids(early.position(), some[0])},
                                           {&ordinary, ids(ordinary.position(), some[2])},
                                           {&late, ids(late.position(), some[1])}};
      text::feed_together(3, [&](u32 i) { return turns[i]; });
      for (const auto& t : turns) REQUIRE(same_bits(t.of->logits(), row(t.of->position() - 1)));
    }
    CHECK(random_model::failure_of([&] { ordinary.feed(ids(0, 21)); }).code == errc::context_overflow);
    // Forks slide too, and go back: a little, far, and beyond what they have.
    for (const u32 back : {1u, 30u, 130u, 500u}) {
      CAPTURE(back);
      text fork(late);
      fork.rewind(late.position() - back);
      REQUIRE(goes_on(fork, 100));
      ordinary = fork;
      REQUIRE(goes_on(ordinary, 70));
    }
    REQUIRE(goes_on(late, 100));
    text other = open(m);
    other.recall(ids(0, 700));
    REQUIRE(goes_on(other, 50));
  }
  static void in_a_file() {
    const std::string path = std::filesystem::temp_directory_path() / ("cke-sliding-" + std::to_string(::getpid()));
    const auto m = load({.threads = 2, .context = context, .chunk = chunk});
    for (const u32 kept : {150u, 1000u, length - 100}) {
      CAPTURE(kept);
      text s = open(m), again = open(m), ordinary(m);
      REQUIRE(goes_on(s, kept));
      save_session(s, path);
      if (kept > context)
        CHECK(random_model::failure_of([&] { load_session(ordinary, path); }).code == errc::context_overflow);
      load_session(again, path);
      CHECK(goes_on(again, 90));
      again.rewind(kept - 140);
      CHECK(goes_on(again, 200));
    }
    std::filesystem::remove(path);
  }
};
using windows = tests<windowed, 1400>;
using states = tests<recurring, 2300>;

TEST_CASE("sliding: windows have the bits of a longer context, in as many pages") { windows::alone(); }
TEST_CASE("sliding: recurrent states have the bits of a longer context, in as many pages") { states::alone(); }
TEST_CASE("sliding: among others, in forks, after going back and in another sequence") {
  windows::in_company();
  states::in_company();
}
TEST_CASE("sliding: kept in a file, and taken up again") {
  windows::in_a_file();
  states::in_a_file();
}
TEST_CASE("sliding: pages that all sequences share may run out, and give an error that changes nothing") {
  const auto m = windows::load(
      {.threads = 1, .context = windows::context, .chunk = windows::chunk, .cache_positions = 5 * key_block});
  auto a = windows::open(m), b = windows::open(m);
  REQUIRE(windows::goes_on(a, 600));
  CHECK(random_model::failure_of([&] { b.feed(windows::ids(0, 300)); }).code == errc::cache_full);
  CHECK(b.position() == 0);
  a.reset();
  CHECK(windows::goes_on(b, 600));
}
TEST_CASE("sliding: an answer goes on behind the context") {
  struct session : windows::text {
    using windows::text::text;
    const tokenizer* tokens_or_null() const { return nullptr; }
    std::span<const u32> stop_ids() const { return {}; }
  };
  const auto answer = [](u32 context, generate_options o) {
    session s(windows::load({.threads = 1, .context = context, .chunk = windows::chunk}));
    generation g(s, windows::ids(0, 170), o);
    for ([[maybe_unused]] const std::string_view piece : g) {}
    return std::vector(g.ids().begin(), g.ids().end());
  };
  const std::vector<u32> whole = answer(1000, {.max_tokens = 500});
  CHECK(whole.size() == 500);
  CHECK(answer(windows::context, {.max_tokens = 500, .overflow = overflow::sliding}) == whole);
  CHECK(answer(windows::context, {.max_tokens = 500, .overflow = overflow::stop}).size() == 31);
}
TEST_CASE("sliding: what cannot slide says why") {
  using mixed = random_model::recurrent;
  const auto all = random_model::tensors::of<program<mixed, Q8_0>>();
  sequence s(std::make_shared<loaded<program<mixed, Q8_0>, dtype::bf16, isa::native>>(
      all.index(), "random", naming::hf, names_of<mixed>(), model_options{.threads = 1}));
  const auto lasts = random_model::failure_of([&] { s.slide(); });
  CHECK(lasts.code == errc::unsupported);
  CHECK(lasts.text ==
        "sliding: expected states that pass, windows or recurrent, in all layers, found layer 1, which sees all "
        "positions");
  auto turns = random_model::lone<random_model::state_of<program<turning, Q8_0>, dtype::bf16, isa::native>>(200);
  CHECK(random_model::failure_of([&] { turns.slide(); }).text.ends_with("found a rope that depends on the context"));
  auto narrow = windows::text(windows::load({.threads = 1, .context = 179}));
  const auto less = random_model::failure_of([&] { narrow.slide(); });
  CHECK(less.code == errc::config_range);
  CHECK(less.text == "context: expected at least the window, 180 positions, to slide, found 179");
  CHECK(narrow.context() == 179);
}

}  // namespace sliding
