// SPDX-License-Identifier: MIT
// workspace.cpp: where a step's inputs, outputs and scratch lie: inside, aligned, and apart from each other.
#include "cke/runtime/workspace.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "mixed_model.hpp"

namespace workspace_test {

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

using P = program<random_model::mixed, Q8_0>;
using state = random_model::state_of<P, dtype::bf16, isa::native>;
constexpr const compiled_program& compiled = random_model::compiled<P, dtype::bf16, isa::native>;
workspace space(capacity k, u32 threads) { return {compiled, state::layout::facts, k, threads}; }
constexpr u32 threads = 3;
constexpr capacity room{.context = 100, .chunk = 40, .logit_rows = 20};

struct area {
  const std::byte *first, *last;
  bool apart_from(const area& o) const { return last <= o.first || o.last <= first; }
  bool operator==(const area&) const = default;
};

// f(code, index of the code, form, tokens, step) for every step in both forms.
template <class F> void each_step(F f) {
  compiled.each_code([&](u32 index, const code& c) {
    const u32 most = index == compiled.codes() - 1 ? room.logit_rows : room.chunk;
    for (const auto& i : c.ops) {
      f(c, index, form::decode, std::min(most, decode_rows), i);
      f(c, index, form::prefill, most, i);
    }
  });
}

}  // namespace

TEST_CASE("pass_rows: the rows of another from one of them on") {
  arena memory(2 * pass_rows::bytes(64));
  pass_rows all(memory, 64), last(memory, 64);
  const std::vector<u32> ids = random_model::ids(48, 77);
  std::byte* pages[2]{};
  all.add(std::span(ids).first(20), 5, pages, pages + 1), all.add(std::span(ids).subspan(20, 3), 0, pages + 1, pages),
      all.add(std::span(ids).subspan(23, 25), 7, pages, pages);
  for (u32 row = 0; row <= 48; ++row) {
    CAPTURE(row);
    last.take(all, row);
    const pass from = all.all(), p = last.all();
    REQUIRE(p.tokens == 48 - row);
    for (u32 t = 0; t < p.tokens; ++t) {
      CHECK(p.ids[t] == ids[row + t]);
      const segment &was = from.segments[from.segment_of[row + t]], &is = p.segments[p.segment_of[t]];
      CHECK(is.position + t - is.first == was.position + row + t - was.first);
      CHECK(is.pages[0] == was.pages[0]);
      CHECK(is.pages[1] == was.pages[1]);
    }
    u32 rows = 0;
    for (const segment& s : p.segments) rows += s.tokens;
    CHECK(rows == p.tokens);
  }
}

TEST_CASE("workspace: outputs of a step lie apart from its inputs and from every thread's scratch") {
  const workspace s = space(room, threads);
  const std::byte* row[max_slots]{};
  const u32 ids[64]{};
  arena memory(pass_rows::bytes(64));
  pass_rows rows(memory, 64);
  u32 steps = 0;
  each_step([&](const code& c, u32 index, form f, u32 tokens, const instruction& i) {
    CAPTURE(std::string(info(i.op).name));
    const auto bytes = [&](const view& v) { return area{v.data, v.data + register_bytes({v.width, v.as}, tokens)}; };
    std::vector<area> own;
    for (u32 t = 0; t < threads; ++t) {
      rows.clear();
      rows.add(std::span(ids).first(tokens), 5, nullptr, nullptr);
      const work w = s.prepare(c, index, f, i, rows.all(), t, row, 1, 0);
      CHECK(w.tokens == tokens);
      CHECK(w.segments.size() == 1);
      CHECK(w.segments[0].position == 5);
      CHECK((w.rope.cos != nullptr) == (turned(i.p).rope != nullptr));
      CHECK((w.kv.block_bytes != 0) == (i.state != absent));
      CHECK(reinterpret_cast<std::uintptr_t>(w.scratch) % 64 == 0);
      std::vector<area> used;
      for (u32 k = 0; k < i.out.count; ++k) {
        CHECK(reinterpret_cast<std::uintptr_t>(w.out[k].data) % 64 == 0);
        CHECK(w.out[k].width == c.regs[i.out[k]].width);
        used.push_back(bytes(w.out[k]));
      }
      for (u32 k = 0; k < i.in.count; ++k)
        if (i.in[k] == token_ids) CHECK(w.in[k].data == reinterpret_cast<const std::byte*>(rows.all().ids));
        else if (!i.out.has(i.in[k])) used.push_back(bytes(w.in[k]));
      used.push_back({w.scratch, w.scratch + 1});
      for (std::size_t a = 0; a < used.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) CHECK(used[a].apart_from(used[b]));
      own.push_back({w.scratch, w.scratch + 1});
    }
    for (u32 a = 0; a < threads; ++a)
      for (u32 b = 0; b < a; ++b) CHECK(own[a].first != own[b].first);
    ++steps;
  });
  CHECK(steps > 30);
}

TEST_CASE("workspace: the stream of a footer begins at the row that it is asked for") {
  workspace s = space(room, 1);
  const std::byte* row[max_slots]{};
  const code& foot = P::footer_code();
  const instruction& first = foot.ops[0];
  REQUIRE(first.in[0] == stream);
  const auto view_from = [&](u32 skip) {
    pass now;
    now.tokens = 3, now.skip = skip;
    return s.prepare(foot, compiled.codes() - 1, form::decode, first, now, 0, row, 0, 0).in[0];
  };
  const view all = view_from(0);
  CHECK(view_from(7).row(0) == all.row(7));
  for (u32 i = 0; i < P::dim; ++i) all.row(9)[i] = static_cast<float>(i);
  s.copy_row(9, 2);
  s.copy_row(9, 9);
  for (const u32 r : {2u, 9u}) CHECK(std::equal(all.row(9), all.row(9) + P::dim, all.row(r)));
  CHECK(all.row(9)[P::dim - 1] == static_cast<float>(P::dim - 1));
  CHECK(s.logits(form::decode).width == P::vocab);
}

TEST_CASE("workspace: memory grows with what it is for, and with nothing else") {
  const auto bytes = [](capacity k, u32 n) { return space(k, n).bytes(); };
  const u64 little = bytes({100, 1, 1}, 1);
  CHECK(bytes({100, 1, 1}, 1) == little);
  CHECK(bytes({50000, 1, 1}, 1) == little);  // rope tables are apart
  CHECK(bytes({100, 4096, 1}, 1) > little);
  CHECK(bytes({100, 1, 8192}, 1) > little);
  CHECK(bytes({100, 1, 1}, 512) > little);
  CHECK(bytes({100, 4096, 1}, 1) >=
        P::activations({100, 4096, 1}).total - align_up(u64{4} * 4096));  // ids stay where they are
  CHECK(space(room, 2).limits().chunk == room.chunk);
}

}  // namespace workspace_test
