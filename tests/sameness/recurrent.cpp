// SPDX-License-Identifier: MIT
// recurrent.cpp: recurrent states: however a text is cut, whoever shares a pass, and after going back.
#include "../runtime/recurrent_model.hpp"
#include "sameness.hpp"

#include <cke/session_file.hpp>
#include <filesystem>

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

using machine = sameness::machine<Q8_0, dtype::bf16, isa::native, 310, random_model::recurrent>;
using session = machine::sequence;
constexpr u32 page_positions = machine::loaded::layout::plan.positions();
static_assert(page_positions == 256);

bool is_after(const session& s, u32 position, std::span<const float> want) {
  return s.position() == position &&
      random_model::same_bits(s.logits(), want.subspan(u64{position - 1} * machine::vocab, machine::vocab));
}

}  // namespace

TEST_CASE("sameness: recurrent states: threads, chunks, decoding") {
  machine::check_matrix({1, 2, 3, 4}, {1, 7, 64, 255, 256, 257, 512});
}
TEST_CASE("sameness: recurrent states: passes of many rows, of which products alone go block by block") {
  sameness::machine<Q8_0, dtype::bf16, isa::native, 1100, random_model::recurrent>::check_matrix({2}, {1100});
}
TEST_CASE("sameness: recurrent states: many sequences in one pass") {
  for (const u32 threads : {1u, 3u}) machine::check_together(threads, 12, 60);
}
TEST_CASE("sameness: recurrent states: forks and rewinds") { machine::check_forks(200); }

TEST_CASE("sameness: recurrent states: every cut of a prompt in two") {
  const std::vector<float> want = machine::decoded(machine::load(1, 1, 1));
  const auto m = machine::load(2, 512, 1);
  session s(m);
  for (u32 cut = 1; cut < 260; cut += cut < 70 || cut > 250 ? 1 : 13) {
    CAPTURE(cut);
    s.reset();
    s.feed(std::span(machine::ids()).first(cut));
    REQUIRE(is_after(s, cut, want));
    s.feed(std::span(machine::ids()).subspan(cut, 260 - cut));
    REQUIRE(is_after(s, 260, want));
  }
}

TEST_CASE("sameness: recurrent states: a feed that fails leaves the sequence as it was") {
  const std::vector<float> want = machine::decoded(machine::load(1, 1, 1));
  const auto m = machine::load(2, 64, 3);
  const std::span<const u32> ids = machine::ids();
  for (const u32 start : {0u, 1u, 100u, 128u, 200u})
    for (const u32 fails : {0u, 1u, 70u, 99u}) {
      CAPTURE(start);
      CAPTURE(fails);
      session s(m);
      s.feed(ids.first(start));
      u32 taken = 0;
      const auto take = [&](u32 i, std::span<const float>) {
        CHECK(i == taken++);
        if (i == fails) throw Error(errc::usage, {}, "test", "nothing", "a failure");
      };
      CHECK_THROWS_AS(s.feed_all(std::vector<u32>(100, 5), take), Error);
      CHECK(s.position() == start);
      CHECK(std::ranges::equal(s.history(), ids.first(start)));
      taken = 0;
      s.feed_all(ids.subspan(start, 99), [&](u32 i, std::span<const float> row) {
        CHECK(i == taken++);
        CHECK(random_model::same_bits(row, std::span(want).subspan(u64{start + i} * machine::vocab, machine::vocab)));
      });
      CHECK(taken == 99);
    }
}

TEST_CASE("sameness: recurrent states: what a rewind left undone is computed by a feed of nothing") {
  const std::vector<float> want = machine::decoded(machine::load(1, 1, 1));
  const auto m = machine::load(2, 64, 1);
  const std::span<const u32> nothing;
  session s(m);
  s.feed(nothing);
  CHECK(s.position() == 0);
  s.feed(machine::ids());
  for (const u32 back : {309u, 256u, 200u, 3u}) {
    s.rewind(back);
    CHECK(s.position() == back);
    const session before(s);
    s.feed(nothing);
    CHECK(is_after(s, back, want));
    session other(before);
    other.feed(machine::ids()[back]);
    CHECK(is_after(other, back + 1, want));
    s.feed(machine::ids()[back]);
    CHECK(is_after(s, back + 1, want));
  }
}

TEST_CASE(
    "sameness: recurrent states: hidden states after going back are of the ids that are fed, not of those computed "
    "again") {
  constexpr u32 dim = machine::loaded::program::dim;
  const auto m = machine::load(2, 64, 1);
  const auto ids = std::span(machine::ids());
  const auto feed = [&](session& s, u32 from, u32 count) {
    std::vector<float> rows;
    const row_sink sink{[](void* to, u32 i, const float* row) {
                          auto& out = *static_cast<std::vector<float>*>(to);
                          CHECK(out.size() == u64{i} * dim);
                          out.insert(out.end(), row, row + dim);
                        },
                        &rows};
    session::feed_together(1, [&](u32) -> session::feeding { return {&s, ids.subspan(from, count), sink}; });
    return rows;
  };
  session s(m);
  const std::vector<float> all = feed(s, 0, 300);
  REQUIRE(all.size() == 300 * dim);
  for (const u32 back : {290u, 257u, 256u, 100u}) {
    s.rewind(back);
    CHECK(random_model::same_bits(feed(s, back, 300 - back), std::span(all).subspan(u64{back} * dim)));
  }
}

TEST_CASE(
    "sameness: recurrent states: kept in a file and taken up again, also where a rewind left ids to be computed") {
  const std::string path = std::filesystem::temp_directory_path() / ("cke-recurrent-" + std::to_string(::getpid()));
  const std::vector<float> want = machine::decoded(machine::load(1, 1, 1));
  const auto m = machine::load(2, 64, 1);
  const auto ids = std::span(machine::ids());
  for (const u32 kept : {90u, 256u, 280u, 300u}) {
    CAPTURE(kept);
    session s(m), again(m);
    s.feed(ids.first(300));
    s.rewind(kept);
    save_session(s, path);
    load_session(again, path);
    CHECK(again.position() == kept);
    again.feed(std::span<const u32>{});
    CHECK(is_after(again, kept, want));
    again.feed(ids.subspan(kept, 310 - kept));
    CHECK(is_after(again, 310, want));
  }
  std::filesystem::remove(path);
}
