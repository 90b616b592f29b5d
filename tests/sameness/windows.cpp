// SPDX-License-Identifier: MIT
// windows.cpp: windows whose pages are given back: the same bits, however far a text goes and wherever it goes back to.
#include "sameness.hpp"

#include <cke/session_file.hpp>
#include <filesystem>

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace windows {

using machine = sameness::machine<Q8_0, dtype::bf16, isa::native, 900>;
using session = machine::sequence;
using slot = machine::loaded::layout;

inline bool is_after(const session& s, u32 position, std::span<const float> want) {
  return s.position() == position &&
      random_model::same_bits(s.logits(), want.subspan(u64{position - 1} * machine::vocab, machine::vocab));
}

TEST_CASE("sameness: windows: threads, chunks, decoding") { machine::check_matrix({1, 3}, {7, 64, 250}); }
TEST_CASE("sameness: windows: many sequences in one pass") { machine::check_together(2, 7, 50); }
TEST_CASE("sameness: windows: forks and rewinds") { machine::check_forks(150); }

TEST_CASE("sameness: windows: a sequence has the pages in sight, and goes back to any position") {
  const std::vector<float> want = machine::decoded(machine::load(1, 1, 1));
  const std::span<const u32> ids = machine::ids();
  const auto m = machine::load(2, 64, 4);
  session s(m), busy(m);
  s.feed(ids);
  busy.feed(ids);
  CHECK(m->cache.transient.size() == 2 * slot::plan.in_sight(64));
  CHECK(s.state().transient().end() - s.state().transient().first() == slot::plan.in_sight(64));
  CHECK(m->state_bytes() == slot::plan.bytes({.context = 900, .chunk = 64}));
  for (const u32 back : {899u, 850u, 700u, 400u, 640u, 128u, 127u, 1u}) {
    CAPTURE(back);
    const u32 states = s.rewind(back);
    CHECK(s.position() == back);
    CHECK(states <= back);
    CHECK(states == s.state().position());
    const session fork(s);
    session shorter(s);  // without the ids whose states are gone
    CHECK(shorter.rewind(states) == states);
    CHECK(shorter.position() == states);
    shorter.feed(ids.subspan(states, back + 1 - states));
    CHECK(is_after(shorter, back + 1, want));
    for (session one : {s, fork}) {
      u32 taken = 0;
      const u32 count = std::min(90u, 900 - back);
      one.feed_all(ids.subspan(back, count), [&](u32 i, std::span<const float> row) {
        CHECK(i == taken++);
        CHECK(random_model::same_bits(row, std::span(want).subspan(u64{back + i} * machine::vocab, machine::vocab)));
      });
      CHECK(is_after(one, back + count, want));
    }
    s.feed(std::span<const u32>{});
    CHECK(is_after(s, back, want));
    s.feed(ids.subspan(back));
    CHECK(is_after(s, 900, want));
  }
  session other(m);
  CHECK(other.recall(ids) == 896);
  other.feed(ids.subspan(896));
  CHECK(is_after(other, 900, want));
}

TEST_CASE("sameness: windows: kept in a file, without what has passed, and taken up again") {
  const std::string path = std::filesystem::temp_directory_path() / ("cke-windows-" + std::to_string(::getpid()));
  const std::vector<float> want = machine::decoded(machine::load(1, 1, 1));
  const auto m = machine::load(2, 64, 1);
  const auto ids = std::span(machine::ids());
  for (const u32 kept : {70u, 256u, 700u}) {
    CAPTURE(kept);
    session s(m), again(m);
    s.feed(ids.first(700));
    s.rewind(kept);
    save_session(s, path);
    const u64 pages = ceil_div(s.state().position(), key_block),
              seen = pages - slot::facts.first_seen(s.state().position());
    const u64 bytes = sizeof(session_header) + sizeof(u64) + (kept + machine::vocab) * sizeof(u32);
    CHECK(std::filesystem::file_size(path) ==
          bytes + pages * slot::plan.persistent.caches + seen * slot::plan.transient.caches);
    load_session(again, path);
    CHECK(again.position() == kept);
    again.feed(std::span<const u32>{});
    CHECK(is_after(again, kept, want));
    again.feed(ids.subspan(kept, 20));
    CHECK(is_after(again, kept + 20, want));
    again.rewind(60);
    again.feed(ids.subspan(60, 700));
    CHECK(is_after(again, 760, want));
  }
  std::filesystem::remove(path);
}

}  // namespace windows
