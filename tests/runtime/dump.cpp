// SPDX-License-Identifier: MIT
// dump.cpp: registers as numbers, and records that can be read back.
#include "cke/runtime/dump.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "random_model.hpp"

using namespace cke;
using namespace cke::text;
using namespace cke::io;
using namespace cke::graph;
using namespace cke::kernels;
using namespace cke::runtime;

namespace {

std::vector<float> random_numbers(u64 count) {
  std::vector<float> x(count);
  for (u64 i = 0; i < count; ++i) x[i] = static_cast<float>(4 * uniform(11, i) - 2);
  return x;
}

// [tokens][width] as operand tiles, and what the largest rounding of it may be
template <dtype T, class Isa> void tiles(u32 tokens, u32 width, float most) {
  using operand = kernels::operand<T, Isa>;
  const std::vector<float> x = random_numbers(u64{tokens} * width);
  std::vector<std::byte> memory(operand::bytes(tokens, width));
  for (u32 t = 0; t < tokens; ++t) operand::put(memory.data(), tokens, width, t, 0, width, &x[u64{t} * width]);
  const std::vector<float> got = values_of<Isa>({memory.data(), width, 0, T}, tokens);
  REQUIRE(got.size() == x.size());
  bool near = true, rounded = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    near = near && std::abs(got[i] - x[i]) <= most;
    rounded = rounded || got[i] != x[i];
  }
  CHECK(near);
  CHECK(rounded);
}

}  // namespace

TEST_CASE("dump: a register in any form, for full tiles and the rest") {
  for (const u32 tokens : {1u, 3u, 16u, 29u}) {
    CAPTURE(tokens);
    tiles<dtype::bf16, isa::native>(tokens, 34, 2.f / 256);
    tiles<dtype::q8_0, isa::native>(tokens, 96, 2.f / 254 * 1.01f);
    tiles<dtype::bf16, isa::scalar>(tokens, 34, 2.f / 256);
    tiles<dtype::q8_0, isa::scalar>(tokens, 96, 2.f / 254 * 1.01f);
  }
  std::vector<float> rows = random_numbers(3 * 16);
  const std::vector<float> got =
      values_of<isa::native>({reinterpret_cast<std::byte*>(rows.data()), 10, 16, dtype::f32}, 3);
  REQUIRE(got.size() == 30);
  for (u32 t = 0; t < 3; ++t) CHECK(std::equal(&got[t * 10], &got[t * 10] + 10, &rows[t * 16]));
}

TEST_CASE("dump: a record says what it is, and holds the numbers") {
  const std::vector<float> x = random_numbers(6);
  const u32 shape[]{2, 3};
  std::ostringstream out;
  write_ckdmp(out, 4, "rmsnorm", 17, shape, x);
  write_ckdmp(out, -1, std::string(40, 'n'), 0, std::span(shape).first(1), std::span(x).first(2));
  const std::string bytes = out.str();
  REQUIRE(bytes.size() == 128 + 24 + 128 + 8);
  ckdmp_header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  CHECK(bytes.starts_with(std::string_view("CKDMP\0\0\0\1\0\0\0\4\0\0\0rmsnorm\0", 24)));
  CHECK(h.layer == 4);
  CHECK(h.token == 17);
  CHECK(h.type == 0);
  CHECK(h.rank == 2);
  CHECK(std::ranges::equal(h.shape, std::vector<i64>{2, 3, 0, 0}));
  CHECK(h.elements == 6);
  CHECK(std::memcmp(bytes.data() + 128, x.data(), 24) == 0);
  std::memcpy(&h, bytes.data() + 152, sizeof h);
  CHECK(h.layer == -1);
  CHECK(h.rank == 1);
  CHECK(std::string_view(h.op) == std::string(31, 'n'));  // cut, and still ended by a zero
}

TEST_CASE("dump: a shape that does not count the numbers is refused, and so is too high a rank") {
  const std::vector<float> x(6);
  std::ostringstream out;
  const u32 shape[]{2, 4}, deep[]{1, 1, 1, 2, 3};
  const auto failed = random_model::failure_of([&] { write_ckdmp(out, 0, "rope", 0, shape, x); });
  CHECK(failed.code == errc::usage);
  CHECK(failed.text == "dump: expected 8 values, found 6");
  CHECK(random_model::failure_of([&] { write_ckdmp(out, 0, "rope", 0, deep, x); }).code == errc::unsupported_rank);
  CHECK(out.str().empty());
}
