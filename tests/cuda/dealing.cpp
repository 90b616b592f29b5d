// SPDX-License-Identifier: MIT
// dealing.cpp: who of the blocks of a launch for many tokens has what of a token, where they wait, and what their rings
// bring.
#include "ahead.hpp"

#include <cke/models/qwen3_moe.hpp>

#include "../runtime/expert_model.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;
using ahead::long_rows;

// What a block of an H100 or H200 does for a token, and how often all wait.
using qwen3_schedule = cuda::token_schedule<program<Qwen3_0_6B, Q8_0>, dtype::bf16>;
static_assert(qwen3_schedule::rows_sent == 28 * 4);  // to o, gate and up, down, the next qkv or the head
static_assert(qwen3_schedule::words_of_token == 112'000 && qwen3_schedule::exchanges == 1);  // the choice
static_assert(qwen3_schedule::group_exchanges == 28 * 2);  // before keys, the join: of a kv head
static_assert(qwen3_schedule::heads == 8);
static_assert(qwen3_schedule::shares_of(132, 132).all == 633'233'408 &&
              qwen3_schedule::shares_of(132, 132).most == 4'909'056);
static_assert(qwen3_schedule::shares_of(128, 16).all == 633'233'408 &&
              qwen3_schedule::shares_of(128, 16).most == 4'978'688);
// While blocks wait before the norm, the weights of q, k and v come nearer; before the second one, those of gate and
// up.
constexpr cuda::coming qwen3_qkv = cuda::coming_at(qwen3_schedule::all[1], 0),
                       qwen3_gate = cuda::coming_at(qwen3_schedule::all[1], 6);
static_assert(qwen3_qkv.step == 1 && qwen3_qkv.units == 128 && qwen3_qkv.matrices == 3 && qwen3_qkv.first[1] == 64 &&
              qwen3_qkv.first[2] == 96);
static_assert(qwen3_gate.step == 7 && qwen3_gate.units == 96 && qwen3_gate.matrices == 2 && qwen3_gate.first[1] == 0 &&
              qwen3_gate.unit_bytes == 34'816);
static_assert(qwen3_schedule::common_bytes == 624'384 && qwen3_schedule::own_bytes == 27'328);
// Its rings: so many tiles of 4,352 bytes for each warp, on a block of an A100, of a GPU with 99 KB, of an H100.
using qwen3_tokens = cuda::megakernel<program<Qwen3_0_6B, Q8_0>, dtype::bf16>;
static_assert(qwen3_schedule::slot_bytes == 4352 && qwen3_schedule::matrices == 28 * 6 + 1);
static_assert(qwen3_tokens::slots_of(cuda::sm80::shared_memory) == 4 &&
              qwen3_tokens::slots_of(cuda::sm86::shared_memory) == 2 &&
              qwen3_tokens::slots_of(cuda::sm90::shared_memory) == 6 &&
              qwen3_tokens::slots_of(cuda::sm75::shared_memory) == 0);

// With experts in each layer: before qkv, o; before the router, the choice, down, the sum of parts; of a head before
// keys, the join.
using mixed_schedule = cuda::token_schedule<program<Qwen3_30B_A3B, Q8_0>, dtype::bf16>;
static_assert(mixed_schedule::exchanges == 48 * 6 + 2 && mixed_schedule::group_exchanges == 48 * 2 &&
              mixed_schedule::rows_sent == 0);

namespace {

struct taken {
  u32 matrix, unit, tile;
  bool operator==(const taken&) const = default;
};
constexpr u64 matrix_bytes =
    u64{1} << 30;  // matrix m of a token begins at m of these, the second one of two in the midst

// Whose they are: all blocks, or a group of them.
struct seat {
  u32 block, blocks, group, warp;
};
// What a warp's ring brings of some tokens.
template <class Plan> std::vector<taken> brought(u32 tokens, seat of) {
  std::vector<cuda::stretch> all;
  Plan::each_matrix([&](u32 code, u32, u32 step, const cuda::part& p, u32 matrix, u32) {
    const auto* const at = reinterpret_cast<const std::byte*>((all.size() + 1) * matrix_bytes);
    cuda::stretch& of_matrix = all.emplace_back(Plan::stretch_of(code, step, p, matrix));
    of_matrix.first = at, of_matrix.second = p.paired ? at + matrix_bytes / 2 : nullptr;
  });
  std::vector<taken> tiles;
  for (cuda::walk way([&](u32 i) { return all[i]; }, static_cast<u32>(all.size()), tokens,
                      {of.block, of.blocks, of.group}, of.warp);
       !way.over(); way.next()) {
    const u64 at = reinterpret_cast<u64>(way.unit()), bytes = at % (matrix_bytes / 2);
    CHECK(bytes % way.shape().bytes == 0);
    tiles.push_back(
        {static_cast<u32>(at / (matrix_bytes / 2)) - 2, static_cast<u32>(bytes / way.shape().bytes), way.tile()});
  }
  return tiles;
}
// What its products take: the units of their launches, or those that are of the group's heads, are dealt out, as
// resident::launch does, and cut as product::of does.
template <class Plan> std::vector<taken> wanted(u32 tokens, seat of) {
  std::vector<taken> tiles;
  for (u32 t = 0, among_all = 0, in_group = 0; t < tokens; ++t) {
    u32 before = 0;  // matrices of this token
    Plan::each_code([&](u32 c, u32) {
      for (u32 i = 0; i < Plan::all[c].steps.size(); ++i) {
        const auto& parts = Plan::all[c].steps[i].parts;
        const cuda::step s = cuda::unbound_of(*Plan::all[c].c, Plan::all[c].c->ops[i]).s;
        const u32 groups = of.blocks / of.group, heads = groups > 1 ? cuda::heads_of(Plan::all[c], i) : 0,
                  g = of.block / of.group;
        for (u32 k = 0; k < parts.size(); ++k) {
          if (parts[k].is != cuda::role::units) continue;
          u32& dealt = heads > 0 ? in_group : among_all;
          const u32 size = heads > 0 ? of.group : of.blocks;
          for (u32 u = 0; u < parts[k].blocks; ++u) {
            u32 m = parts.size() > 1 ? k : 0, unit = u;
            if (parts.size() == 1 && !parts[k].paired)
              while (m + 1 < s.matrix_count && u >= s.matrices[m + 1].first) ++m;
            if (parts.size() == 1) unit -= s.matrices[m].first;
            const u32 head = heads > 0 ? unit / (Plan::units_of(c, i, m) / heads) : 0;
            if (heads > 0 && (head < g * heads / groups || head >= (g + 1) * heads / groups)) continue;
            if (dealt++ % size != of.block % size) continue;
            for (u32 second = 0; second <= parts[k].paired; ++second)
              for (u32 slab = 0; slab < parts[k].unit.tiles; slab += parts[k].unit.run * cuda::block_warps)
                for (u32 n = 0; n < parts[k].unit.run; ++n)
                  if (const u32 tile = slab + of.warp * parts[k].unit.run + n; tile < parts[k].unit.tiles)
                    tiles.push_back({2 * (before + m) + second, unit, tile});
          }
        }
        for (const auto& p : parts)
          before += p.is == cuda::role::units ? (p.paired || parts.size() > 1 ? 1 : s.matrix_count) : 0;
      }
    });
  }
  return tiles;
}

}  // namespace

TEST_CASE("cuda: rings bring the tiles that products take, in their order, from token to token") {
  const auto check = []<class Plan>(Plan, u32 tokens, seat of) {
    CHECK(brought<Plan>(tokens, of) == wanted<Plan>(tokens, of));
  };
  for (const u32 block : {0u, 1u, 77u, 127u})
    for (u32 warp = 0; warp < cuda::block_warps; ++warp) {
      CHECK(brought<qwen3_schedule>(3, {block, 132, 132, warp}).size() > 400);
      check(qwen3_schedule{}, 3, {block, 132, 132, warp});
      check(qwen3_schedule{}, 3, {block, 128, 16, warp});
    }
  using plan = cuda::token_schedule<program<long_rows, Q8_0>, dtype::bf16>;
  for (const u32 blocks : {1u, 5u, 90u})  // of 90 many have nothing of a token
    for (u32 block = 0; block < blocks; ++block)
      for (const u32 warp : {0u, 1u, 7u}) check(plan{}, 4, {block, blocks, blocks, warp});
  for (const u32 group : {1u, 2u, 4u, 6u})
    for (u32 block = 0; block < 12; ++block) check(plan{}, 4, {block, 12, group, 1});
  using mixed = cuda::token_schedule<program<random_model::with_experts, Q8_0>,
                                     dtype::bf16>;  // what tokens choose does not come ahead
  for (u32 block = 0; block < 6; ++block) check(mixed{}, 4, {block, 6, 6, 1}), check(mixed{}, 4, {block, 6, 2, 1});
}
TEST_CASE("cuda: every kv head is one group's, and groups have alike many") {
  for (const u32 heads : {1u, 3u, 8u, 10u, 128u})
    for (const u32 groups : {2u, 3u, 8u, 16u, 17u}) {
      u32 end = 0;
      for (u32 g = 0; g < groups; ++g) {
        const auto [first, count] = cuda::dealer(2 * g + 1, 2 * groups, 2).heads(heads);
        CHECK(first == end);
        CHECK((count == heads / groups || (count == heads / groups + 1 && heads % groups > 0)));
        end = first + count;
      }
      CHECK(end == heads);
    }
}
